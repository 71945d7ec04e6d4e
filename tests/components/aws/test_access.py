"""The AWS wiring on a recording monitor: secrets, stores, roles, hooks and protection of every stack."""

import json
from typing import Any

import pytest

from components.aws.identity import source_services, statements
from components.plan import plan_cluster
from components.spec.models import ClusterSpec
from components.topology.firewall import NODES, SecurityGroup
from sandbox.aws.policies import refused
from sandbox.boot.session import AGENT
from sandbox.values import Secret
from tests.components.aws.samples import STACKS, instances
from tests.components.recorded_wiring import plan, recording

STASH = "pulumi:index:Stash"
SECRET_STASHES = {
    "cluster-ca",
    "front-proxy-ca",
    "etcd-ca",
    "service-account-0",
    "encryption-0",
    "desired-state",
    "administrator",
}


@pytest.mark.parametrize("stack", STACKS)
def test_generated_secrets_are_marked_and_never_compared(stack: str) -> None:
    stashes = {
        each.name.removeprefix(f"{stack}-"): each for each in recording(stack).resources.values() if each.type == STASH
    }
    for name, stash in stashes.items():
        # the number of a rotation is that of the stack file
        assert list(stash.ignore_changes) == ([] if name == "authorities" else ["input"]), name
        assert (name in SECRET_STASHES) == isinstance(stash.inputs["input"], Secret), name
        assert (name in SECRET_STASHES) == ("output" in stash.additional_secret_outputs), name
    assert set(stashes) >= SECRET_STASHES


@pytest.mark.parametrize("stack", STACKS)
def test_secrets_are_only_in_the_secret_store_and_the_kubeconfig(stack: str) -> None:
    for resource in recording(stack).resources.values():
        marked = [name for name, value in resource.inputs.items() if isinstance(value, Secret)]
        if resource.type == "aws:secretsmanager/secretVersion:SecretVersion":
            assert marked == ["secretString"]
        elif resource.type != STASH:
            assert marked == [], f"{resource.urn} holds a secret"
    outputs = recording(stack).outputs
    assert [name for name, value in outputs.items() if isinstance(value, Secret)] == ["kubeconfig"]


@pytest.mark.parametrize("stack", STACKS)
def test_roles_have_the_least_rights(stack: str) -> None:
    policies = {
        policy.name.removeprefix(f"{stack}-"): json.loads(policy.inputs["policy"])["Statement"]
        for policy in recording(stack).resources.values()
        if policy.type == "aws:iam/rolePolicy:RolePolicy"
    }
    allowed = {name: {action for each in rows for action in each["Action"]} for name, rows in policies.items()}
    assert allowed["workers"] == {"s3:GetObject", "s3:PutObject", "secretsmanager:GetSecretValue"}
    assert allowed["control-plane"] - allowed["workers"] == {
        "s3:DeleteObject",
        "s3:ListBucket",
        "s3:ListMultipartUploadParts",
        "s3:AbortMultipartUpload",
        "secretsmanager:PutSecretValue",
        "ec2:DescribeInstances",
    }
    for rows in policies.values():
        open_rows = [each["Action"] for each in rows if "*" in each["Resource"]]
        assert open_rows in ([], [["ec2:DescribeInstances"]]), "only an action that knows no resources may name all"
    reads = [
        r for each in policies["workers"] if "secretsmanager:GetSecretValue" in each["Action"] for r in each["Resource"]
    ]
    assert len(reads) == 1 and "-join" in reads[0], "workers read the bootstrap token, nothing else"
    for name, rows in policies.items():
        written = [r for each in rows if each["Action"] == ["s3:PutObject"] for r in each["Resource"]]
        own = [r.rpartition("/")[0].rpartition("/")[2] for r in written if r.endswith("/${aws:userid}.json")]
        assert own == ["status", "logs", "join"], "a machine writes its own record and answers, and no other's"
        rest = [each.rpartition("/")[2] for each in written if not each.endswith("/${aws:userid}.json")]
        more = ["epoch.json", "founded.json"]
        assert rest == (more if name == "control-plane" else []), "control planes publish restores and foundings"


def test_machines_may_pull_from_ecr_only_if_the_spec_says_so() -> None:
    arns = {name: f"arn:aws-cn:x:::{name}" for name in ("bundles", "snapshots", "join", "pki", "desired-state")}
    for group in NODES:
        more = [each for each in statements(group, arns, registries=True) if each not in statements(group, arns)]
        assert {action.partition(":")[0] for each in more for action in each["Action"]} == {"ecr"}
        assert [each["Resource"] for each in more] == [["*"], ["arn:aws-cn:ecr:*:*:repository/*"]]
        assert more[0]["Action"] == ["ecr:GetAuthorizationToken"], "it knows no resources"


@pytest.mark.parametrize("group", NODES)
def test_machines_that_pull_from_ecr_get_a_token_for_its_public_registry_too(group: SecurityGroup) -> None:
    """Amazon ECR Public user guide, "Registry authentication": GetAuthorizationToken asks STS for a bearer token."""
    arns = {name: f"arn:aws:x:::{name}" for name in ("bundles", "snapshots", "join", "pki", "desired-state")}
    policy = {"Version": "2012-10-17", "Statement": statements(group, arns, registries=True)}
    role, service = "arn:aws:iam::111122223333:role/workers", "sts:AWSServiceName"
    assert not refused([policy], "ecr-public:GetAuthorizationToken", "*", role)
    assert not refused([policy], "sts:GetServiceBearerToken", "*", role, {service: "ecr-public.amazonaws.com"})
    assert refused([policy], "sts:GetServiceBearerToken", "*", role, {service: "codeartifact.amazonaws.com"})
    without = {"Version": "2012-10-17", "Statement": statements(group, arns)}
    assert refused([without], "ecr-public:GetAuthorizationToken", "*", role)


@pytest.mark.parametrize("stack", STACKS)
def test_only_workers_have_gates_and_the_pointer_waits_for_the_control_plane(stack: str) -> None:
    """Names of hooks are in the state: they stay the same."""
    pools = {f"{stack}-{machine.name}" for pool in plan(stack).pools for machine in pool.machines}
    for resource in recording(stack).resources.values():
        hooks = resource.request.hooks
        found = (list(hooks.before_delete), list(hooks.after_create), list(hooks.after_update))
        gated = ([f"{stack}-leave"], [f"{stack}-arrive"], [])
        routed = ([f"{stack}-lose-route"], [], [])
        reached = ([], [f"{stack}-reach"], [f"{stack}-reach"])
        is_pointer = resource.inputs.get("key") == "desired-state.json"
        is_route = any(resource.name.endswith(f"-pods-{name.removeprefix(f'{stack}-')}") for name in pools)
        wanted = gated if resource.name in pools else reached if is_pointer else routed if is_route else ([], [], [])
        assert found == wanted, resource.urn


@pytest.mark.parametrize("stack", STACKS)
def test_the_member_list_is_uploaded_before_machines_and_no_machine_may_write_it(stack: str) -> None:
    resources = recording(stack).resources
    [members] = [each for each in resources.values() if each.inputs.get("key") == "members.json"]
    listed = json.loads(members.inputs["content"])
    assert {each["name"] for each in listed["members"]} == {each.name for each in plan(stack).machines}
    assert isinstance(listed["serial"], int)
    first = [each for name, each in instances(recording(stack)).items() if name.endswith("-0")]
    assert all(members.urn in each.request.dependencies for each in first), "the others are chained to these"
    signed = ("/desired-state.json", "/members.json")
    for policy in resources.values():
        for row in json.loads(policy.inputs["policy"])["Statement"] if policy.type.endswith(":RolePolicy") else []:
            if any(place.endswith(signed) for place in row["Resource"]):
                assert (policy.name, row["Action"]) == (f"{stack}-control-plane", ["s3:GetObject"])
            assert not any(place.endswith("bundles/*") for place in row["Resource"] if "s3:PutObject" in row["Action"])


def test_older_versions_of_snapshots_expire_after_a_month() -> None:
    [rules] = [
        each.inputs["rules"] for each in recording("aws-prod").resources.values() if "bucketLifecycle" in each.type
    ]
    assert rules[0]["noncurrentVersionExpiration"] == {"noncurrentDays": 30}
    assert "expiration" not in rules[0], "the newest of each stays"


@pytest.mark.parametrize("stack", STACKS)
def test_snapshots_outlive_the_cluster_unless_it_expires(stack: str) -> None:
    kept = {
        resource.name
        for resource in recording(stack).resources.values()
        if resource.retain_on_delete and resource.type != "aws:s3/bucketObjectv2:BucketObjectv2"
    }
    assert kept == ({f"{stack}-snapshots"} if plan(stack).spec.expires is None else set())
    objects = [
        each for each in recording(stack).resources.values() if each.type == "aws:s3/bucketObjectv2:BucketObjectv2"
    ]
    assert {each.name for each in objects if each.retain_on_delete} == {
        f"{stack}-bundle-{group.name}" for group in plan(stack).machine_groups
    }, "older bundles stay while a machine may still fetch them"


def test_protect_covers_control_plane_vpc_and_stores_but_no_worker_or_bundle() -> None:
    protected = {each.name for each in recording("aws-prod").resources.values() if each.protect}
    machines = {f"aws-prod-{machine.name}" for machine in plan("aws-prod").control_plane.machines}
    stores = {f"aws-prod-{name}" for name in ("bundles", "snapshots", "pki", "desired-state", "join")}
    assert protected == {"aws-prod-vpc", *machines, *stores}
    kinds = {each.type for each in recording("aws-prod").resources.values() if each.protect}
    assert "aws:s3/bucketObjectv2:BucketObjectv2" not in kinds, "a bundle is replaced at every change"
    assert not [each for each in recording("aws-dev").resources.values() if each.protect]


@pytest.mark.parametrize("group", NODES)
def test_a_session_needs_the_rights_of_ssm_agent_and_no_others(group: SecurityGroup) -> None:
    stores = ("bundles", "snapshots", "join", "pki", "desired-state")
    arns: dict[str, str] = dict.fromkeys(stores, "arn:aws:s3:::x")
    more = statements(group, arns, sessions=True)[len(statements(group, arns)) :]
    actions = {action for row in more for action in row["Action"]}
    assert {row["Resource"][0] for row in more} == {"*"}
    assert actions == set(AGENT), "the sandbox's list, from AWS's user guide"


EXISTING = {
    "network": "vpc-0a1b2c3d4e5f60718",
    "subnets": [{"id": "subnet-0a1b2c3d4e5f60718", "range": "10.20.0.0/24"}],
}


@pytest.mark.parametrize(
    ("network", "services"),
    [
        ({}, {"s3"}),
        ({"egress": "public"}, {"s3"}),
        ({"egress": "none"}, {"s3", "secretsmanager", "ec2"}),
        ({"existing": EXISTING}, set()),
    ],
    ids=["nat", "public", "none", "existing"],
)
def test_rights_name_the_vpc_where_every_request_passes_an_endpoint_of_the_cluster(
    network: dict[str, Any], services: set[str]
) -> None:
    cluster = {"cloud": "aws", "kubernetes": "1.37.1", "pools": {"web": {"os": "windows-2022"}}, "network": network}
    planned = plan_cluster("dev", ClusterSpec.model_validate({**cluster, "registry_credentials": ["ecr"]}))
    assert {*source_services(planned)} == services
    arns = {name: f"arn:aws:x:::{name}" for name in ("bundles", "snapshots", "join", "pki", "desired-state")}
    for group in NODES:
        vpcs = dict.fromkeys(source_services(planned), "vpc-1")
        rows = statements(group, arns, registries=True, sessions=True, vpcs=vpcs)
        named = {"StringEquals": {"aws:SourceVpc": "vpc-1"}}
        limited = {
            action.partition(":")[0] for row in rows if row.get("Condition") == named for action in row["Action"]
        }
        free = {action.partition(":")[0] for row in rows if "Condition" not in row for action in row["Action"]}
        known = {"s3", "secretsmanager"} | ({"ec2"} if group is SecurityGroup.CONTROL_PLANE else set())
        assert limited == services & known
        assert free == (known - services) | {"ecr", "ecr-public", "ssm", "ssmmessages"}


@pytest.mark.parametrize("stack", STACKS)
def test_roles_get_their_rights_once_machines_can_meet_the_condition(stack: str) -> None:
    found = recording(stack).resources.values()
    [endpoint] = [
        each for each in found if each.type == "aws:ec2/vpcEndpoint:VpcEndpoint" and each.name.endswith("-s3")
    ]
    policies = [each for each in found if each.type == "aws:iam/rolePolicy:RolePolicy"]
    assert len(policies) == 2
    for policy in policies:
        assert endpoint.urn in policy.request.dependencies
        [condition] = {
            json.dumps(each.get("Condition"))
            for each in json.loads(policy.inputs["policy"])["Statement"]
            if each["Action"][0].startswith("s3:")
        }
        assert json.loads(condition) == {"StringEquals": {"aws:SourceVpc": endpoint.inputs["vpcId"]}}
