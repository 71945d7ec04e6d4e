"""The guards of conftest.py work even if the tested code catches errors."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import grpc
import pytest
from pulumi.runtime import _grpc_settings
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

from tests.conftest import forget_dead_engines

REACHING_OUT: dict[str, Callable[[], object]] = {
    "connect": lambda: socket.create_connection(("192.0.2.1", 443), timeout=0.1),
    "connect by name": lambda: socket.create_connection(("example.invalid", 443), timeout=0.1),
    "datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("192.0.2.1", 53)),
    "Popen": lambda: subprocess.run([sys.executable, "-V"], check=False),
    "system": lambda: os.system("true"),
    "fork": os.fork,
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("way", REACHING_OUT)
def test_a_unit_test_that_opens_a_connection_fails_even_if_its_code_catches_errors(way: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"test_conftest\.py"), suppress(Exception):
        REACHING_OUT[way]()


def test_a_unit_test_may_use_loopback_and_unix_sockets(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        client.sendall(b"x")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "s"))
        server.listen()
        client.connect(str(tmp_path / "s"))


@pytest.mark.subprocess
def test_a_marked_test_may_start_programs() -> None:
    assert subprocess.run([sys.executable, "-V"], check=True, capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("required", "outcome"), [("", pytest.skip), ("winpwsh", pytest.skip), ("winpwsh, engine", pytest.fail)]
)
def test_a_missing_tool_is_a_failure_only_where_it_is_required(
    missing: Callable[[str, str], NoReturn], monkeypatch: pytest.MonkeyPatch, required: str, outcome: type
) -> None:
    monkeypatch.setenv("MULLION_REQUIRE", required)
    with pytest.raises(outcome.Exception, match="no engine here"):
        missing("engine", "no engine here")


def test_an_engine_is_reached_at_the_port_of_an_ended_one() -> None:
    forget_dead_engines()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with grpc.insecure_channel(address, _grpc_settings._GRPC_CHANNEL_OPTIONS) as gone:
        with pytest.raises(grpc.RpcError, match="Connection refused"):
            engine_pb2_grpc.EngineStub(gone).Log(engine_pb2.LogRequest())
        server = grpc.server(ThreadPoolExecutor(1))
        engine_pb2_grpc.add_EngineServicer_to_server(engine_pb2_grpc.EngineServicer(), server)
        assert server.add_insecure_port(address)
        server.start()
        with (
            grpc.insecure_channel(address, _grpc_settings._GRPC_CHANNEL_OPTIONS) as new,
            pytest.raises(grpc.RpcError, match="not implemented"),  # proof that it was reached
        ):
            engine_pb2_grpc.EngineStub(new).Log(engine_pb2.LogRequest())
        server.stop(None).wait()
