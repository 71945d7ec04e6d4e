"""IAM roles and instance profiles of the machines, each with the least rights that its group needs."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import InvokeOptions, Output, ResourceOptions

from components.aws import cloud_controller, snapshot_copies, volumes
from components.aws.network import UsableNetwork
from components.aws.policy import document
from components.aws.storage import Storage
from components.plan import ClusterPlan
from components.spec.choices import MachineAccess
from components.topology.firewall import NODES, SecurityGroup
from components.wiring.access_rights import CONTROL_PLANE, EVERY, Rights
from components.wiring.context import ClusterContext

ASSUME = document([{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}])
"""Trust policy: EC2 may assume the role."""

_OWN = "${aws:userid}.json"
"""Matches one machine's own object: aws:userid of a machine is <role id>:<instance id>."""

LONGEST = 10_240
"""Maximum characters, without spaces, of all inline policies of a role (IAM user guide, "IAM and AWS STS quotas")."""

SESSIONS = [
    "ssm:UpdateInstanceInformation",
    *(f"ssmmessages:{action}{kind}Channel" for action in ("Create", "Open") for kind in ("Control", "Data")),
]
"""Actions of the machine's SSM Agent (Systems Manager user guide, "Create a custom IAM role for Session Manager")."""

_OBJECTS = [
    *("s3:GetObject", "s3:PutObject", "s3:DeleteObject"),
    *("s3:ListMultipartUploadParts", "s3:AbortMultipartUpload"),  # of snapshots that need several requests
]
_PUBLIC: dict[str, Any] = {"Effect": "Allow", "Resource": ["*"]}
_PULL_PUBLIC = (
    {**_PUBLIC, "Action": ["ecr-public:GetAuthorizationToken"]},
    {
        **_PUBLIC,
        "Action": ["sts:GetServiceBearerToken"],
        "Condition": {"StringEquals": {"sts:AWSServiceName": "ecr-public.amazonaws.com"}},
    },
)
"""Statements for public.ecr.aws, which the credential provider serves too (Amazon ECR Public user guide, "Registry
authentication"). Without a token kubelets pull with the limits of anonymous callers. Only the partition aws has it."""
_PULL = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]


def statements(
    group: SecurityGroup,
    arns: Mapping[str, str],
    *,
    registries: bool = False,
    sessions: bool = False,
    controller_of: str = "",
    volumes_of: str = "",
    key: str | None = None,
    vpcs: Mapping[str, str] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Return the policy statements of a group's machines.

    registries: also to pull from ECR. sessions: also to offer sessions of Session Manager. controller_of: name of the
    cluster, if it has a cloud controller. volumes_of: the same, if it has the storage driver of EBS. key: ARN of the
    key that encrypts stores, secrets and volumes, if it is the user's.
    arns: of the stores (bundles, snapshots) and the secrets (join, pki, desired-state). vpcs: id of the VPC through
    whose endpoint machines reach a service (source_services), by the prefix of its actions; such actions are allowed
    from that VPC only.
    """
    rows = _rows(EVERY, arns)
    if group is SecurityGroup.CONTROL_PLANE:
        read, written, read_secrets, written_secrets = _rows(CONTROL_PLANE, arns)
        rows += [
            read,
            written,
            (_OBJECTS, [f"{arns['snapshots']}/*"]),
            (["s3:ListBucket"], [arns["snapshots"]]),
            read_secrets,
            written_secrets,
            (["ec2:DescribeInstances"], ["*"]),  # the action supports no resource-level permissions
        ]
    rows, partition = _joined(rows), arns["bundles"].split(":")[1]
    if registries:
        # a token is for the caller's own account; the registries' own policies let other accounts in
        rows += [(["ecr:GetAuthorizationToken"], ["*"]), (_PULL, [f"arn:{partition}:ecr:*:*:repository/*"])]
    if sessions:
        rows += [(SESSIONS, ["*"])]  # the actions support no resource-level permissions
    found = [
        {"Effect": "Allow", "Action": actions, "Resource": resources, **_from(vpcs.get(actions[0].partition(":")[0]))}
        for actions, resources in rows
    ]
    if registries and partition == "aws":
        found.extend(_PULL_PUBLIC)
    if key:
        found.append(_uses(key))
    if group is SecurityGroup.CONTROL_PLANE:
        controller = cloud_controller.statements(controller_of, partition) if controller_of else []
        driver = volumes.statements(volumes_of, partition, key=key) if volumes_of else []
        found += _shortened([*controller, *driver])
    return found


def _joined(rows: Sequence[tuple[list[str], list[str]]]) -> list[tuple[list[str], list[str]]]:
    """Return the rows with one for each set of actions, because IAM limits the length of all of a role's policies."""
    by_actions: dict[tuple[str, ...], list[str]] = {}
    for actions, resources in rows:
        by_actions.setdefault(tuple(actions), []).extend(resources)
    return [([*actions], resources) for actions, resources in by_actions.items()]


def _shortened(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the statements with one for all actions of the same effect, resources and condition."""
    by_rest: dict[str, dict[str, Any]] = {}
    for each in found:
        rest = json.dumps({key: value for key, value in each.items() if key != "Action"}, sort_keys=True)
        same = by_rest.setdefault(rest, {**each, "Action": []})
        same["Action"] = [*dict.fromkeys([*same["Action"], *each["Action"]])]
    return list(by_rest.values())


def source_services(plan: ClusterPlan) -> tuple[str, ...]:
    """Return the services that machines reach by an endpoint of the cluster's own VPC alone, by their actions' prefix.

    The endpoint of S3 is in all route tables of machines, and private DNS leads to the others from the whole VPC, so a
    request without it comes from elsewhere (IAM user guide, "AWS global condition context keys", aws:SourceVpc). The
    endpoints of an existing VPC are its owner's, who may change them. ECR is left out: a registry's token is asked
    through one endpoint and used at another without a signature.
    """
    if plan.network.existing:
        return ()
    return ("s3", *(each.service for each in plan.private_endpoints if each.service in ("ec2", "secretsmanager")))


def _from(vpc: str | None) -> dict[str, Any]:
    """Return the condition that a request comes from the VPC; nothing without one."""
    return {"Condition": {"StringEquals": {"aws:SourceVpc": vpc}}} if vpc else {}


def _uses(key: str) -> dict[str, Any]:
    """Return the statement for a key that S3 and Secrets Manager use with the machine's rights.

    GetObject and GetSecretValue need kms:Decrypt, PutObject kms:GenerateDataKey, PutSecretValue both (Amazon S3 user
    guide, "Using server-side encryption with AWS KMS keys"; Secrets Manager user guide, "Secret encryption and
    decryption"). The machine cannot use the key by itself.
    """
    region = key.split(":")[3]
    services = [f"{service}.{region}.*" for service in ("s3", "secretsmanager")]  # China has another suffix
    return {
        "Effect": "Allow",
        "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
        "Resource": [key],
        "Condition": {"StringLike": {"kms:ViaService": services}},
    }


def _rows(rights: Rights, arns: Mapping[str, str]) -> list[tuple[list[str], list[str]]]:
    """Return (actions, resources) of the rights, without rows that have no resource."""
    rows = [
        (["s3:GetObject"], [_object(arns["bundles"], prefix) for prefix in rights.read]),
        (["s3:PutObject"], [_object(arns["bundles"], prefix) for prefix in rights.written]),
        (["secretsmanager:GetSecretValue"], [arns[secret] for secret in rights.read_secrets]),
        (["secretsmanager:PutSecretValue"], [arns[secret] for secret in rights.written_secrets]),
    ]
    return [(actions, resources) for actions, resources in rows if resources]


def _object(bucket: str, name: str) -> str:
    return f"{bucket}/{name.replace('{own}', _OWN)}{'*' if name.endswith('/') else ''}"


class Identity(pulumi.ComponentResource):
    """A role and an instance profile for each group of machines."""

    profiles: Mapping[SecurityGroup, Output[str]]
    """Names of the instance profiles; each resolves once its role's policy exists."""
    role_ids: Mapping[str, Output[str]]
    """The unique ids of the roles, AROA..., by name of the identity (components/wiring/access_rights.py)."""

    def __init__(
        self,
        context: ClusterContext,
        network: UsableNetwork,
        ways: Sequence[pulumi.Resource],
        storage: Storage,
        opts: ResourceOptions | None = None,
    ) -> None:
        """ways: routes and endpoints by which machines reach AWS's services."""
        name = context.plan.name
        groups = [group for group in NODES if group in context.plan.groups]
        super().__init__("mullion:aws:Identity", name, {"groups": [group.value for group in groups]}, opts)
        self._registries = "ecr" in context.plan.spec.registry_credentials
        self._controller_of = name if cloud_controller.is_used(context.plan) else ""
        self._volumes_of = name if volumes.is_used(context.plan) else ""
        self._sessions = context.plan.spec.access is MachineAccess.SESSION
        self._copied = context.plan.spec.snapshots.copy_to
        self._cluster, self._storage, self._tags, self._key = (
            name,
            storage,
            context.tags,
            context.plan.spec.encryption_key,
        )
        self._network, self._ways, self._from = network, ways, source_services(context.plan)
        profiles = {group: self._profile(f"{name}-{group.value}", group) for group in groups}
        self.profiles = {group: profile for group, (profile, _) in profiles.items()}
        self.role_ids = {group.value: role for group, (_, role) in profiles.items()}
        self.register_outputs({"profiles": {group.value: profile for group, profile in self.profiles.items()}})

    def _policy(
        self, group: SecurityGroup, arns: Mapping[str, str], vpc: str, region: str, addresses: Sequence[str]
    ) -> str:
        rights = statements(
            group,
            arns,
            registries=self._registries,
            sessions=self._sessions,
            controller_of=self._controller_of,
            volumes_of=self._volumes_of,
            key=self._key,
            vpcs=dict.fromkeys(self._from, vpc),
        )
        if self._copied and group is SecurityGroup.CONTROL_PLANE:
            known = snapshot_copies.source(self._copied, region, vpc if "s3" in self._from else "", addresses)
            rights += snapshot_copies.statements(self._cluster, self._copied, known)
        found = document(rights)
        if (length := len(found.replace(" ", ""))) > LONGEST:
            raise pulumi.RunError(
                f"the rights of {group.value} machines have {length} characters, and IAM accepts {LONGEST} for a role:"
                " give the stack a shorter name, or leave out one of cloud_controller, csi, registry_credentials,"
                " access, encryption_key and snapshots.copy_to"
            )
        return found

    def _profile(self, name: str, group: SecurityGroup) -> tuple[Output[str], Output[str]]:
        """Return the instance profile's name, and the unique id of its role."""
        role = aws.iam.Role(
            name,
            assume_role_policy=ASSUME,
            force_detach_policies=True,  # that somebody attached: IAM deletes no role with policies
            tags=self._tags.on(self, aws.iam.Role, name),
            opts=ResourceOptions(parent=self),
        )
        # of these only copies of snapshots have conditions
        region = aws.get_region_output(opts=InvokeOptions(parent=self)).region if self._copied else ""
        addresses = Output.all(*(self._network.nat_addresses if self._copied else ()))
        known = Output.all(self._storage.arns, self._network.vpc_id, region, addresses)
        policy = aws.iam.RolePolicy(
            name,
            role=role.name,
            policy=known.apply(lambda all_: self._policy(group, *all_)),
            # machines that run must be able to meet its condition
            opts=ResourceOptions(parent=self, depends_on=[*self._ways]),
        )
        profile = aws.iam.InstanceProfile(
            name,
            role=role.name,
            tags=self._tags.on(self, aws.iam.InstanceProfile, name),
            opts=ResourceOptions(parent=self, depends_on=[policy]),
        )
        return profile.name, role.unique_id
