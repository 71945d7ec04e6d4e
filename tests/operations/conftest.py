"""What tests of the command share: a clone's stacks in a folder of their own, and the command line."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from operations.__main__ import app
from tests import clones
from tests.operations.strange_servers import Site, closed_port, kubeconfig, strange

STACK = """\
# a cluster
config:
  aws:region: eu-west-1
  mullion:cluster:
    cloud: aws
    kubernetes: "1.36.4"
    pools:
      linux: {os: ubuntu-24.04, count: 1}   # one is enough
      web: {os: windows-2022, count: 2}
"""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `stacks/` and what a run leaves; the command takes it for the clone it belongs to."""
    clones.write(tmp_path, "small", STACK)
    clones.work_in(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def mullion() -> Callable[..., Result]:
    """The command, in this process: `mullion("plan", "small")`."""
    return lambda *words: CliRunner().invoke(app, words)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A folder, a closed port, and servers: of random bytes, of JSON that no portal and no API server answers."""
    folder = tmp_path_factory.mktemp("misuse")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        strange(folder) as portal,
        strange(folder, tls=True) as api,
    ):
        threading.Thread(target=_answer, args=(server,), daemon=True).start()
        address = f"https://127.0.0.1:{server.getsockname()[1]}/x"
        yield Site(folder, closed_port(), address, f"http://127.0.0.1:{portal}", kubeconfig(api))


def _answer(server: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.sendall(b"\x15\x03nothing that any protocol says\r\n\r\n")
