"""From the network between machines, API servers and etcd: whoever answers in a server's place, or connects to etcd.

The real kubeadm, etcd and kube-apiserver refuse it.
"""

import http.client
import json
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.foreign_servers import answering
from tests.awaited import until
from tests.conformance import authority
from tests.lab.agent.served import Served, held_ports
from tests.lab.rendered import Rendered, filled, machines

pytestmark = pytest.mark.lab

CERTIFICATES = ("foreign", "other", "over")
"""Of another authority with the same name; of another host; expired (authority.server_context)."""
SECONDS = "4s"
"""Timeout of kubeadm, which asks a server again."""
UNTRUSTED = "certificate signed by unknown authority"


def kubeadm_join(served: Served, folder: Path, server: str, ca: Path) -> str:
    """Run the part of the planned `kubeadm join` that looks for the cluster; return its output."""
    worker = next(each for each in machines(served.kubernetes) if each.has("kubeadm-join") and not is_master(each))
    document, found = filled(worker.fields("kubeadm-join")["input"]), worker.content("discovery")
    [cluster] = found["clusters"]
    cluster["cluster"] = {"server": server, "certificate-authority": str(ca)}
    (folder / "discovery.conf").write_text(json.dumps(found))
    document["discovery"]["file"] = {"kubeConfigPath": str(folder / "discovery.conf")}
    if document["apiVersion"].endswith("v1beta4"):
        document["timeouts"] = {"discovery": SECONDS, "kubernetesAPICall": SECONDS}
    else:
        document["discovery"]["timeout"] = SECONDS
    (folder / "join.json").write_text(json.dumps(document))
    words = [
        "join",
        "phase",
        "preflight",
        "--config",
        str(folder / "join.json"),
        "--ignore-preflight-errors=all",
        "--v=1",
    ]
    argv = [str(served.programs["kubeadm"]), *words]
    ended = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=120)
    assert ended.returncode
    return ended.stdout + ended.stderr


def is_master(machine: Rendered) -> bool:
    return machine.pool == "control-plane"


@pytest.mark.parametrize("certificate", CERTIFICATES)
def test_a_machine_does_not_join_a_foreign_api_server(served: Served, tmp_path: Path, certificate: str) -> None:
    """Answer a machine that joins in the API server's place, to read its bootstrap token or to be its cluster.

    Refused by: kubeadm, by the authority whose digest is in user-data; it sends no request.
    Seen in: the status record, with kubeadm's words `couldn't validate the identity of the API Server`.
    """
    ca = tmp_path / "ca.crt"
    ca.write_text(authority.pem(authority.authority()))
    with answering(lambda asking: asking.say(404), certificate) as foreign:
        said = kubeadm_join(served, tmp_path, foreign.url, ca)
        assert "couldn't validate the identity of the API Server" in said and "x509: " in said
        assert foreign.asked == []


def test_kubeadm_reads_on_at_the_clusters_own_api_server(served: Served, tmp_path: Path) -> None:
    """Not an attack: it ends later, because nobody has written kubeadm's configuration here."""
    said = kubeadm_join(served, tmp_path, served.url, served.pki / "ca.crt")
    assert "validate the identity" not in said and "kubeadm-config" in said


def asked(port: int, path: str, body: Any, ca: Path, certificate: tuple[Path, Path] | None) -> tuple[int, bytes]:
    """Return etcd's answer to a request with this certificate and key. Raises OSError if it refuses the connection."""
    context = ssl.create_default_context(cafile=str(ca))
    if certificate:
        context.load_cert_chain(*certificate)
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=context)
    try:
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except http.client.HTTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from None
    finally:
        connection.close()


def foreign_pair(folder: Path) -> tuple[Path, Path]:
    """Return a certificate with the subject of the API server's client, and its key, of another authority."""
    place = folder / "foreign.pem"
    place.write_text(authority.node_pem("good"))
    return place, place


ALL_KEYS = {"key": "AA==", "range_end": "AA==", "limit": 1}
"""Range request for everything (etcd's gRPC gateway; `\\0` to `\\0`)."""


@pytest.mark.parametrize(
    ("at", "path", "body", "own"),
    [("client", "/v3/kv/range", ALL_KEYS, "apiserver-etcd-client"), ("peer", "/members", None, "etcd/peer")],
    ids=["client", "peer"],
)
def test_etcd_answers_nobody_without_a_certificate_of_its_own_authority(
    served: Served, tmp_path: Path, at: str, path: str, body: Any, own: str
) -> None:
    """Connect to etcd as a client or as a member: without a certificate, with your own, or with one of the cluster's.

    Refused by: etcd, whose authority signs for control planes alone.
    Seen in: etcd's log, as `rejected connection` with the address and why.
    """
    port, log = served.etcd if at == "client" else served.peers, served.folder / "etcd.log"
    ca, cluster = served.pki / "etcd" / "ca.crt", served.pki / "apiserver-kubelet-client"

    def pair(name: str) -> tuple[Path, Path]:
        return served.pki / f"{name}.crt", served.pki / f"{name}.key"

    assert asked(port, path, body, ca, pair(own))[0] == 200, "etcd answers control planes"
    for certificate, why in (
        (None, "client didn't provide a certificate"),
        (foreign_pair(tmp_path), UNTRUSTED),
        (pair(cluster.name), UNTRUSTED),
    ):
        before = len(log.read_text(errors="replace"))
        with pytest.raises(OSError, match=r"(?i)tls|ssl|reset|closed|disconnected"):
            asked(port, path, body, ca, certificate)

        def refused(before: int = before, why: str = why) -> bool:
            lines = log.read_text(errors="replace")[before:].splitlines()
            return any("rejected connection" in line and why in line for line in lines)

        until(refused, f"etcd's log has a rejected connection: {why}", seconds=30)


def test_the_api_server_writes_to_no_foreign_etcd(served: Served, tmp_path: Path) -> None:
    """Answer the API server in etcd's place, to read what it writes and to give it a state of yours.

    Refused by: the API server, by --etcd-cafile; it does not become ready.
    Seen in: the API server's log, as `authentication handshake failed` with the address.
    """
    [held] = held_ports(1)
    port = held.getsockname()[1]
    with answering(lambda asking: asking.say(200), "foreign") as foreign:
        flags = served._api_server() | {"etcd-servers": foreign.url, "secure-port": port}
        flags |= {"audit-log-path": tmp_path / "audit.jsonl"}
        argv = [str(served.programs["kube-apiserver"]), *(f"--{flag}={value}" for flag, value in flags.items())]
        log = tmp_path / "kube-apiserver.log"
        held.close()
        with log.open("wb") as out, subprocess.Popen(argv, stdout=out, stderr=out, stdin=subprocess.DEVNULL) as run:
            try:
                until(
                    lambda: "authentication handshake failed" in (said := log.read_text()) and UNTRUSTED in said,
                    "the API server refuses the certificate",
                    seconds=60,
                )
                status, _ = served_status(served, port)
                assert status != 200
            finally:
                run.kill()
        assert foreign.asked == []


def served_status(served: Served, port: int) -> tuple[int, bytes]:
    """Return status and body of /readyz at a port; 0 if nothing listens there yet."""
    try:
        return asked(port, "/readyz", None, served.pki / "ca.crt", None)
    except OSError:
        return 0, b""
