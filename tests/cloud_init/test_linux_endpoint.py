"""The API's host name on a control plane: its addresses in the hosts file over time."""

import http.server
import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.cloud_init.linux import Programs, put
from tests.conformance import authority

HOST, PEER = "api.dev.mullion.internal", "127.0.0.1"


@contextmanager
def _api(address: str, port: int = 0, status: int = 200) -> Iterator[int]:
    """Serve /readyz with this answer and a certificate for 127.0.0.1; yield the port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/readyz" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Write nothing."""

    server = http.server.ThreadingHTTPServer((address, port), Handler)
    server.socket = authority.server_context().wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def endpoint(node: ModuleType, root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the kind's module; the machine has a hosts file and the cluster's CA."""
    module = importlib.import_module("kinds.endpoint")
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    (root / "etc").mkdir(parents=True)
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")
    (root / "etc/ca.crt").write_text(authority.pem(authority.authority()))
    return module


def _run(root: Path) -> Any:
    run = importlib.import_module("run").Run(root, {"machine": {}, "facts": {}}, {})
    run.try_for(2)
    return run


def _step(*peers: str) -> dict[str, Any]:
    files = {"founder": "/founder", "joined": "/joined", "ca": "/etc/ca.crt"}
    return {"host": HOST, "address": "10.20.0.4", "peers": [*peers], **files}


def _mapped(root: Path) -> list[str]:
    return [line.split()[0] for line in (root / "etc/hosts").read_text().splitlines() if HOST in line]


def test_the_ready_peer_comes_first_and_the_others_remain(
    endpoint: ModuleType, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = _step("10.20.0.4", "127.0.0.9", PEER)
    with _api(PEER) as port:
        monkeypatch.setattr(endpoint, "PORT", port)
        assert not endpoint.endpoint_holds(_run(root), step)
        endpoint.make_endpoint(_run(root), step)
        assert _mapped(root) == [PEER, "127.0.0.9"], "the machine itself is missing until it has an API"
        assert endpoint.endpoint_holds(_run(root), step)
    assert not endpoint.endpoint_holds(_run(root), step), (
        "the first peer is gone: the step fails its test, to find another one"
    )


@pytest.mark.parametrize(("address", "status"), [(PEER, 500), ("127.0.0.2", 200)], ids=["not-ready", "not-its-own"])
def test_a_peer_that_is_not_ready_or_has_a_foreign_certificate_does_not_count(
    endpoint: ModuleType, root: Path, monkeypatch: pytest.MonkeyPatch, address: str, status: int
) -> None:
    with _api(address, status=status) as port:
        monkeypatch.setattr(endpoint, "PORT", port)
        run = _run(root)
        run.try_for(0.2)
        with pytest.raises(importlib.import_module("failure").Failure, match=address) as failed:
            endpoint.make_endpoint(run, _step(address))
    assert failed.value.name == "wait-timeout"
    assert _mapped(root) == []


def test_a_server_with_a_certificate_of_another_ca_is_no_peer(
    endpoint: ModuleType, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "etc/ca.crt").write_text(authority.other_pem())
    with _api(PEER) as port:
        monkeypatch.setattr(endpoint, "PORT", port)
        assert not endpoint.ready(_run(root), _step(PEER), PEER)


def test_a_machine_with_an_api_server_comes_first_whatever_its_peers_are(endpoint: ModuleType, root: Path) -> None:
    step = _step("10.20.0.3", "10.20.0.4", "10.20.0.5")
    (root / "founder").touch()
    endpoint.make_endpoint(_run(root), step)
    assert _mapped(root) == ["10.20.0.4"], "a founder has no peers yet"
    assert endpoint.endpoint_holds(_run(root), step)
    (root / "joined").touch()
    assert not endpoint.endpoint_holds(_run(root), step)
    endpoint.make_endpoint(_run(root), step)
    assert _mapped(root) == ["10.20.0.4", "10.20.0.3", "10.20.0.5"]
    assert endpoint.endpoint_holds(_run(root), step)
    assert (root / "etc/hosts").read_text().startswith("127.0.0.1 localhost\n")


def test_kube_proxy_restarts_when_the_hosts_file_changes(endpoint: ModuleType, root: Path, programs: Programs) -> None:
    step, stop = _step("10.20.0.3", "10.20.0.4"), ["/usr/local/bin/crictl", "stop", "proxy"]
    (root / "founder").touch()
    endpoint.make_endpoint(_run(root), step)
    assert programs.asked == [], "a founder in its first run has no container runtime"
    put(root, "/usr/local/bin/crictl", "")
    programs.answers["/usr/local/bin/crictl ps"] = (0, "proxy\n")
    written = list[list[str]]()
    programs.effects["/usr/local/bin/crictl stop"] = lambda: written.append(_mapped(root))
    (root / "joined").touch()
    endpoint.make_endpoint(_run(root), step)
    assert programs.asked[0][-1] == "^(kube-proxy)$"
    assert programs.asked[1:] == [stop]
    assert written == [["10.20.0.4", "10.20.0.3"]], "its new container copies the file that is there"


@pytest.mark.parametrize(
    ("older", "newer", "holds"),
    [
        ("v1.32.13", "1.32.13", True),
        ("v1.32.9", "1.32.13", False),
        ("v1.33.0", "1.32.13", True),
        ("v1.32.13-eks-abc", "1.32.13", True),
        ("v1.9.0", "1.32.13", False),
        ("what", "1.32.13", False),
    ],
)
def test_versions_are_compared_number_by_number(
    endpoint: ModuleType, root: Path, monkeypatch: pytest.MonkeyPatch, older: str, newer: str, holds: bool
) -> None:
    monkeypatch.setattr(endpoint, "ask", lambda *_: (200, f'{{"gitVersion": "{older}"}}'.encode()))
    step = {"url": "https://api.lab:6443", "ca": "/etc/ca.crt", "version": newer}
    assert endpoint.version_holds(_run(root), step) is holds
