"""Changes of one resource of aws-prod, each with the rule it breaks; cases_gcp.py has those of gcp-prod."""

import base64
import gzip
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from policies.rules.nodes import node_plan
from policies.rules.rule import INSTANCE, Content, Resource

INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
BUCKET = "aws:s3/bucket:Bucket"
ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
ENCRYPTION = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
CLOSED = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
BUCKET_POLICY = "aws:s3/bucketPolicy:BucketPolicy"
SECRET = "aws:secretsmanager/secret:Secret"
OBJECT = "aws:s3/bucketObjectv2:BucketObjectv2"
IMAGES = "mullion:aws:Images"
# values with the form of real secrets
TOKEN, AWS_KEY = "abc12d.0123456789abcdef", "AKIA" + "ABCDEFGHIJKLMNOP"
KEY = "-----BEGIN EC " + "PRIVATE KEY-----"
JWT = "eyJhbGciOiJFUzI1NiJ9" + ".eyJzdWIiOiJub2RlIn0" + ".c2lnbmF0dXJl"

Change = Callable[[Resource], Resource | None]


def given(**properties: Any) -> Change:
    """Return a change that sets inputs."""
    return lambda each: replace(each, properties={**each.properties, **properties})


def without(*names: str) -> Change:
    """Return a change that removes inputs."""
    return lambda each: replace(each, properties={k: v for k, v in each.properties.items() if k not in names})


def gone(_: Resource) -> None:
    """Remove the resource."""


def statement(**fields: Any) -> Change:
    return given(policy=json.dumps({"Statement": [{"Effect": "Allow", **fields}]}))


def planned(edit: Callable[[dict[str, Any]], None]) -> Change:
    """Return a change that edits each step of the node plan in a bundle."""

    def change(each: Resource) -> Resource:
        plan = node_plan(each.properties["source"])
        assert plan is not None
        for phase in plan["phases"]:
            for step in phase["steps"]:
                edit(step)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("plan.json", json.dumps(plan))
        return replace(each, properties={**each.properties, "source": Content(buffer.getvalue())})

    return change


def no_memory(step: dict[str, Any]) -> None:
    if step.get("name") == "kubelet-config":
        step["content"]["systemReserved"]["memory"] = "0Gi"


def no_reserves(step: dict[str, Any]) -> None:
    if step.get("name") == "kubelet-config":
        del step["content"]["systemReserved"]


def no_priority(step: dict[str, Any]) -> None:
    if step.get("service") == "kubelet":
        step["command"] = [each for each in step["command"] if "priorityclass" not in str(each)]


@dataclass(frozen=True)
class Case:
    """A change of one resource of a stack, the rule it breaks, and part of the violation's text."""

    rule: str
    type: str
    name: str
    change: Change
    says: str
    stack: str = "aws-prod"

    def __str__(self) -> str:
        return f"{self.stack} {self.rule}: {self.says}"


FROM_ALL = {"cidrIpv4": "0.0.0.0/0", "ipProtocol": "tcp"}
RULE = "aws-prod-workers-kubelet-from-control-plane"
CP = "aws-prod-control-plane-1"
BUNDLE = "aws-prod-bundle-web"
CASES = (
    Case("control-planes-kept", INSTANCE, CP, lambda each: replace(each, ignore_changes=frozenset()), "ami, inst"),
    Case("control-planes-one-by-one", INSTANCE, CP, lambda each: replace(each, depends_on=frozenset()), "both would"),
    Case("protected-together", INSTANCE, CP, lambda each: replace(each, protect=False), "control plane is not prot"),
    Case("protected-together", BUCKET, "aws-prod-bundles", lambda each: replace(each, protect=False), "bucket is not"),
    Case("protected-together", SECRET, "aws-prod-pki", lambda each: replace(each, protect=False), "secret is not"),
    Case(
        "images-pinned", INSTANCE, "aws-prod-web-0", lambda each: given(ami="ami-0")(replace(each, inputs_from={})), ""
    ),
    Case("metadata-hardened", INSTANCE, "aws-prod-web-1", given(metadataOptions={"httpTokens": "optional"}), "IMDSv1"),
    Case("metadata-hardened", INSTANCE, "aws-prod-web-1", without("metadataOptions"), "HopLimit is not 1"),
    Case("disks-encrypted", INSTANCE, CP, given(rootBlockDevice={"volumeSize": 50}), "not encrypted"),
    Case("disks-encrypted", INSTANCE, CP, without("rootBlockDevice"), "rootBlockDevice is missing"),
    Case("disks-encrypted", INSTANCE, CP, given(ebsBlockDevices=[{"encrypted": False}]), "ebsBlockDevices is"),
    Case("admin-ports-closed", INGRESS, RULE, given(**FROM_ALL, fromPort=22.0, toPort=22.0), "port 22 (SSH)"),
    Case("admin-ports-closed", INGRESS, RULE, given(**FROM_ALL, fromPort=3000, toPort=4000), "port 3389 (RDP)"),
    Case("admin-ports-closed", INGRESS, RULE, given(**FROM_ALL, fromPort=5985, toPort=5985), "port 5985 (WinRM)"),
    Case("admin-ports-closed", INGRESS, RULE, given(**FROM_ALL, fromPort=5986, toPort=5986), "5986 (WinRM over TLS)"),
    Case(
        "admin-ports-closed",
        INGRESS,
        RULE,
        given(cidrIpv6="2000::/3", ipProtocol="6", fromPort=22, toPort=22),
        "2000::",
    ),
    Case(
        "admin-ports-closed",
        INGRESS,
        RULE,
        given(prefixListId="pl-1", ipProtocol="tcp", fromPort=22, toPort=22),
        "a prefix list can",
    ),
    Case(
        "admin-ports-closed",
        GROUP,
        "aws-prod-workers",
        given(ingress=[{"protocol": "tcp", "fromPort": 22, "toPort": 22, "cidrBlocks": ["8.8.0.0/16"]}]),
        "8.8.0.0/16 can",
    ),
    Case(
        "api-by-allow-list",
        INGRESS,
        RULE,
        given(**FROM_ALL, fromPort=6443, toPort=6443),
        "past the API's load",
    ),
    Case("no-secret-in-user-data", INSTANCE, CP, given(userData=f"x\n{KEY}\ny"), "userData holds a private key"),
    Case("no-secret-in-user-data", INSTANCE, CP, given(userData=f"join --token {TOKEN}"), "a bootstrap token"),
    Case("no-secret-in-user-data", INSTANCE, CP, given(userData=f"export KEY={AWS_KEY}"), "an AWS access key"),
    Case("no-secret-in-user-data", INSTANCE, CP, given(userData=f"Bearer {JWT}"), "a JSON web token"),
    Case("no-secret-in-user-data", INSTANCE, CP, given(userData="u?a=b&X-Amz-Signature=0"), "a signed URL"),
    Case(
        "no-secret-in-user-data",
        INSTANCE,
        CP,
        given(userDataBase64=base64.b64encode(f"a long enough beginning {KEY}".encode()).decode()),
        "userDataBase64 holds a private key",
    ),
    Case(
        "no-secret-in-user-data",
        INSTANCE,
        CP,
        given(userData="content: " + base64.b64encode(gzip.compress(f"{'x' * 99}{KEY}".encode())).decode()),
        "userData holds a private key",
    ),
    Case("no-secret-in-objects", OBJECT, "aws-prod-ca", given(content=KEY), "content holds a private key"),
    Case("no-secret-in-objects", OBJECT, BUNDLE, planned(lambda step: step.update(note=TOKEN)), "source holds a boot"),
    Case("stores-encrypted", ENCRYPTION, "aws-prod-bundles", gone, "has no encryption setting"),
    Case("stores-encrypted", ENCRYPTION, "aws-prod-bundles", given(rules=[]), "has no encryption setting"),
    Case("stores-encrypted", CLOSED, "aws-prod-snapshots", given(blockPublicAcls=False), "in all four ways"),
    Case("stores-encrypted", BUCKET_POLICY, "aws-prod-snapshots", gone, "denies plain HTTP"),
    Case("stores-encrypted", BUCKET_POLICY, "aws-prod-snapshots", given(policy='{"Statement": []}'), "denies plain"),
    Case("permissions-narrow", ROLE_POLICY, "aws-prod-workers", statement(Action="s3:*", Resource="arn:x"), "s3:*"),
    Case("permissions-narrow", ROLE_POLICY, "aws-prod-workers", statement(Action="s3:GetObject", Resource="*"), "on *"),
    Case(
        "permissions-narrow",
        ROLE_POLICY,
        "aws-prod-workers",
        statement(Action=["ec2:DescribeInstances", "s3:GetObject"], Resource=["arn:aws:s3:::*"]),
        "it allows s3:GetObject on arn:aws:s3:::*",
    ),
    Case(
        "permissions-narrow", ROLE_POLICY, "aws-prod-workers", statement(NotAction="iam:*", Resource="*"), "NotAction"
    ),
    Case(
        "permissions-narrow",
        ROLE,
        "aws-prod-workers",
        given(managedPolicyArns=["arn:aws:iam::aws:policy/AdministratorAccess"]),
        "AdministratorAccess",
    ),
    Case("reserves-and-priority-set", OBJECT, BUNDLE, planned(no_memory), "pool web reserves no memory"),
    Case("reserves-and-priority-set", OBJECT, BUNDLE, planned(no_reserves), "pool web reserves no cpu"),
    Case("reserves-and-priority-set", OBJECT, BUNDLE, planned(no_priority), "kubelet.priority_class"),
    Case("reserves-and-priority-set", OBJECT, BUNDLE, given(source=Content(None)), "its reserves are unknown"),
    Case("reserves-and-priority-set", OBJECT, BUNDLE, given(source=Content(b"no zip")), "its reserves are unknown"),
    Case("tags-present", BUCKET, "aws-prod-bundles", given(tags={"Name": "x"}), "no tag mullion:cluster, mullion:urn"),
    Case(
        "tags-present",
        BUCKET,
        "aws-prod-bundles",
        lambda each: given(tags={**each.properties["tags"], "mullion:urn": "urn:other"})(each),
        "names another resource",
    ),
)
