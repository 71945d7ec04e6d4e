"""Calls of the Kubernetes API: mutual TLS, the name in its certificate, and errors with address, status and message."""

import asyncio
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as serve_websockets

from components.machine import pki
from components.rollout.kubernetes_api import Access, KubernetesApi, Refused, Unreachable, Unresolved
from operations.verification import streams
from tests.engine.kubernetes import Cluster, certificate, serve

NAME = "api.dev.mullion.internal"
OURS, THEIRS = pki.certificate_authority("kubernetes"), pki.certificate_authority("kubernetes")


def api(port: int, *, ca: Any = OURS, signer: Any = OURS, name: str = NAME, host: str = "127.0.0.1") -> KubernetesApi:
    """Return an API client that trusts `ca` and has a certificate signed by `signer`."""
    pair = pki.administrator_certificate(signer, "dev")
    return KubernetesApi(Access(f"https://{host}:{port}", name, ca["certificate"], pair))


def asked(port: int, path: str = "/api/v1/nodes", **differs: Any) -> Any:
    """Call the API, and return the document it answers."""
    return asyncio.run(api(port, **differs).call("GET", path))


def test_a_call_verifies_the_servers_name_and_authority_and_sends_the_client_certificate(
    tmp_path: Path,
) -> None:
    with serve(Cluster(nodes={"web-0": True}), NAME, OURS, tmp_path) as port:
        assert [each["metadata"]["name"] for each in asked(port)["items"]] == ["web-0"]


def test_a_server_certificate_without_key_identifiers_is_accepted_as_python_before_3_13_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = ssl.create_default_context

    def of_python_3_13(**options: Any) -> ssl.SSLContext:
        context = make(**options)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    with serve(Cluster(nodes={"web-0": True}), NAME, OURS, tmp_path) as port:
        with socket.create_connection(("127.0.0.1", port)) as line:
            strict = of_python_3_13(cadata=OURS["certificate"])
            with pytest.raises(ssl.SSLCertVerificationError, match="Missing Authority Key Identifier"):
                strict.wrap_socket(line, server_hostname=NAME)
        monkeypatch.setattr(ssl, "create_default_context", of_python_3_13)
        assert asked(port)["items"]


@pytest.mark.parametrize(
    ("differs", "said"),
    [
        ({"ca": THEIRS}, "CERTIFICATE_VERIFY_FAILED"),
        ({"name": "other"}, "CERTIFICATE_VERIFY_FAILED"),
        ({"signer": THEIRS}, "https"),
    ],
    ids=["another authority", "another name", "another administrator"],
)
def test_a_call_fails_if_a_certificate_of_either_side_is_not_the_clusters(
    tmp_path: Path, differs: dict[str, Any], said: str
) -> None:
    with serve(Cluster(), NAME, OURS, tmp_path) as port, pytest.raises(Unreachable, match=said):
        asked(port, **differs)


def test_an_error_of_the_api_has_its_status_and_message(tmp_path: Path) -> None:
    with serve(Cluster(), NAME, OURS, tmp_path) as port, pytest.raises(Refused, match="500: not known here") as caught:
        asked(port, "/apis/x")
    assert caught.value.status == 500


SUMMARY = "/api/v1/nodes/web-0/proxy/stats/summary"


@pytest.mark.parametrize(
    ("path", "answer", "taken"),
    [
        ("/api/v1/nodes", b'{"items": []}', True),
        ("/api/v1/nodes", b'{"node": {}, "pods": []}', False),
        (SUMMARY, b'{"node": {}, "pods": []}', True),
        (SUMMARY, b"<html>", False),
        ("/version", b'{"gitVersion": "v1.37.1"}', True),
    ],
)
def test_an_answer_is_an_object_of_kubernetes_unless_a_kubelet_or_pod_gives_it(
    monkeypatch: pytest.MonkeyPatch, path: str, answer: bytes, taken: bool
) -> None:
    monkeypatch.setattr(KubernetesApi, "_exchange", lambda *_: answer)
    with nullcontext() if taken else pytest.raises(Unreachable, match="is no object of Kubernetes"):
        assert asked(1, path)


def test_the_error_names_an_address_without_an_api() -> None:
    with pytest.raises(Unreachable, match=r"https://127\.0\.0\.1:1: ") as caught:
        asked(1)
    assert not isinstance(caught.value, Unresolved)


@pytest.mark.parametrize("websocket", [False, True], ids=["call", "websocket"])
def test_a_name_that_dns_does_not_resolve_has_its_own_error(websocket: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    client = api(6443, host=NAME)
    with pytest.raises(Unresolved, match=f"https://{NAME}:6443: "):
        client.websocket("/exec", streams.PROTOCOL) if websocket else client.ask("GET", "/version")


@contextmanager
def websockets(folder: Path, status: int = 0) -> Iterator[tuple[int, list[tuple[str, bytes]]]]:
    """Serve exec and port-forward, or refuse both with `status`. Yields the port and what clients sent: path, data."""
    heard: list[tuple[str, bytes]] = []

    def refuse(connection: ServerConnection, request: Any) -> Any:
        return connection.respond(status, '{"kind": "Status", "message": "pods is forbidden"}') if status else None

    def answer(connection: ServerConnection) -> None:
        assert connection.request
        if "/portforward" in connection.request.path:
            connection.send(b"\0\x50\0")
            connection.send(b"\1\x50\0")
            heard.append((connection.request.path, connection.recv()))  # type: ignore[arg-type]
            connection.send(b"\0HTTP/1.0 200 OK\r\n\r\n")
            connection.send(b"\0hello")
        else:
            heard.append((connection.request.path, b""))
            connection.send(b"\1" + b"x" * 70000)
            connection.send(b"\2a warning")
            connection.send(b'\3{"status":"Success"}')

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(NAME, OURS, folder))
    context.load_verify_locations(cadata=OURS["certificate"])
    context.verify_mode = ssl.CERT_REQUIRED
    options: dict[str, Any] = {"subprotocols": [streams.PROTOCOL], "process_request": refuse, "compression": None}
    with serve_websockets(answer, "127.0.0.1", 0, ssl=context, **options) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.socket.getsockname()[1], heard
        server.shutdown()
        thread.join(10)


def test_exec_returns_all_of_stdout_and_nothing_else(tmp_path: Path) -> None:
    with websockets(tmp_path) as (port, heard):
        assert streams.execute(api(port), "/api/v1/namespaces/a/pods/b", ["cat", "a b"]) == "x" * 70000
    assert heard == [("/api/v1/namespaces/a/pods/b/exec?stdout=true&stderr=true&command=cat&command=a+b", b"")]


def test_port_forward_sends_to_the_port_and_returns_its_answer(tmp_path: Path) -> None:
    with websockets(tmp_path) as (port, heard):
        answer = streams.port_forward(api(port), "/pods/b", 80, b"GET / HTTP/1.0\r\n\r\n")
    assert answer == "HTTP/1.0 200 OK\r\n\r\nhello"
    assert heard == [("/pods/b/portforward?ports=80", b"\0GET / HTTP/1.0\r\n\r\n")]


def test_a_refused_websocket_has_the_status_and_message_of_the_api(tmp_path: Path) -> None:
    with websockets(tmp_path, 403) as (port, _), pytest.raises(Refused, match=r"^403: pods is forbidden$"):
        api(port).websocket("/pods/b/exec?command=x", streams.PROTOCOL)


def test_a_websocket_verifies_the_name_in_the_servers_certificate(tmp_path: Path) -> None:
    with websockets(tmp_path) as (port, _), pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
        api(port, name="other").websocket("/pods/b/exec?command=x", streams.PROTOCOL)


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY"])
def test_calls_and_websockets_bypass_the_proxy_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """A tunnel's port on loopback exists on this machine only."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    with serve(Cluster(nodes={"web-0": True}), NAME, OURS, tmp_path) as port:
        assert len(asked(port)["items"]) == 1
    with websockets(tmp_path) as (port, _):
        assert streams.execute(api(port), "/pods/b", ["cat"]) == "x" * 70000


def test_the_client_key_is_not_printed_nor_left_in_a_file_or_an_open_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    pair = pki.administrator_certificate(OURS, "dev")
    access = Access("https://127.0.0.1:1", NAME, OURS["certificate"], pair)
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208
    client = KubernetesApi(access)
    assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208
    with pytest.raises(Unreachable):
        client.ask("GET", "/version")
    assert "PRIVATE" not in repr(access)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.subprocess
def test_importing_the_program_imports_no_http_client() -> None:
    """An import would slow down the start of `pulumi up` and `mullion plan`."""
    code = "import sys, components.cluster; print(sorted({'httpx', 'websockets'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
