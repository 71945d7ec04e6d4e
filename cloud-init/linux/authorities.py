"""Certificate authorities that a worker trusts: it follows the cluster during a rotation (docs/pki.md).

The machine joined by the authority that its user-data pins. From then on it trusts what the cluster publishes in
kubeadm's ConfigMap `cluster-info`, if the answering API server's certificate is signed by an authority that it trusts,
and if the active agent published it later than what the machine followed last: a ConfigMap that a restore brought back
is older, and one without a moment is kubeadm's own, before the agent has looked at it.
"""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import api
import epoch
import report
import x509
from report import CA
from run import STATE
from writing import write_whole

CLUSTER_INFO, MEMBER = "/api/v1/namespaces/kube-public/configmaps/cluster-info", "kubeconfig"
MOMENT = "mullion.dev/authorities"
"""Annotation: when the authorities were published, seconds since 1970."""
PORT = 6443
KUBECONFIG = "/etc/kubernetes/kubelet.conf"
KUBELET_CA = "/etc/kubernetes/pki/ca.crt"
"""Written by `kubeadm join` on a worker; the kubelet accepts clients of these authorities (clientCAFile), and reads the
file again when it changes. Without it, that is CA: minors whose kubeadm takes no patch."""
SIGNING_KEY = "/etc/kubernetes/pki/ca.key"
"""Exists on control planes, which have the authorities from the secret store."""
JOINED = f"{STATE}/joined"
"""File that exists once the machine has joined."""
FOLLOWED = f"{STATE}/authorities"
"""Words: SHA-256 of the followed authorities as PEM, MOMENT, and LOADED once the programs that read them restarted."""
LOADED = "loaded"
DATA = re.compile(r"(certificate-authority-data: *)(\S+)")


def published(found: dict[str, Any]) -> list[bytes]:
    """Return the authorities in the ConfigMap as DER; none if it has none."""
    match = DATA.search((found.get("data") or {}).get(MEMBER, ""))
    return x509.every(base64.b64decode(match[2]).decode()) if match else []


def moment(found: dict[str, Any]) -> int:
    """Return when the authorities in the ConfigMap were published; 0 if no agent has written it."""
    text = (found["metadata"].get("annotations") or {}).get(MOMENT, "") if "metadata" in found else ""
    return int(text) if text.isdigit() else 0


def replaced(kubeconfig: str, pem: str) -> str:
    """Return a kubeconfig (YAML) with these authorities embedded, if it embeds some."""
    return DATA.sub(lambda match: match[1] + base64.b64encode(pem.encode()).decode(), kubeconfig)


def followed(root: Path, pem: str) -> bool:
    """Return whether the machine follows the cluster with exactly these authorities."""
    return recorded(root)[:1] == [digest(pem)]


def recorded(root: Path) -> list[str]:
    """Return the words of FOLLOWED; none before the machine has followed."""
    place = root / FOLLOWED.lstrip("/")
    return place.read_text().split() if place.exists() else []


def digest(pem: str) -> str:
    """Return the SHA-256 of a PEM text (hex)."""
    return hashlib.sha256(pem.encode()).hexdigest()


def follow(told: dict[str, Any], root: Path) -> None:
    """Trust the published authorities, and restart the programs that read them. Raise Failure if that fails."""
    ca, clients, kubeconfig, marker = (root / each.lstrip("/") for each in (CA, KUBELET_CA, KUBECONFIG, FOLLOWED))
    if not is_follower(root):
        return
    try:
        status, body = api.ask(told["facts"]["api_host"], PORT, CLUSTER_INFO, ca)
        found = json.loads(body) if status == 200 else {}
        wanted, since = published(found), moment(found)
        same = {*wanted} == {*x509.every(ca.read_text())}  # their order says who signs, which no worker needs
    except (OSError, ValueError):
        return
    known = recorded(root)
    begun = known and known[-1] != LOADED
    if not wanted or not since or (known and since < int(known[1])) or (same and not begun):
        return
    pem = "".join(map(x509.pem, wanted))
    words = f"{digest(pem)} {since}"
    write_whole(marker, words.encode(), 0o600)  # first: the executor keeps a CA file of this digest
    for file in (ca, clients):
        if file is ca or file.exists():
            write_whole(file, pem.encode(), 0o644)
    if kubeconfig.exists():
        write_whole(kubeconfig, replaced(kubeconfig.read_text(), pem).encode(), 0o600)
    epoch.restart(root)
    write_whole(marker, f"{words} {LOADED}".encode(), 0o600)


def is_follower(root: Path) -> bool:
    """Return whether this machine is a worker that has joined."""
    return (root / JOINED.lstrip("/")).exists() and not (root / SIGNING_KEY.lstrip("/")).exists()


def tell(told: dict[str, Any], root: Path) -> None:
    """Start the executor, which writes the status record, if the record does not say what this worker trusts now.

    The kubelet renews its certificates by itself, and a record may have been lost. Raise Failure if that fails. A
    control plane's agent writes its record every five minutes.
    """
    place = root / report.REPORTED.lstrip("/")
    said = place.read_text() if place.exists() else ""
    if is_follower(root) and told["facts"].get("status_url") and said != json.dumps(report.trust(root)):
        epoch.start_executor()
