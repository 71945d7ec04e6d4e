"""`mullion down` of pools that joined a cluster of somebody else: their Nodes and their token go, and no others."""

from pathlib import Path
from typing import Any

import pytest

from components.machine import pki
from components.rollout.kubernetes_api import Access, Refused, Unreachable
from components.rollout.own_kubeconfig import VARIABLE, written
from operations.commands import joined_removal

NAME, TOKEN = "win", "abcdef.0123456789abcdef"
PAIR = pki.certificate_authority("kubernetes")
CA = PAIR["certificate"]
URN = "urn:pulumi:win::mullion::"


def resources(ca: str = CA, token: str | None = TOKEN) -> list[dict[str, Any]]:
    """Return the state of two machines."""
    cluster = {"type": joined_removal.CLUSTER, "urn": f"{URN}x::win", "outputs": {"ca_hash": pki.ca_hash(ca)}}
    tags = {"mullion:cluster": NAME, "mullion:pool": "web"}
    kind = "aws:ec2/instance:Instance"
    machines = [
        {"type": kind, "urn": f"{URN}{kind}::win-web-{at}", "id": f"i-{at}", "custom": True, "outputs": {"tags": tags}}
        for at in range(2)
    ]
    stash = "pulumi:index:Stash"
    tokens = [{"type": stash, "urn": f"{URN}{stash}::win-bootstrap-token", "outputs": {"output": token}}]
    return [cluster, *machines, *(tokens if token else [])]


class Api:
    """An API with four Nodes, of which two are of the stack."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.deleted = error, list[str]()

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        if self.error:
            raise self.error
        if method == "GET":
            assert path == "/api/v1/nodes"
            found = {"web-0": "i-0", "web-1": "i-1", "web-2": "i-another", "linux-0": ""}
            return {"items": [_node(name, instance) for name, instance in found.items()]}
        assert method == "DELETE"
        if "/nodes/" in path and body != {"preconditions": {"uid": f"uid-{path.rpartition('/')[2]}"}}:
            raise Refused(409, "the UID in the precondition differs")
        self.deleted.append(path)
        if "/secrets/" in path:
            raise Refused(404, "it has ended")
        return {}


def _node(name: str, instance: str) -> dict[str, Any]:
    spec = {"providerID": f"aws:///eu-west-1a/{instance}"} if instance else {}
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}


@pytest.fixture
def admin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "admin.conf"
    path.write_text(written(Access("https://k8s.example.com", "k8s.example.com", CA, PAIR)))
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def removed(api: Api, monkeypatch: pytest.MonkeyPatch, **state: Any) -> str:
    monkeypatch.setattr(joined_removal, "KubernetesApi", lambda access: api)
    left = joined_removal.left(NAME, resources(**state))
    assert left
    return left.removed()


def test_nodes_of_the_stack_and_its_token_are_deleted_and_no_others(
    admin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api()
    assert removed(api, monkeypatch).endswith("the bootstrap token; Nodes: web-0, web-1")
    secret = "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef"
    assert api.deleted == [secret, "/api/v1/nodes/web-0", "/api/v1/nodes/web-1"]


@pytest.mark.parametrize("why", ["no kubeconfig", "another cluster", "no answer"])
def test_commands_are_printed_if_the_kubeconfig_does_not_work(
    why: str, admin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api(Unreachable("no answer") if why == "no answer" else None)
    if why == "no kubeconfig":
        monkeypatch.delenv(VARIABLE)
    other = pki.certificate_authority("kubernetes")["certificate"]
    said = removed(api, monkeypatch, **({"ca": other} if why == "another cluster" else {}))
    assert why in said
    assert "\n  kubectl delete node web-0 web-1\n" in said
    assert said.endswith("\n  kubectl --namespace kube-system delete secret bootstrap-token-abcdef")
    assert TOKEN.partition(".")[2] not in said
    assert api.deleted == []


def test_a_stack_with_a_control_plane_of_its_own_leaves_nothing() -> None:
    assert joined_removal.left(NAME, resources()[1:]) is None
