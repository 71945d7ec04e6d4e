"""Add-ons: apply the manifests in the cluster's bundle, and remove objects that are no longer in it.

A ConfigMap in the cluster lists the applied objects, so every control plane and every later bundle knows what to
remove. It lists old and new objects until the removal is done, so an interrupted run can continue.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from failure import Failure
from run import Run, Step

INVENTORY = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "mullion-addons", "namespace": "kube-system"},
}
MANAGER = "mullion"
KEPT = ("default", "kube-system", "kube-public", "kube-node-lease")
"""Kubernetes' own namespaces, which are never removed."""

DEFINITION = "CustomResourceDefinition"

Object = tuple[str, str, str, str]
"""apiVersion, kind, namespace (empty if cluster-scoped), name."""


def kubectl(run: Run, step: Step, *words: str, text: str | None = None, check: bool = True) -> Any:
    """Return kubectl's output."""
    return run.command("kubectl", "--kubeconfig", step["kubeconfig"], *words, text=text, check=check)


def manifests(run: Run, step: Step) -> list[dict[str, Any]]:
    """Return the manifests of the step's files."""
    return [each for file in step["files"] for each in json.loads(run.path(file).read_text())["items"]]


def named(manifest: dict[str, Any]) -> Object:
    """Return the identity of the manifest's object."""
    about = manifest["metadata"]
    return manifest["apiVersion"], manifest["kind"], about.get("namespace", ""), about["name"]


def digest(made: list[dict[str, Any]]) -> str:
    """Return the sha256 of all manifests."""
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()


def inventory(run: Run, step: Step) -> dict[str, Any]:
    """Return {digest, objects} of the add-ons in the cluster, or an empty dict."""
    words = ("get", "configmap", INVENTORY["metadata"]["name"], "--namespace", INVENTORY["metadata"]["namespace"])
    said = kubectl(run, step, *words, "--ignore-not-found", "--output", "json").stdout
    data = json.loads(said).get("data", {}) if said.strip() else {}
    return {
        "digest": data.get("digest", ""),
        "objects": [tuple(each) for each in json.loads(data.get("objects", "[]"))],
    }


def write_inventory(run: Run, step: Step, of: str, objects: list[Object]) -> None:
    """Record the digest and the objects of the applied add-ons in the cluster."""
    data = {"digest": of, "objects": json.dumps(sorted(objects))}
    apply(run, step, json.dumps({**INVENTORY, "data": data}))


def apply(run: Run, step: Step, text: str) -> None:
    """Apply on the server with forced conflicts, so fields that another manager changed are set again."""
    words = ("apply", "--server-side", "--force-conflicts", "--field-manager", MANAGER, "--filename", "-")
    kubectl(run, step, *words, text=text)


def addons_hold(run: Run, step: Step) -> bool:
    """Return whether the cluster's record has this digest and every object exists."""
    made = manifests(run, step)
    if inventory(run, step)["digest"] != digest(made):
        return False
    return kubectl(run, step, "get", *files(run, step), "--output", "name", check=False).returncode == 0


def make_addons(run: Run, step: Step) -> None:
    """Apply all manifests, then remove objects of the record that the files no longer have.

    Definitions of kinds come first, because kubectl maps objects of a kind only once the API server serves it. They are
    never removed: all objects of the kind would go with them, those of others too.
    """
    made, before = manifests(run, step), inventory(run, step)["objects"]
    wanted = [named(each) for each in made]
    write_inventory(run, step, "", [*{*before, *wanted}])
    if definitions := [each for each in made if each["kind"] == DEFINITION]:
        apply(run, step, json.dumps({"apiVersion": "v1", "kind": "List", "items": definitions}))
        names = [f"{DEFINITION}/{each['metadata']['name']}" for each in definitions]
        kubectl(run, step, "wait", "--for=condition=Established", "--timeout=60s", *names)
    apply(run, step, json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    for each in before:
        if each not in wanted and each[1] != DEFINITION and not (each[1] == "Namespace" and each[3] in KEPT):
            remove(run, step, each)
    write_inventory(run, step, digest(made), wanted)


def remove(run: Run, step: Step, which: Object) -> None:
    """Remove one object; if its kind no longer exists, its objects are gone with it."""
    version, kind, namespace, name = which
    about = {"name": name, **({"namespace": namespace} if namespace else {})}
    text = json.dumps({"apiVersion": version, "kind": kind, "metadata": about})
    ended = kubectl(
        run, step, "delete", "--ignore-not-found", "--wait=false", "--filename", "-", text=text, check=False
    )
    if ended.returncode and "no matches for kind" not in ended.stderr:
        raise Failure("command-failed", f"{kind} {namespace}/{name} was not removed: {ended.stderr.strip()[-500:]}")


def files(run: Run, step: Step) -> Iterator[str]:
    """Return kubectl's arguments that name the step's files."""
    return (word for each in step["files"] for word in ("--filename", str(run.path(each))))
