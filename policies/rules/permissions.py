"""Roles: their actions and resources are listed, without wildcards."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from components import naming
from policies.rules.rule import Resource, ResourceRule, document, items, known

SESSIONS = frozenset(
    {
        "ssm:UpdateInstanceInformation",
        *(f"ssmmessages:{action}{kind}Channel" for action in ("Create", "Open") for kind in ("Control", "Data")),
    }
)
"""Actions of SSM Agent, which AWS's own policy allows on * (AmazonSSMManagedInstanceCore)."""
WITHOUT_RESOURCES = SESSIONS | frozenset(
    {
        *("ecr:GetAuthorizationToken", "ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"),
        *("ec2:DescribeAccountAttributes", "ec2:DescribeAddresses", "ec2:DescribeAvailabilityZones"),
        *("ec2:DescribeInstances", "ec2:DescribeInstanceTopology", "ec2:DescribeInternetGateways"),
        *("ec2:DescribeInstanceTypes", "ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups"),
        *("ec2:DescribeSnapshots", "ec2:DescribeSubnets", "ec2:DescribeVolumes", "ec2:DescribeVolumesModifications"),
        *("ec2:DescribeVolumeStatus", "ec2:DescribeVpcs"),
        *("elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeLoadBalancerAttributes"),
        *("elasticloadbalancing:DescribeLoadBalancerPolicies", "elasticloadbalancing:DescribeLoadBalancers"),
        *("elasticloadbalancing:DescribeTargetGroupAttributes", "elasticloadbalancing:DescribeTargetGroups"),
        "elasticloadbalancing:DescribeTargetHealth",
    }
)
"""Actions of machines' roles that take only the resource `*` (Service Authorization Reference, "Resource types"
empty)."""
MANAGED = frozenset(
    {"AmazonEC2ContainerRegistryReadOnly", "AmazonSSMManagedInstanceCore", "CloudWatchAgentServerPolicy"}
)
"""AWS's own policies that a machine can have; all others hold more than a machine needs."""
PODS, OF_PODS = "mullion:aws:PodIdentity", f"-{naming.PODS}-"
"""Component of pods' roles, and a part of their names."""
BROAD = ("AdministratorAccess", "PowerUserAccess", "FullAccess")
"""Suffixes of policies that no machine and no pod can have, whoever wrote them."""

POLICIES = frozenset({"aws:iam/rolePolicy:RolePolicy", "aws:iam/policy:Policy"})
ROLE = "aws:iam/role:Role"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"


EVERYONE = frozenset({"allUsers", "allAuthenticatedUsers"})
BASIC = re.compile(r"roles/(?:owner|editor|viewer|[\w.]*[aA]dmin)")
"""GCP's roles with nearly all permissions of a project or of a service."""
ON_PROJECT = "gcp:projects/iAMMember:IAMMember"
ONE = frozenset(
    {
        ON_PROJECT,
        "gcp:secretmanager/secretIamMember:SecretIamMember",
        "gcp:serviceaccount/iAMMember:IAMMember",
        "gcp:storage/bucketIAMMember:BucketIAMMember",
    }
)
"""GCP's types that grant a role to one member."""
CUSTOM = frozenset({"gcp:projects/iAMCustomRole:IAMCustomRole"})
ASSIGNMENT, DEFINITION = "azure-native:authorization:RoleAssignment", "azure-native:authorization:RoleDefinition"
AZURE_BASIC = {
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": "Owner",
    "b24988ac-6180-42a0-ab88-20f7382dd24c": "Contributor",
    "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9": "User Access Administrator",
}
"""Ids of Azure's roles with nearly all permissions ("Azure built-in roles")."""
CREDENTIAL, OF_MACHINES = "azure-native:managedidentity:FederatedIdentityCredential", "mullion:azure:Identity"
"""Type that lets tokens of another issuer have an identity, and the component of machines' identities."""


def _listed(value: Any) -> list[str]:
    return [str(each) for each in (value if isinstance(value, list) else [value]) if known(each)]


def _everything(arn: str) -> bool:
    """Return whether a resource is `*`, or all resources of a service: arn:aws:s3:::*."""
    return arn == "*" or (arn.startswith("arn:") and arn.split(":", 5)[-1] in ("*", "*/*"))


def _statement(statement: Mapping[str, Any]) -> Iterator[str]:
    if statement.get("Effect") != "Allow":
        return
    for key in ("NotAction", "NotResource"):
        if key in statement:
            yield f"a statement has {key}, so it allows everything else; list what it needs instead"
    actions, resources = _listed(statement.get("Action")), _listed(statement.get("Resource"))
    for action in actions:
        if "*" in action:
            yield f"it allows {action}; list the actions"
    for arn in filter(_everything, resources):
        wide = [each for each in actions if each not in WITHOUT_RESOURCES]
        if wide:
            yield f"it allows {', '.join(wide)} on {arn}; name the resources"


def _narrow(resource: Resource) -> Iterator[str]:
    for holder in (resource.properties, *items(resource.properties, "inlinePolicies")):
        for statement in items(document(holder.get("policy")), "Statement"):
            yield from _statement(statement)
    for arn in [*_listed(resource.properties.get("policyArn")), *_listed(resource.properties.get("managedPolicyArns"))]:
        name, of_aws = arn.rpartition("/")[2], ":iam::aws:policy/" in arn
        if arn.endswith(BROAD) or (of_aws and name not in MANAGED and not _is_of_pods(resource)):
            yield f"it has the policy {arn.rpartition('/')[2]}; write one with only the permissions that it needs"


def _is_of_pods(resource: Resource) -> bool:
    """Return whether a policy is attached to a role of pods, for which the stack file names its policies."""
    role = resource.properties.get("role")
    parents = resource.urn.split("::")[2].split("$")
    return resource.type == ATTACHMENT and PODS in parents and (not known(role) or OF_PODS in str(role))


def _of_gcp(resource: Resource) -> Iterator[str]:
    properties = resource.properties
    for permission in filter(lambda each: "*" in each, _listed(properties.get("permissions"))):
        yield f"it allows {permission}; list the permissions"
    role, member = (str(properties.get(each) or "") for each in ("role", "member"))
    if member in EVERYONE:
        yield f"{member} is everybody; name the service account"
    if BASIC.fullmatch(role):
        yield f"{role} allows nearly everything; write a role with only the permissions that it needs"
    elif resource.type == ON_PROJECT and role.startswith("roles/"):
        yield f"{role} applies to the whole project; write a role with few permissions, or name the resource"


def _of_azure(resource: Resource) -> Iterator[str]:
    for allowed in items(resource.properties, "permissions"):
        for action in [*_listed(allowed.get("actions")), *_listed(allowed.get("dataActions"))]:
            if "*" in action:
                yield f"it allows {action}; list the actions"
    role, scope = (str(resource.properties.get(each) or "") for each in ("roleDefinitionId", "scope"))
    if known := AZURE_BASIC.get(role.rpartition("/")[2]):
        yield f"{known} allows nearly everything; write a role with only the permissions that it needs"
    for urn in resource.inputs_from.get("resourceName", ()) if resource.type == CREDENTIAL else ():
        if OF_MACHINES in urn.split("::")[2].split("$"):
            yield f"{urn.rpartition('::')[2]} is an identity of machines; holders of such tokens would have its rights"
    if resource.type == ASSIGNMENT and re.fullmatch(r"/subscriptions/[^/]*|/", scope):
        yield f"it applies to all of {scope}; name a resource group or one resource"


CHECKS: Mapping[str, Callable[[Resource], Iterable[str]]] = {
    **dict.fromkeys(POLICIES | {ROLE, ATTACHMENT}, _narrow),
    **dict.fromkeys(ONE | CUSTOM, _of_gcp),
    **dict.fromkeys((ASSIGNMENT, DEFINITION, CREDENTIAL), _of_azure),
}
"""By type."""

RULES = (
    ResourceRule(
        "permissions-narrow",
        "Roles allow only named actions on named resources.",
        frozenset(CHECKS),
        lambda resource: CHECKS[resource.type](resource),
    ),
)
