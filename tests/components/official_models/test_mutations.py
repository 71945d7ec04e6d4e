"""The judges find what they are for: each mutation of a real body is a fault, and no place of a body is unjudged."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from tests.components.official_models.cases import Body, bodies
from tests.components.official_models.clouds import cloud, faults
from tests.components.official_models.test_bodies import TYPES

GONE = object()
INSTANCE, MACHINE = "aws:ec2/instance:Instance", "azure-native:compute:VirtualMachine"
CREDENTIAL = "azure-native:managedidentity:FederatedIdentityCredential"
BALANCER, RULES = "aws:lb/loadBalancer:LoadBalancer", "azure-native:network:NetworkSecurityGroup"
VM, FIREWALL = "gcp:compute/instance:Instance", "gcp:compute/firewall:Firewall"

MUTATIONS: list[tuple[str, str, Any, str]] = [
    (INSTANCE, "metadataOptions.httpTokens", "need", "MetadataOptions.HttpTokens: 'need' is not one of"),
    (INSTANCE, "metadataOptions.httpTokenz", "required", "MetadataOptions.httpTokenz: InstanceMetadata"),
    (INSTANCE, "rootBlockDevice.volumeSize", "50", "VolumeSize: str, not integer"),
    (INSTANCE, "ebsBlockDevices.0.volumeType", "gp33", "VolumeType: 'gp33' is not one of"),
    (INSTANCE, "monitored", True, "monitored: RunInstancesRequest has no such parameter"),
    ("aws:ec2/subnet:Subnet", "vpcId", GONE, "VpcId: required"),
    ("aws:ec2/securityGroup:SecurityGroup", "description", GONE, "Description: required"),
    (BALANCER, "loadBalancerType", "net", "Type: 'net' is not one of"),
    (BALANCER, "subnets", "subnet-1", "Subnets: str, not a list"),
    ("aws:iam/role:Role", "assumeRolePolicy", "x" * 131073, "AssumeRolePolicyDocument: longer than 131072"),
    ("aws:iam/rolePolicy:RolePolicy", "role", "a role", "RoleName: 'a role' does not match"),
    ("aws:secretsmanager/secret:Secret", "description", "x" * 2049, "Description: longer than 2048"),
    ("aws:lb/listener:Listener", "port", 65536, "Port: 65536 is above 65535"),
    (MACHINE, "priority", "Spott", "priority: 'Spott' is not one of"),
    (MACHINE, "storageProfile.osDisk.createOptions", "FromImage", "createOptions: OSDisk has no such property"),
    (MACHINE, "storageProfile.osDisk.createOption", GONE, "storageProfile.osDisk.createOption: required"),
    (MACHINE, "storageProfile.osDisk.diskSizeGB", "64", "diskSizeGB: str, not int"),
    (MACHINE, "provisioningState", "Succeeded", "provisioningState: read-only"),
    (RULES, "securityRules.0.priority", "first", "priority: str, not int"),
    (RULES, "securityRules.0.direction", "In", "direction: 'In' is not one of"),
    (RULES, "resourceGroupName", GONE, "resourcegroupname: the path of the request needs it"),
    ("azure-native:storage:StorageAccount", "accountName", "Not-A-Name", "'Not-A-Name' does not match"),
    ("azure-native:storage:StorageAccount", "accountName", "xy", "account_name: shorter than 3"),
    (CREDENTIAL, "federatedIdentityCredentialResourceName", "a.b", "'a.b' does not match"),
    (CREDENTIAL, "audiences", "api://AzureADTokenExchange", "audiences: str, not [str]"),
    (CREDENTIAL, "claims", "sub", "claims: FederatedIdentityCredential has no such property"),
    ("azure-native:keyvault:Secret", "secretName", "under_score", "'under_score' does not match"),
    ("azure-native:privatedns:PrivateRecordSet", "recordType", "AAAAA", "record_type: 'AAAAA' is not one of"),
    (VM, "scheduling", {"provisioningModel": "SPOTTY"}, "provisioningModel: 'SPOTTY' is not one of"),
    (VM, "shieldedInstanceConfig.enableSecureBoots", True, "enableSecureBoots: ShieldedInstanceConfig has no such"),
    (VM, "canIpForward", "true", "canIpForward: str, not boolean"),
    (VM, "name", "Upper", "name: 'Upper' does not match"),
    (VM, "name", GONE, "name: required"),
    (VM, "zone", GONE, "zone: compute.instances.insert needs it"),
    (FIREWALL, "direction", "INBOUND", "direction: 'INBOUND' is not one of"),
    (FIREWALL, "allows.0.ports", "80", "ports: str, not a list"),
    (FIREWALL, "id", "1", "id: output only"),
    ("gcp:compute/network:Network", "mtu", 2**31, "mtu: 2147483648 is above 2147483647"),
    ("gcp:secretmanager/secret:Secret", "topic", "t", "topic: Secret has no such property"),
    ("gcp:storage/bucket:Bucket", "versioning.enabled", "yes", "versioning.enabled: str, not boolean"),
]
"""Type, path of an input, its other value, and words of the fault that the judge must find."""

FREE = {"tags", "labels", "metadata", "attributeMapping", "protectedSettings", "overrideProvider"}
"""Inputs with keys of our choice, and those that are for the provider alone."""

UNSENT = {
    "aws:s3/bucket:Bucket": {"forceDestroy"},
    "aws:iam/role:Role": {"forceDetachPolicies"},
    "azure-native:storage:BlobServiceProperties": {"blobServicesName"},
    VM: {"allowStoppingForUpdate"},
    "gcp:compute/network:Network": {"deleteDefaultRoutesOnCreate"},
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": {"workloadIdentityPoolId"},
    "gcp:secretmanager/secretVersion:SecretVersion": {"secret"},
    "gcp:storage/bucket:Bucket": {"forceDestroy"},
    "gcp:storage/bucketObject:BucketObject": {"content", "source"},
}
"""Inputs that are in no request of the type: what the provider does by itself, or names in a path without limits."""


def richest(type_: str) -> Body:
    """Return the body of a type with the most values."""
    return max((body for body in bodies(cloud(type_)) if body.type == type_), key=lambda body: len(str(body.inputs)))


def mutated(inputs: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    whole = deepcopy(inputs)
    *above, last = path.split(".")
    at: Any = whole
    for part in above:
        at = at[int(part)] if isinstance(at, list) else at[part]
    if value is GONE:
        del at[last]
    elif isinstance(at, list):
        at[int(last)] = value
    else:
        at[last] = value
    return whole


def places(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each object and each value of inputs, with its path."""
    if isinstance(value, dict):
        yield path, value
        for key, each in value.items():
            if key not in FREE:
                yield from places(each, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from places(each, f"{path}.{index}".lstrip("."))
    else:
        yield path, value


@pytest.mark.parametrize(("type_", "path", "value", "words"), MUTATIONS)
def test_a_mutation_is_found(type_: str, path: str, value: Any, words: str) -> None:
    body = richest(type_)
    assert faults(body) == []
    found = faults(body, mutated(body.inputs, path, value))
    assert [fault for fault in found if words in fault], found


@pytest.mark.parametrize("type_", TYPES)
def test_a_key_that_the_api_lacks_is_found_in_every_object(type_: str) -> None:
    body = richest(type_)
    unseen = [
        path
        for path, value in places(body.inputs)
        if isinstance(value, dict)
        if not faults(body, mutated(body.inputs, f"{path}.misspelt".lstrip("."), "value"))
    ]
    assert not unseen


def _further(body: Body) -> Any:
    return body.inputs["storageProfile"].get("dataDisks")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [("managedDisk.storageAccountType", "PremiumV3_LRS", "is not one of"), ("lun", "0", "str, not int")],
)
def test_a_mutation_of_a_further_disk_on_azure_is_found(path: str, value: Any, words: str) -> None:
    body = next(each for each in bodies("azure") if each.type == MACHINE and _further(each))
    found = faults(body, mutated(body.inputs, f"storageProfile.dataDisks.0.{path}", value))
    assert any(path in each and words in each for each in found), found


@pytest.mark.parametrize("type_", TYPES)
def test_a_value_of_the_wrong_type_is_found_in_every_place(type_: str) -> None:
    body, unsent = richest(type_), UNSENT.get(type_, set())
    unseen = [
        path
        for path, value in places(body.inputs)
        if not isinstance(value, dict) and path.partition(".")[0] not in unsent
        if not faults(body, mutated(body.inputs, path, {"wrong": True}))
    ]
    assert not unseen
