"""The policies to paste: they allow what the stacks need, and nothing else; what only reads changes nothing."""

import json
import re
from fnmatch import fnmatchcase
from typing import Any

import pytest
import yaml
from moto.iam.policy_validation import IAMPolicyDocumentValidator

from sandbox.aws.policies import refused
from sandbox.permissions import Permissions, Table, Use
from tests.docs.pages import ROOT
from tools.golden import cases
from tools.permissions import aws, azure, files, page
from tools.permissions.recorded import Recorded, options, recorded

CLOUDS = ("aws", "azure", "gcp")
FOLDER = ROOT / "docs" / "permissions"
READING = {
    "aws": r"[a-z0-9]+:(Describe|Get|List)\w*\*?",
    "azure": r"[\w./]+/read|Microsoft\.Storage/storageAccounts/(list(Keys|ServiceSas)|blobServices/getInfo)/action",
    "gcp": r"[\w.]+\.(get|list|access|getIamPolicy|getFromFamily|searchAllResources)",
}
"""Names of permissions that change nothing. The provider of Azure reads blobs with a key of their account, the program
with a signed address; it reads a website with the kind of its account (getInfo)."""
SESSIONS = {*(f"ssm:{each}Session" for each in ("Start", "Resume", "Terminate")), "ssmmessages:OpenDataChannel"}
PODS = {
    "iam:AttachRolePolicy",
    *(f"iam:{each}OpenIDConnectProvider" for each in ("Create", "Delete", "Tag", "Untag")),
}
BUILDING = {"aws": ("aws-read", "aws-network", "aws-stores"), "azure": ("azure",), "gcp": ("gcp",)}
"""The files of whoever builds clusters without sessions and a key of their own."""


def document(name: str) -> Any:
    [path] = FOLDER.glob(f"{name}.*")
    return yaml.safe_load(path.read_text("utf-8"))  # JSON too


def allowed(name: str) -> set[str]:
    """Return what a file allows; names of AWS may be patterns."""
    whole = document(name)
    if "Statement" in whole:
        return {action for each in whole["Statement"] for action in each["Action"]}
    return set(whole.get("Actions") or whole["includedPermissions"])


def of_cloud(cloud: str) -> list[str]:
    return [name.partition(".")[0] for name in files.NAMES if name.startswith(cloud)]


def compared(needed: set[str], given: set[str]) -> tuple[set[str], set[str]]:
    """Return what is needed and not given, and what is given and not needed."""
    matched = {(one, pattern) for one in needed for pattern in given if fnmatchcase(one, pattern)}
    return needed - {one for one, _ in matched}, given - {pattern for _, pattern in matched}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_files_allow_every_recorded_permission_and_no_other(cloud: str) -> None:
    given = {each for name in of_cloud(cloud) for each in allowed(name)}
    assert compared(recorded(cloud).permissions, given) == (set(), set())
    one = min(recorded(cloud).permissions)
    assert compared(recorded(cloud).permissions | {"new"}, given - {one}) == ({one, "new"}, set())
    assert compared(recorded(cloud).permissions, given | {"unused"}) == (set(), {"unused"})


@pytest.mark.parametrize("cloud", CLOUDS)
def test_what_building_needs_is_in_the_files_of_builders(cloud: str) -> None:
    """Only sessions, baked images, roles of pods and a key of the user need further files."""
    given = {each for name in BUILDING[cloud] for each in allowed(name)}
    lacking, _ = compared(recorded(cloud).permissions, given)
    apart = SESSIONS | PODS | {"iap.tunnelInstances.accessViaIAP"}
    apart |= {f"ec2:{each}" for each in ("CreateImage", "DeregisterImage")}
    assert {each for each in lacking if not each.startswith("kms:")} == apart & recorded(cloud).permissions


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_reading_file_reads_every_type_and_changes_nothing(cloud: str) -> None:
    given = allowed(f"{cloud}-read")
    assert [each for each in given if not re.fullmatch(READING[cloud], each)] == []
    apart = {*azure.NOT_READING, *SESSIONS, "iap.tunnelInstances.accessViaIAP"}
    assert compared(recorded(cloud).reading - apart, given)[0] == set()


def test_the_reader_on_azure_may_read_the_version_of_the_control_plane() -> None:
    """Without the right to sign, every preview shows pools at the stack file's version."""
    assert "Microsoft.Storage/storageAccounts/listServiceSas/action" in allowed("azure-read")


@pytest.mark.parametrize("name", aws.POLICIES)
def test_iams_grammar_accepts_the_policies_of_aws(name: str) -> None:
    text = (FOLDER / f"{name}.json").read_text("utf-8")
    IAMPolicyDocumentValidator(text).validate()
    assert len(json.dumps(json.loads(text), separators=(",", ":"))) <= aws.LIMIT
    assert not [each for each in document(name)["Statement"] if "*" in each["Action"]]


def test_only_patterns_with_a_reason_stand_in_the_policies_of_aws() -> None:
    patterns = {each for name in aws.POLICIES for each in allowed(name) if "*" in each}
    assert patterns == set(aws.WIDENED)


@pytest.mark.parametrize(
    ("kind", "statement", "arn"),
    [
        ("s3/bucket:Bucket", "ChangeStores", "arn:aws:s3:::{}"),
        (
            "secretsmanager/secret:Secret",
            "ChangeSecrets",
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:{}-aBcDeF",
        ),
        ("iam/role:Role", "ChangeIdentities", "arn:aws:iam::123456789012:role/{}"),
        ("iam/role:Role", "PassRole", "arn:aws:iam::123456789012:role/{}"),
        ("iam/instanceProfile:InstanceProfile", "ChangeIdentities", "arn:aws:iam::123456789012:instance-profile/{}"),
    ],
)
def test_the_names_of_a_cluster_match_the_arns_of_the_policy(kind: str, statement: str, arn: str) -> None:
    [resources] = [each["Resource"] for each in document("aws-stores")["Statement"] if each["Sid"] == statement]
    named = {body.name for body in cases.bodies("aws") if body.type == f"aws:{kind}" and not of_pods(body.name)}
    assert len(named) > 5
    for name in named:
        whole = arn.format(f"{name}-0123456")  # the provider adds seven digits
        assert any(fnmatchcase(whole, pattern) for pattern in resources), whole
        assert not any(fnmatchcase(arn.format("another"), pattern) for pattern in resources)


def of_pods(name: str) -> bool:
    """Return whether a resource belongs to `pod_identity`."""
    return name.endswith("-issuer") or "-pods-shop-" in name


ISSUER = "longest-name-issuer-bcdfgh-123456789012-eu-west-1-an.s3.eu-west-1.amazonaws.com"


@pytest.mark.parametrize(
    ("kind", "statement", "arn"),
    [
        ("s3/bucket:Bucket", "IssuerBuckets", "arn:aws:s3:::{}"),
        ("iam/role:Role", "ChangePodRoles", "arn:aws:iam::123456789012:role/{}"),
        ("iam/role:Role", "AttachPodPolicies", "arn:aws:iam::123456789012:role/{}"),
    ],
)
def test_the_names_of_roles_of_pods_match_the_arns_of_their_policy(kind: str, statement: str, arn: str) -> None:
    [resources] = [each["Resource"] for each in document("aws-pods")["Statement"] if each["Sid"] == statement]
    named = {body.name for body in cases.bodies("aws") if body.type == f"aws:{kind}" and of_pods(body.name)}
    assert named
    for name in named:
        assert any(fnmatchcase(arn.format(f"{name}-0123456"), pattern) for pattern in resources)
    for machine in ("dev-control-plane-0123456", "dev-workers-0123456", "dev-bundles-0123456"):
        assert not any(fnmatchcase(arn.format(machine), pattern) for pattern in resources)
    [issuers] = [each["Resource"] for each in document("aws-pods")["Statement"] if each["Sid"] == "Issuers"]
    assert any(fnmatchcase(f"arn:aws:iam::123456789012:oidc-provider/{ISSUER}", pattern) for pattern in issuers)


def test_whoever_builds_attaches_only_policies_that_the_file_names() -> None:
    role = "arn:aws:iam::123456789012:role/dev-pods-shop-uploads-01234567-0123456"
    caller = "arn:aws:iam::123456789012:role/builder"
    ours = {"aws:ResourceTag/mullion:cluster": "dev"}
    for name, denied in (("arn:aws:iam::ACCOUNT:policy/NAME", False), ("arn:aws:iam::aws:policy/Admin", True)):
        why = refused([document("aws-pods")], "iam:AttachRolePolicy", role, caller, {"iam:PolicyARN": name, **ours})
        assert bool(why) == denied
    named = {"iam:PolicyARN": "arn:aws:iam::ACCOUNT:policy/NAME"}
    assert refused([document("aws-pods")], "iam:AttachRolePolicy", role, caller, named), "a role of somebody else"


@pytest.mark.parametrize(
    ("action", "tag"),
    [
        ("iam:CreateRole", "RequestTag"),
        ("iam:UpdateAssumeRolePolicy", "ResourceTag"),
        ("iam:CreateOpenIDConnectProvider", "RequestTag"),
        ("iam:DeleteOpenIDConnectProvider", "ResourceTag"),
    ],
)
def test_roles_and_issuers_of_others_with_such_names_are_not_changed(action: str, tag: str) -> None:
    name = f"oidc-provider/{ISSUER}" if "OpenID" in action else "role/dev-pods-shop-uploads-01234567-0123456"
    arn, caller = f"arn:aws:iam::123456789012:{name}", "arn:aws:iam::123456789012:role/builder"
    assert not refused([document("aws-pods")], action, arn, caller, {f"aws:{tag}/mullion:cluster": "dev"})
    assert refused([document("aws-pods")], action, arn, caller, {})


MADE = {
    "eip:Eip": ("AllocateAddress", "elastic-ip"),
    "instance:Instance": ("RunInstances", "instance"),
    "internetGateway:InternetGateway": ("CreateInternetGateway", "internet-gateway"),
    "natGateway:NatGateway": ("CreateNatGateway", "natgateway"),
    "routeTable:RouteTable": ("CreateRouteTable", "route-table"),
    "securityGroup:SecurityGroup": ("CreateSecurityGroup", "security-group"),
    "subnet:Subnet": ("CreateSubnet", "subnet"),
    "vpc:Vpc": ("CreateVpc", "vpc"),
    "vpcEndpoint:VpcEndpoint": ("CreateVpcEndpoint", "vpc-endpoint"),
}
"""Action that creates a type of EC2, and its kind in ARNs."""


@pytest.mark.parametrize("kind", MADE)
def test_what_the_policy_creates_has_the_tag_that_the_policy_asks_for(kind: str) -> None:
    tags = [body.inputs["tags"] for body in cases.bodies("aws") if body.type == f"aws:ec2/{kind}"]
    assert tags and all("mullion:cluster" in each for each in tags)
    action, name = MADE[kind]
    arn = f"arn:aws:ec2:eu-west-1:123456789012:{name}/x"
    allowing = [
        each
        for each in document("aws-network")["Statement"]
        if f"ec2:{action}" in each["Action"] and any(fnmatchcase(arn, one) for one in each["Resource"])
    ]
    assert [each.get("Condition") for each in allowing] == [{"StringLike": {"aws:RequestTag/mullion:cluster": "*"}}]


@pytest.mark.parametrize("action", ["TerminateInstances", "DeleteVpc", "AuthorizeSecurityGroupIngress", "ModifyVolume"])
def test_only_what_has_the_tag_is_changed(action: str) -> None:
    kinds = ("instance", "vpc", "security-group", "volume")
    allowing = [
        each
        for each in document("aws-network")["Statement"]
        if f"ec2:{action}" in each["Action"]
        and any(fnmatchcase(f"arn:aws:ec2:eu-west-1:1:{kind}/x", one) for kind in kinds for one in each["Resource"])
    ]
    if action.startswith("Authorize"):  # a rule is made in its network
        allowing = [each for each in allowing if each["Sid"] != "CreateIn"]
    assert [each.get("Condition") for each in allowing] == [{"StringLike": {"aws:ResourceTag/mullion:cluster": "*"}}]


USER = "arn:aws:iam::111122223333:user/ana", "ana", {"aws:userid": "AIDAEXAMPLE", "aws:username": "ana"}
ROLE = "arn:aws:sts::111122223333:assumed-role/ops/ana", "ana", {"aws:userid": "AROAEXAMPLE:ana"}
NAMESAKE = "arn:aws:sts::111122223333:assumed-role/ops/anabel", "anabel", {"aws:userid": "AROAEXAMPLE:anabel"}
SESSION_TAG = "ssm:resourceTag/aws:ssmmessages:session-id"


@pytest.mark.parametrize("caller", [USER, ROLE, NAMESAKE], ids=["user", "role", "namesake"])
def test_the_session_policy_allows_each_call_of_the_command_on_the_callers_own_session_alone(
    caller: tuple[str, str, dict[str, str]],
) -> None:
    """A session's id begins with the user's name or the name of the role's session; its tag has the caller's id."""
    arn, name, context = caller
    calls = [each for each in recorded("aws").table.commands["aws ssm start-session"].split() if "Start" not in each]
    assert {each.partition(":")[2] for each in calls} == {"OpenDataChannel", "ResumeSession", "TerminateSession"}
    own = context | {SESSION_TAG: context["aws:userid"]}
    others = context | {SESSION_TAG: "AROAEXAMPLE:an"}
    for call in calls:
        session = "arn:aws:ssm:eu-west-1:111122223333:session"
        assert not refused([document("aws-session")], call, f"{session}/{name}-0a1b2c3d4e5f60718", arn, own)
        theirs = refused([document("aws-session")], call, f"{session}/an-0a1b2c3d4e5f60718", arn, others)
        assert bool(theirs) == (call != "ssmmessages:OpenDataChannel"), "opening needs the session's token"


@pytest.mark.parametrize("action", ["ec2:DeleteVpcEndpoints", "ec2:ModifyVpcEndpoint"])
def test_endpoints_of_clusters_and_of_guardduty_may_be_removed_and_no_others(action: str) -> None:
    endpoint, tag = "arn:aws:ec2:eu-west-1:111122223333:vpc-endpoint/vpce-1", "aws:ResourceTag"
    policies = [document("aws-network")]
    assert not refused(policies, action, endpoint, USER[0], {f"{tag}/mullion:cluster": "dev"})
    assert not refused(policies, action, endpoint, USER[0], {f"{tag}/GuardDutyManaged": "true"})
    assert refused(policies, action, endpoint, USER[0], {f"{tag}/GuardDutyManaged": "false"})
    assert refused(policies, action, endpoint, USER[0], {})


def test_an_action_without_a_statement_and_a_long_policy_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table({"t": Permissions("new:Create", "", "")}, {}, {}, {})
    found = Recorded(table, {Use("new:Create", "create", "t"): frozenset({"aws-dev"})})
    with pytest.raises(ValueError, match="no statement has new:Create"):
        aws.policy("aws-read", found)
    monkeypatch.setattr(aws, "LIMIT", 100)
    with pytest.raises(ValueError, match=r"aws-read has .* characters; a managed policy has at most 100"):
        aws.policy("aws-read", recorded("aws"))


def test_the_page_names_the_option_without_which_a_permission_is_not_needed() -> None:
    found = recorded("aws")
    assert options(found, "ec2:CancelSpotInstanceRequests") == ["`pools.*.spot`"]
    assert options(found, "kms:CreateGrant") == ["`encryption_key`"]
    assert options(found, "ec2:RunInstances") == []
    assert options(recorded("azure"), "Microsoft.Network/bastionHosts/write") == ["`access: session`"]
    row = next(
        line for line in page.render().splitlines() if line.startswith("| `Microsoft.Network/bastionHosts/write`")
    )
    assert row == "| `Microsoft.Network/bastionHosts/write` | BastionHost (create, update) | `access: session` |"
