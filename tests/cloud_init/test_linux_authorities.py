"""Linux machines in a rotation of authorities: workers follow the cluster."""

import importlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.machine import pki
from tests.cloud_init.authorities import CONF, CROSS, NEW, OLD, RESTART, kubeconfig, leaf
from tests.cloud_init.linux import Execute, Programs, put

CLIENTS = "etc/kubernetes/pki/ca.crt"
CA, RECORD = "etc/mullion/ca.crt", "var/lib/mullion/authorities"
EXECUTOR = ["systemctl", "restart", "--no-block", "mullion.service"]
TOLD = {"facts": {"api_host": "127.0.0.1", "status_url": "https://store/status/a:"}}
KUBELET = "var/lib/kubelet/pki/kubelet-{}-current.pem"


class ApiServer:
    """An API server that publishes authorities to anybody, and whose certificate can be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.published, self.moment = folder, kubeconfig(OLD["certificate"]), 1

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler) -> None:
                noted = {"annotations": {"mullion.dev/authorities": str(self.moment)}} if self.moment else {}
                body = json.dumps({"metadata": noted, "data": {"kubeconfig": self.published}}).encode()
                handler.send_response(200)
                handler.send_header("Content-Length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)

            def log_message(handler, format: str, *args: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.present(leaf(OLD))
        self.server.socket = self.context.wrap_socket(
            self.server.socket, server_side=True, do_handshake_on_connect=False
        )
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def present(self, pair: pki.KeyPair, chain: str = "") -> None:
        """Present this certificate from now on."""
        file = self.folder / "server.pem"
        file.write_text(pair["certificate"] + chain + pair["key"])
        self.context.load_cert_chain(file)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    api = ApiServer(tmp_path)
    yield api
    api.server.shutdown()
    api.server.server_close()


@pytest.fixture
def follow(
    node: ModuleType, programs: Programs, root: Path, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], bool]:
    """Return a function that follows once, and returns whether the kubelet was restarted. The executor reports then."""
    assert node
    put(root, "var/lib/mullion/joined", "")
    put(root, CA, OLD["certificate"])
    put(root, CLIENTS, OLD["certificate"])
    put(root, CONF, kubeconfig(OLD["certificate"]))
    module = importlib.import_module("authorities")
    monkeypatch.setattr(module, "PORT", server.server.server_port)
    programs.answers["systemctl restart"] = (0, "")

    def look() -> bool:
        programs.asked.clear()
        module.follow(TOLD, root)
        module.tell(TOLD, root)
        reports = EXECUTOR in programs.asked
        assert reports == (RESTART in programs.asked), "the executor reports what the machine trusts"
        reported(root)
        return reports

    reported(root)
    return look


def reported(root: Path) -> None:
    """Do what the executor does after it has written the status record."""
    put(root, "var/lib/mullion/reported", json.dumps(importlib.import_module("report").trust(root)))


def test_a_worker_follows_each_stage_once(follow: Callable[[], bool], root: Path, server: ApiServer) -> None:
    assert not follow(), "before a rotation nothing changes"
    assert not (root / RECORD).exists()
    new, old = NEW["certificate"], OLD["certificate"]
    for trusted, pair, chain in ((old + new, OLD, ""), (new, NEW, CROSS)):
        server.present(leaf(pair), chain)
        server.published = kubeconfig(trusted)
        assert follow()
        assert (root / CA).read_text() == (root / CLIENTS).read_text() == trusted
        assert (root / CONF).read_text() == kubeconfig(trusted)
        assert not follow(), "once"


def test_another_order_of_the_same_authorities_restarts_nothing(
    follow: Callable[[], bool], root: Path, server: ApiServer
) -> None:
    new, old = NEW["certificate"], OLD["certificate"]
    server.published = kubeconfig(old + new)
    assert follow()
    server.published, server.moment = kubeconfig(new + old), 2
    assert not follow()
    assert (root / CA).read_text() == old + new


def test_authorities_that_a_restore_brought_back_are_not_followed(
    follow: Callable[[], bool], root: Path, server: ApiServer
) -> None:
    new, old = NEW["certificate"], OLD["certificate"]
    server.published, server.moment = kubeconfig(old + new), 5
    assert follow()
    for moment in (0, 4):  # 0: a snapshot from before the rotation
        server.published, server.moment = kubeconfig(old), moment
        assert not follow()
    assert (root / CA).read_text() == old + new
    server.moment = 6
    assert follow(), "a step back is published later"
    assert (root / CA).read_text() == old


def test_a_machine_that_never_followed_waits_for_the_agent(
    follow: Callable[[], bool], root: Path, server: ApiServer
) -> None:
    server.published, server.moment = kubeconfig(NEW["certificate"]), 0
    assert not follow()
    assert (root / CA).read_text() == OLD["certificate"]


def test_a_worker_that_was_off_during_the_rotation_follows_by_the_cross_signed_certificate(
    follow: Callable[[], bool], root: Path, server: ApiServer
) -> None:
    server.published = kubeconfig(NEW["certificate"])
    server.present(leaf(NEW))
    assert not follow(), "it cannot trust this server"
    assert (root / CA).read_text() == OLD["certificate"]
    server.present(leaf(NEW), CROSS)
    assert follow()
    assert (root / CA).read_text() == NEW["certificate"]


def test_a_foreign_server_and_invalid_answers_change_nothing(
    follow: Callable[[], bool], root: Path, server: ApiServer
) -> None:
    thief = pki.certificate_authority("kubernetes")
    server.present(leaf(thief), OLD["certificate"])
    server.published = kubeconfig(thief["certificate"])
    assert not follow()
    server.present(leaf(OLD))
    for published in ("", "certificate-authority-data: %%%", kubeconfig(""), kubeconfig("no certificate")):
        server.published = published
        assert not follow()
    assert (root / CA).read_text() == OLD["certificate"]


def test_a_restart_that_failed_is_tried_again(
    follow: Callable[[], bool], root: Path, server: ApiServer, programs: Programs
) -> None:
    server.published = kubeconfig(OLD["certificate"], NEW["certificate"])
    programs.answers["systemctl try-restart"] = (1, "")
    with pytest.raises(importlib.import_module("failure").Failure, match="try-restart"):
        follow()
    del programs.answers["systemctl try-restart"]
    assert follow()
    assert not follow()


@pytest.mark.parametrize("path", ["etc/kubernetes/pki/ca.key", ""], ids=["control plane", "not joined"])
def test_control_planes_and_machines_that_have_not_joined_do_not_follow(
    follow: Callable[[], bool], root: Path, server: ApiServer, path: str
) -> None:
    server.published = kubeconfig(OLD["certificate"], NEW["certificate"])
    if path:
        put(root, path, "")
    else:
        (root / "var/lib/mullion/joined").unlink()
    assert not follow()


def test_the_executor_keeps_authorities_that_the_machine_follows(
    follow: Callable[[], bool], root: Path, server: ApiServer, execute: Execute
) -> None:
    step = {"kind": "certificate-authority", "name": "ca", "url": "http://127.0.0.1:9/ca.crt", "retries": 0}
    step |= {"hash": pki.ca_hash(OLD["certificate"]), "path": f"/{CA}"}
    (root / CA).chmod(0o644)
    server.published = kubeconfig(OLD["certificate"], NEW["certificate"])
    assert follow()
    assert execute(step)["state"] == "done"
    put(root, CA, NEW["certificate"])
    assert execute(step)["state"] == "failed", "it does not follow these, and the store does not answer"


@pytest.mark.parametrize(("client", "server"), [(OLD, None), (OLD, OLD), (NEW, OLD), (OLD, NEW)])
def test_a_kubelet_whose_authority_is_no_longer_trusted_joins_again(
    node: ModuleType, root: Path, client: pki.KeyPair, server: pki.KeyPair | None
) -> None:
    assert node
    is_valid = importlib.import_module("kinds.joining").is_valid
    put(root, KUBELET.format("client"), leaf(client, "system:node:web-0")["certificate"])
    if server:
        put(root, KUBELET.format("server"), leaf(server, "system:node:web-0")["certificate"])
    for trusted, valid in (((OLD, NEW), True), ((NEW, OLD), True), ((NEW,), False)):
        put(root, CA, "".join(each["certificate"] for each in trusted))
        assert is_valid(root / KUBELET.format("client"), "web-0", root / CA) is valid


def test_a_worker_reports_again_when_its_kubelet_has_a_certificate_of_another_authority(
    follow: Callable[[], bool], root: Path, programs: Programs
) -> None:
    report, tell = importlib.import_module("report"), importlib.import_module("authorities").tell
    put(root, KUBELET.format("client"), leaf(OLD)["certificate"])
    put(root, KUBELET.format("server"), leaf(OLD)["certificate"])
    reported(root)
    programs.asked.clear()
    tell(TOLD, root)
    assert programs.asked == []
    put(root, KUBELET.format("client"), leaf(NEW)["certificate"])
    assert report.trust(root)["kubelet_signers"] == "kubernetes-1,kubernetes"
    programs.answers["systemctl show"] = (0, "activating")
    tell(TOLD, root)
    assert EXECUTOR not in programs.asked, "it runs, and must not be ended"
    del programs.answers["systemctl show"]
    tell(TOLD, root)
    assert EXECUTOR in programs.asked
    programs.asked.clear()
    put(root, "etc/kubernetes/pki/ca.key", "")
    tell(TOLD, root)
    assert programs.asked == [], "a control plane's agent reports by itself"
