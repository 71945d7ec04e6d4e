"""A machine's bootstrap kubeconfig and its Node object.

kubeadm makes the kubelet's first certificate; with the bootstrap kubeconfig a machine whose certificate has ended joins
again.
"""

import json
import re
import time
from pathlib import Path
from typing import Any

import announcing
import x509
from failure import Failure
from report import CA
from run import Run, Step
from writing import write_whole

from kinds.files import MODES, bits_of, plain

POLL_SECONDS = 2
SERVING = "kubelet-server-current.pem"
"""The kubelet's own link to its serving certificate, beside that to its client certificate."""
UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
"""Taint of a new Node whose kubelet has --cloud-provider=external: no pod is scheduled there until it goes (kubernetes,
k8s.io/cloud-provider/api/well_known_taints.go)."""


def is_valid(path: Path, node: str, ca: Path) -> bool:
    """Return whether the file begins with a certificate of this node that has not ended, by an authority in `ca`.

    If there is a serving certificate beside it, that must be of an authority in `ca` too.
    """
    try:
        der = x509.first(path.read_text(errors="replace"))
        if not (x509.has_name(der, f"system:node:{node}") and x509.end(der) > time.time()):
            return False
        if not ca.exists():
            return True
        trusted, serving = x509.every(ca.read_text(errors="replace")), path.with_name(SERVING)
        served = [x509.first(serving.read_text(errors="replace"))] if serving.exists() else []
        return {*map(x509.issuer, (der, *served))} <= {*map(x509.subject, trusted)}
    except (OSError, ValueError):
        return False


def holds_valid(run: Run, step: Step) -> bool:
    """Return whether the kubelet has a certificate that the cluster accepts."""
    return is_valid(run.path(step["certificate"]), step["node"], run.path(CA))


def wanted(run: Run, step: Step) -> bytes:
    """Return the bootstrap kubeconfig with this machine's token."""
    users = step["kubeconfig"].get("users") or [{}]
    document = {
        **step["kubeconfig"],
        "users": [{**users[0], "user": {"token": announcing.announce(run, step["secret"])}}, *users[1:]],
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def bootstrap_holds(run: Run, step: Step) -> bool:
    """With a valid certificate, return whether the bootstrap kubeconfig is deleted; else whether it is current."""
    path = run.path(step["path"])
    if step.get("requires") and not run.path(step["requires"]).exists():
        return True
    if holds_valid(run, step):
        return not path.exists()
    try:
        content = wanted(run, step)
    except Failure:
        return False
    return plain(path) and bits_of(path) == MODES["private"] and path.read_bytes() == content


def make_bootstrap(run: Run, step: Step) -> None:
    """With a valid certificate, delete the bootstrap kubeconfig; else write it and restart the kubelet, which joins."""
    path, certificate = run.path(step["path"]), run.path(step["certificate"])
    if holds_valid(run, step):
        path.unlink(missing_ok=True)
        return
    content = wanted(run, step)
    certificate.unlink(missing_ok=True)  # the kubelet would use one of another node
    certificate.with_name(SERVING).unlink(missing_ok=True)  # a removed authority may have signed it too
    write_whole(path, content, MODES["private"])
    run.command("systemctl", "try-restart", "kubelet.service")


def missing(run: Run, step: Step) -> str:
    """Return what the Node object lacks for the step; empty if nothing.

    kubectl fails while the API does not answer, and while the kubelet has no certificate or no Node yet.
    """
    argv = [step["kubectl"], "--kubeconfig", step["kubeconfig"], "get", "node", step["node"], "--output=json"]
    try:
        ended = run.command(*argv, "--request-timeout=15s", check=False)
    except Failure as failure:
        if failure.name != "command-timeout":
            raise
        return str(failure)
    shown = re.search(r"(?s)\{.*\}", ended.stdout)
    if ended.returncode or not shown:
        said = run.redact((ended.stdout + " " + ended.stderr).strip())[-500:]  # redact before the cut
        return f"the API shows no Node {step['node']}: {said}"
    node = json.loads(shown[0])
    differences = "; ".join(different(step, node))
    if differences or step["state"] == "registered":
        return differences and f"Node {step['node']}: {differences}"
    conditions = node.get("status", {}).get("conditions", [])
    ready = next((each for each in conditions if each["type"] == "Ready"), None)
    if ready is None:
        return f"Node {step['node']}: no condition Ready"
    if ready["status"] == "True":
        taints = {each["key"] for each in node.get("spec", {}).get("taints") or []}
        waits = f"the cloud controller has not initialised it (taint {UNINITIALIZED})"
        return f"Node {step['node']}: {waits}" if UNINITIALIZED in taints else ""
    return f"Node {step['node']}: Ready is {ready['status']}: {ready.get('message', '')}"


def different(step: Step, node: dict[str, Any]) -> list[str]:
    """Return the differences between the Node object and the step."""
    labels = node["metadata"].get("labels", {})
    rows = [
        ("providerID", step.get("provider_id"), node.get("spec", {}).get("providerID", "")),
        ("kubeletVersion", step.get("kubelet"), node.get("status", {}).get("nodeInfo", {}).get("kubeletVersion", "")),
        *((name, value, labels.get(name, "")) for name, value in step.get("labels", {}).items()),
    ]
    return [f"{name} is '{found}', not '{wanted}'" for name, wanted, found in rows if wanted and wanted != found]


def node_holds(run: Run, step: Step) -> bool:
    """Return whether the Node object exists as planned and, for state ready, is Ready."""
    return not missing(run, step)


def make_node(run: Run, step: Step) -> None:
    """Poll until the Node object is in the state. Raise Failure after the step's timeout."""
    began = time.monotonic()
    while why := missing(run, step):
        if run.left() < 0:
            name = "node-not-ready" if step["state"] == "ready" else "node-unregistered"
            raise Failure(name, f"{why}, and that did not change within {time.monotonic() - began:.0f} s")
        time.sleep(POLL_SECONDS)
