"""Answers of a cloud for the recording monitor: plausible, and the same in every run."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

ACCOUNT = "123456789012"

ID_PREFIXES = {
    "aws:ec2/vpc:Vpc": "vpc",
    "aws:ec2/subnet:Subnet": "subnet",
    "aws:ec2/internetGateway:InternetGateway": "igw",
    "aws:ec2/natGateway:NatGateway": "nat",
    "aws:ec2/eip:Eip": "eipalloc",
    "aws:ec2/routeTable:RouteTable": "rtb",
    "aws:ec2/securityGroup:SecurityGroup": "sg",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "sgr",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "sgr",
    "aws:ec2/instance:Instance": "i",
}
"""Prefixes of ids by type; 17 hexadecimal digits follow. The id of any other type is its ARN or its name."""

NAMED_BY_ARN = {
    "aws:lb/loadBalancer:LoadBalancer",
    "aws:lb/targetGroup:TargetGroup",
    "aws:lb/listener:Listener",
    "aws:secretsmanager/secret:Secret",
}

NAMES = {"aws:s3/bucket:Bucket": "bucket"}
"""Input with the name by type; that of any other type is `name`."""

COMPUTED = {
    "aws:ec2/eip:Eip": {"allocationId": "{id}", "publicIp": "198.51.100.1"},
    "aws:ec2/instance:Instance": {"primaryNetworkInterfaceId": "eni-{digits:.17}"},
    "aws:lb/loadBalancer:LoadBalancer": {"dnsName": "{name}.elb.{region}.amazonaws.com", "zoneId": "Z{digits:.20}"},
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": {
        "arn": f"arn:aws:iam::{ACCOUNT}:oidc-provider/{{name}}",
    },
    "aws:iam/role:Role": {"uniqueId": "AROA{digits:.17}"},
    "aws:route53/zone:Zone": {"zoneId": "Z{digits:.20}"},
    "aws:s3/bucket:Bucket": {
        "bucket": "{id}",
        "arn": "arn:aws:s3:::{id}",
        "bucketRegionalDomainName": "{id}.s3.{region}.amazonaws.com",
    },
}
"""Computed outputs by type, besides `id`, `name` and `arn`, which every type has."""

INVOKES: dict[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]] = {
    "aws:index/getRegion:getRegion": lambda region, _: {
        **dict.fromkeys(("region", "name", "id"), region),
        "endpoint": f"ec2.{region}.amazonaws.com",
    },
    "aws:index/getService:getService": lambda region, asked: {
        "dnsName": f"{asked['serviceId']}.{region}.amazonaws.com",
    },
    "aws:index/getCallerIdentity:getCallerIdentity": lambda *_: {"accountId": ACCOUNT, "id": ACCOUNT},
    "aws:index/getAvailabilityZones:getAvailabilityZones": lambda region, _: {
        "names": [f"{region}{letter}" for letter in "abc"],
        "id": region,
    },
    "aws:ec2/getAmiIds:getAmiIds": lambda *_: {"ids": []},
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": lambda region, asked: _all_offered(
        [f"{region}{letter}" for letter in "abcdefgh"], asked["filters"][0]["values"]
    ),
    "gcp:organizations/getClientConfig:getClientConfig": lambda region, _: {"project": GCP_PROJECT, "region": region},
    "gcp:compute/getZones:getZones": lambda region, _: {"names": [f"{region}-{letter}" for letter in "bcd"]},
    "gcp:compute/getImage:getImage": lambda _, asked: {"name": f"{asked['family']}-v20261110"},
    "azure-native:authorization:getClientConfig": lambda *_: {
        "subscriptionId": AZURE_SUBSCRIPTION,
        "tenantId": "00000000-0000-4000-8000-00000000000a",
    },
    "aws:ssm/getParameter:getParameter": lambda _, asked: {
        "value": f"ami-{_digits(asked['name']):.17}",
        "insecureValue": f"ami-{_digits(asked['name']):.17}",
        "id": asked["name"],
    },
}
"""Answers to invokes: functions of region and arguments."""


def _all_offered(zones: list[str], sizes: list[str]) -> dict[str, Any]:
    """Return the answer of a region whose zones offer all sizes."""
    rows = [(zone, size) for zone in zones for size in sizes]
    return {"id": "offerings", "locations": [zone for zone, _ in rows], "instanceTypes": [size for _, size in rows]}


GCP_PROJECT = "example-project"

POOLS = "projects/{project}/locations/global/workloadIdentityPools"
"""Template of the place of workload identity pools."""

GCP_IDS = {
    "gcp:compute/network:Network": "projects/{project}/global/networks/{name}",
    "gcp:compute/subnetwork:Subnetwork": "projects/{project}/regions/{region}/subnetworks/{name}",
    "gcp:compute/instance:Instance": "projects/{project}/zones/{region}-b/instances/{name}",
    "gcp:compute/instanceGroup:InstanceGroup": "projects/{project}/zones/{region}-b/instanceGroups/{name}",
    "gcp:secretmanager/secret:Secret": "projects/{project}/secrets/{secretId}",
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool": f"{POOLS}/{{workloadIdentityPoolId}}",
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": (
        f"{POOLS}/{{workloadIdentityPoolId}}/providers/{{workloadIdentityPoolProviderId}}"
    ),
    "gcp:projects/iAMCustomRole:IAMCustomRole": "projects/{project}/roles/{roleId}",
}
"""Templates of ids; the id of any other type of GCP is its name."""

GCP_COMPUTED = {
    "gcp:compute/address:Address": {"address": "198.51.100.2"},
    "gcp:compute/instance:Instance": {
        "instanceId": "{number}",
        "selfLink": "https://www.googleapis.com/compute/v1/{id}",
    },
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool": {"name": "{id}"},
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": {"name": "{id}"},
    "gcp:projects/iAMCustomRole:IAMCustomRole": {"name": "{id}"},
    "gcp:serviceaccount/account:Account": {
        "email": "{accountId}@{project}.iam.gserviceaccount.com",
        "member": "serviceAccount:{accountId}@{project}.iam.gserviceaccount.com",
        "name": "projects/{project}/serviceAccounts/{accountId}@{project}.iam.gserviceaccount.com",
    },
    "gcp:storage/bucket:Bucket": {"selfLink": "https://www.googleapis.com/storage/v1/b/{name}"},
}
"""Computed outputs of GCP's types, besides `id` and `name`."""


def computed(type_: str, name: str, urn: str, region: str, given: Mapping[str, Any]) -> dict[str, str]:
    """Return `id` and the computed outputs of a resource with these inputs, by the provider's names."""
    digits = _digits(urn)
    if type_.startswith("azure-native:"):
        return _computed_azure(type_, name, digits, region, given)
    if type_.startswith("gcp:"):
        return _computed_gcp(type_, f"{name}-{digits:.7}", digits, region, given)
    chosen = NAMES.get(type_, "name")
    name = given[chosen].string_value if chosen in given else f"{name}-{digits:.7}"
    arn = f"arn:aws:{type_.split(':')[1].split('/', maxsplit=1)[0]}:{region}:{ACCOUNT}:{name}"
    prefix = ID_PREFIXES.get(type_)
    known = {
        "id": f"{prefix}-{digits:.17}" if prefix else arn if type_ in NAMED_BY_ARN else name,
        "name": name,
        "arn": arn,
    }
    special = {key: form.format(**known, region=region, digits=digits) for key, form in COMPUTED.get(type_, {}).items()}
    return {key: value for key, value in (known | special).items() if key == "id" or key not in given}


def _computed_gcp(type_: str, name: str, digits: str, region: str, given: Mapping[str, Any]) -> dict[str, str]:
    known = {key: value.string_value for key, value in given.items() if value.string_value}
    known = {"name": name, **known, "project": GCP_PROJECT, "region": region, "number": str(int(digits[:15], 16))}
    known["id"] = GCP_IDS.get(type_, "{name}").format(**known)
    special = {key: form.format(**known) for key, form in GCP_COMPUTED.get(type_, {}).items()}
    made = {"id": known["id"], "name": known["name"], **special}
    return {key: value for key, value in made.items() if key == "id" or key not in given}


AZURE_SUBSCRIPTION = "00000000-0000-4000-8000-000000000000"
_AZURE_GROUP = f"/subscriptions/{AZURE_SUBSCRIPTION}/resourceGroups/{{group}}"

AZURE_NAMED = {
    "azure-native:network:Subnet": ("subnetName", "Microsoft.Network/virtualNetworks/{virtualNetworkName}/subnets"),
    "azure-native:storage:BlobContainer": (
        "containerName",
        "Microsoft.Storage/storageAccounts/{accountName}/blobServices/default/containers",
    ),
    "azure-native:storage:StorageAccount": ("accountName", "Microsoft.Storage/storageAccounts"),
    "azure-native:storage:Blob": ("blobName", "Microsoft.Storage/storageAccounts/{accountName}/blobs"),
    "azure-native:keyvault:Vault": ("vaultName", "Microsoft.KeyVault/vaults"),
    "azure-native:network:VirtualNetwork": ("virtualNetworkName", "Microsoft.Network/virtualNetworks"),
    "azure-native:network:LoadBalancer": ("loadBalancerName", "Microsoft.Network/loadBalancers"),
    "azure-native:compute:VirtualMachine": ("vmName", "Microsoft.Compute/virtualMachines"),
    "azure-native:compute:DiskEncryptionSet": ("diskEncryptionSetName", "Microsoft.Compute/diskEncryptionSets"),
    "azure-native:managedidentity:UserAssignedIdentity": (
        "resourceName",
        "Microsoft.ManagedIdentity/userAssignedIdentities",
    ),
    "azure-native:network:RouteTable": ("routeTableName", "Microsoft.Network/routeTables"),
    "azure-native:privatedns:PrivateZone": ("privateZoneName", "Microsoft.Network/privateDnsZones"),
}
"""By type: the input that holds the resource's name, and the path of its id below the resource group. Other types have
their logical name."""

RESHAPED: dict[str, dict[str, Any]] = {
    "azure-native:compute:DiskEncryptionSet": {"identity": {"type": "UserAssigned"}},
    "azure-native:compute:VirtualMachine": {"identity": {"type": "UserAssigned"}},
    "azure-native:storage:StorageAccount": {"identity": {"type": "UserAssigned"}},
    "azure-native:keyvault:Vault": {"properties": {"vaultUri": "https://vault.vault.azure.net/"}},
}
"""Outputs whose shape differs from that of the input, also in previews."""

AZURE_COMPUTED: dict[str, dict[str, Any]] = {
    "azure-native:network:PublicIPAddress": {"ipAddress": "198.51.100.3"},
    "azure-native:compute:VirtualMachine": {"vmId": "{guid}"},
    "azure-native:managedidentity:UserAssignedIdentity": {"clientId": "{guid}", "principalId": "{guid}"},
    "azure-native:storage:StorageAccount": {
        "primaryEndpoints": {
            "blob": "https://{name}.blob.core.windows.net/",
            "web": "https://{name}.z6.web.core.windows.net/",
        }
    },
    "azure-native:storage:StorageAccountStaticWebsite": {"containerName": "$web"},
}
"""Computed outputs of Azure's types, besides `id`, `name` and `location`."""


def _computed_azure(type_: str, name: str, digits: str, region: str, given: Mapping[str, Any]) -> dict[str, Any]:
    texts = {key: value.string_value for key, value in given.items() if value.string_value}
    if type_ == "azure-native:resources:ResourceGroup":
        named = texts.get("resourceGroupName", name)
        return {"id": _AZURE_GROUP.format(group=named), "name": named, "location": region}
    key, path = AZURE_NAMED.get(type_, ("", f"{type_.split(':')[1]}/{type_.split(':')[2]}"))
    named = texts.get(key, name)
    group = _AZURE_GROUP.format(group=texts.get("resourceGroupName", "none"))
    guid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
    known = {"name": named, "guid": guid}
    more = {"id": f"{group}/providers/{path.format(**texts)}/{named}", "name": named, "location": region}
    made = more | _filled(AZURE_COMPUTED.get(type_, {}), known)
    return {each: value for each, value in made.items() if each == "id" or each not in given}


def _filled(form: Any, known: Mapping[str, str]) -> Any:
    if isinstance(form, str):
        return form.format(**known)
    return {key: _filled(each, known) for key, each in form.items()}


def invoked(
    token: str,
    region: str,
    arguments: Mapping[str, Any],
    more: Mapping[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]],
) -> dict[str, Any]:
    """Return the result of an invoke. more: answers of the stack, which come before INVOKES.

    Raises LookupError if neither has an answer.
    """
    if token in more:
        return more[token](region, arguments)
    if token not in INVOKES:
        raise LookupError(
            f"no recorded answer to {token}; add it to INVOKES of recorder/cloud_answers.py ({', '.join(INVOKES)})"
        )
    return INVOKES[token](region, arguments)


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
