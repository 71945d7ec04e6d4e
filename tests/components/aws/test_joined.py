"""Pools that join a cluster of somebody else: what is registered, what machines may do, and what `up` refuses."""

import asyncio
import base64
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pulumi
import pytest

from components.machine import pki
from components.machine.service_urls import SANDBOX
from components.plan import plan_cluster
from components.rollout import bootstrap_tokens
from components.rollout.kubernetes_api import PATCH
from components.rollout.own_kubeconfig import VARIABLE
from components.stack_files.stack import CLUSTER, TARGET, read_stack
from components.wiring import fixed_layout, joined_cluster
from operations.recorder import cloud_answers
from operations.recorder.recorder import Recording, record
from tests.certificates import AUTHORITY, OTHER
from tests.components.aws.samples import INSTANCE
from tests.components.recorded_wiring import of
from tests.existing_networks import EXISTING

NAME = "joined"
CLUSTER_OF_OTHERS = {"endpoint": "https://k8s.example.com:8443", "ca": AUTHORITY, "nodes": ["10.40.0.0/24"]}
SPEC: dict[str, Any] = {
    "cloud": "aws",
    "kubernetes": "1.36.4",
    "existing_cluster": CLUSTER_OF_OTHERS,
    "network": {"existing": EXISTING["aws"]},
    "pools": {"web": {"os": "windows-2022", "count": 2}},
}


def config(**changes: Any) -> dict[str, Any]:
    return {"aws:region": "eu-west-1", CLUSTER: {**SPEC, **changes}}


def built(**changes: Any) -> Recording:
    """Return what `up` registers in the sandbox, where the program calls no API."""
    found = record(NAME, {**config(**changes), TARGET: SANDBOX})
    assert found.errors == []
    return found


def documents(found: Recording) -> list[dict[str, Any]]:
    """Return the document in the user-data of each machine."""
    texts = [each.inputs["userData"] for each in of(found, INSTANCE).values()]
    lines = [line for text in texts for line in text.splitlines() if '"facts"' in line]
    return [json.loads(line[line.index("{") : line.rindex("}") + 1]) for line in lines]


def test_nothing_of_a_control_plane_is_registered() -> None:
    found = built()
    names = {f"{each.type}|{each.name}" for each in found.resources.values() if each.custom}
    assert not [each for each in names if "control-plane" in each or "snapshots" in each or "route53" in each]
    kinds = {each.type for each in found.resources.values()}
    assert not [each for each in kinds if each.endswith((":ControlPlane", ":Generated", ":Api"))]
    assert {*of(found, "aws:secretsmanager/secret:Secret")} == {"joined-join"}
    stored = of(found, "aws:s3/bucketObjectv2:BucketObjectv2")
    assert {*stored} == {"joined-bundle-web", "joined-ca"}, "no pointer and no member list"
    assert stored["joined-ca"].inputs["content"] == AUTHORITY


def test_the_firewall_admits_the_pool_and_the_clusters_machines_and_nobody_else() -> None:
    found = built()
    (group,) = of(found, "aws:ec2/securityGroup:SecurityGroup")
    assert group == "joined-workers"
    rules = of(found, "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule").values()
    peers = {each.inputs.get("cidrIpv4") or "the group" for each in rules}
    assert peers == {"10.40.0.0/24", "the group"}
    ports = {(each.inputs["ipProtocol"], each.inputs["fromPort"], each.inputs["toPort"]) for each in rules}
    assert ports == {("udp", 4789, 4789), ("tcp", 10250, 10250), ("tcp", 30000, 32767), ("udp", 30000, 32767)}


def test_machines_read_the_token_and_their_bundle_and_write_only_their_own_records() -> None:
    (policy,) = of(built(), "aws:iam/rolePolicy:RolePolicy").values()
    allowed = {action for each in json.loads(policy.inputs["policy"])["Statement"] for action in each["Action"]}
    assert allowed == {"s3:GetObject", "s3:PutObject", "secretsmanager:GetSecretValue"}


def test_user_data_has_the_clusters_endpoint_and_authority_and_no_token() -> None:
    first, second = documents(built())
    facts = first["facts"]
    assert (facts["api_url"], facts["api_host"]) == ("https://k8s.example.com:8443", "k8s.example.com")
    assert facts["ca_hash"] == pki.ca_hash(AUTHORITY)
    assert {"pki_secret", "desired_state_secret", "snapshot_store"}.isdisjoint(facts)
    assert second["facts"] == facts


def test_another_authority_is_refused_because_new_machines_would_join_another_cluster() -> None:
    def layout(**changes: Any) -> dict[str, Any]:
        found = built(existing_cluster={**CLUSTER_OF_OTHERS, **changes})
        return of(found, "pulumi:index:Stash")["joined-network"].inputs["input"]

    kept = layout()
    assert (
        fixed_layout._same(kept, layout(endpoint="https://10.0.0.10:6443"))["joins"] == f"ca {pki.ca_hash(AUTHORITY)}"
    )
    with pytest.raises(pulumi.RunError, match=r"nothing was changed.*\s+existing_cluster: ca sha256:"):
        fixed_layout._same(kept, layout(ca=OTHER))


def test_a_change_of_labels_replaces_machines_because_no_agent_applies_it() -> None:
    def digest(**pool: Any) -> str:
        spec = {**SPEC, "pools": {"web": {"os": "windows-2022", **pool}}}
        (group,) = plan_cluster(NAME, read_stack(NAME, {"aws:region": "eu-west-1", CLUSTER: spec}).spec).pools
        return group.replace_digest

    assert digest() != digest(labels={"team": "billing"})
    assert digest() == digest(count=3)


def test_the_kubelet_takes_the_stored_token_and_signs_its_own_serving_certificate() -> None:
    (group,) = plan_cluster(NAME, read_stack(NAME, config()).spec).pools
    steps = {each.name: each.fields for each in group.node_plan.steps}
    assert [steps[name]["token"] for name in ("bootstrap", "joined")] == ["stored", "stored"]
    assert steps["endpoint"]["condition"]["tcp"] == [{"ref": "facts.api_host"}, 8443]
    assert "api-version" not in steps, "/version may need credentials there, and `up` compares the versions"
    assert steps["kubelet-config"]["content"]["serverTLSBootstrap"] is False
    assert steps["kubelet-config"]["content"]["rotateCertificates"] is True


def test_the_proxy_is_not_asked_for_the_clusters_own_machines() -> None:
    spec = {**SPEC, "proxy": {"https": "http://10.0.0.1:3128"}}
    (group,) = plan_cluster(NAME, read_stack(NAME, {"aws:region": "eu-west-1", CLUSTER: spec}).spec).pools
    direct = group.node_plan.egress["proxy"]["no_proxy"]
    assert {"k8s.example.com", "10.40.0.0/24"} <= {*direct}
    assert not [each for each in direct if "mullion.internal" in each]


@pytest.mark.parametrize("path", ["", "missing.conf", "empty.conf"])
def test_up_without_a_usable_kubeconfig_is_refused_and_a_preview_is_not(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty.conf").write_text("{}")
    monkeypatch.setenv(VARIABLE, str(tmp_path / path) if path else "")
    assert record(NAME, config(), preview=True).errors == []
    found = record(NAME, config())
    assert f"Set {VARIABLE} to a kubeconfig of the cluster's administrator" in str(found.errors)


@pytest.fixture
def administrator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set KUBECONFIG to one of an administrator."""
    authority = pki.certificate_authority("kubernetes")
    pair = pki.administrator_certificate(authority, "test", days=1)
    text = pki.administrator_kubeconfig("test", "https://k8s.example.com:8443", "x", authority["certificate"], pair)
    (tmp_path / "admin.conf").write_text(text)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "admin.conf"))


@pytest.mark.usefixtures("administrator")
def test_up_with_an_api_that_does_not_answer_creates_no_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_cluster, "KubernetesApi", _Silent)
    found = record(NAME, config())
    assert "no bootstrap token was created, and no machine was changed" in str(found.errors)
    assert not of(found, INSTANCE)


class _Silent:
    url = "https://k8s.example.com:8443"

    def __init__(self, access: Any) -> None:
        assert access.ca_certificate == AUTHORITY, "the stack's authority, not the kubeconfig's"

    async def call(self, method: str, path: str, body: Any = None, kind: str = "") -> Any:
        raise joined_cluster.Unreachable("no route")


@pytest.mark.usefixtures("administrator")
@pytest.mark.parametrize(("node", "created"), [("web-0", False), ("web-2", True)])
def test_up_creates_neither_token_nor_machine_if_a_node_of_somebody_else_has_a_planned_name(
    node: str, created: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Api(_Silent):
        async def call(self, method: str, path: str, body: Any = None, kind: str = "") -> Any:
            if path == "/version":
                return {"gitVersion": "v1.37.0"}
            if (method, path) == ("GET", "/api/v1/nodes"):
                return {"items": [{"metadata": {"name": node, "uid": "u"}, "spec": {}}]}
            raise AssertionError(f"a run without an engine creates no machine, and no token: {method} {path}")

    instances = "aws:ec2/getInstances:getInstances"
    monkeypatch.setitem(cloud_answers.INVOKES, instances, lambda region, given: {"ids": [], "privateIps": []})
    monkeypatch.setattr(joined_cluster, "KubernetesApi", Api)
    found = record(NAME, config())
    assert bool(of(found, INSTANCE)) is created
    assert ("web-0 (no providerID). Nothing was changed" in str(found.errors)) is not created, found.errors


class Secrets(_Silent):
    """An API with Secrets of kube-system."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, str]] = {}

    async def call(self, method: str, path: str, body: Any = None, kind: str = "") -> Any:
        name = path.removeprefix(bootstrap_tokens.SECRETS).removeprefix("/")
        if method == "POST":
            if body["metadata"]["name"] in self.found:
                raise joined_cluster.Refused(409, "it exists")
            assert body["type"] == "bootstrap.kubernetes.io/token"
            self.found[body["metadata"]["name"]] = body["data"]
        elif method == "PATCH":
            assert kind == PATCH
            self.found[name] |= body["data"]
        return {"data": self.found.get(name)}


def test_the_token_is_created_or_extended_before_each_machine_and_not_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def known() -> str:
        return "abcdef.0123456789abcdef"

    api, cluster = Secrets(), object.__new__(joined_cluster.JoinedCluster)
    cluster.access, cluster._plan = cast(Any, SimpleNamespace(url="")), cast(Any, SimpleNamespace(name=NAME))
    cluster._token = cast(Any, SimpleNamespace(future=known))
    monkeypatch.setattr(joined_cluster, "KubernetesApi", lambda access: api)

    def created() -> datetime:
        asyncio.run(cluster._admit(cast(Any, None)))
        (data,) = api.found.values()
        return datetime.fromisoformat(base64.b64decode(data["expiration"]).decode().replace("Z", "+00:00"))

    moment = datetime.now(timezone.utc)
    assert timedelta(minutes=119) < created() - moment <= bootstrap_tokens.LIFE
    monkeypatch.setattr(bootstrap_tokens, "LIFE", timedelta(hours=5))
    assert created() - moment > timedelta(hours=4), "a roll may take longer than a token is valid"
    next(iter(api.found.values()))["token-secret"] = "another"
    with pytest.raises(RuntimeError, match="bootstrap-token-abcdef is another token"):
        created()


def test_a_token_is_replaced_after_half_its_life() -> None:
    half = bootstrap_tokens.NEW_AFTER.total_seconds()
    assert bootstrap_tokens.period(0) == bootstrap_tokens.period(half - 1) != bootstrap_tokens.period(half)
    assert bootstrap_tokens.LIFE.total_seconds() >= 2 * half
