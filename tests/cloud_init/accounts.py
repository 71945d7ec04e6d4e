"""For each cloud a small account with one machine that has all rights, as the sandbox's state must have it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.aws import network
from sandbox.aws.iam import PROFILE, ROLE, ROLE_POLICY
from sandbox.aws.regions import ACCOUNT
from sandbox.aws.s3 import ACCESS_BLOCK, BUCKET, BUCKET_POLICY
from sandbox.aws.secretsmanager import ENTRY
from sandbox.azure.regions import TENANT
from sandbox.azure.rights import ASSIGNMENT, BLOBS, DEFINITION
from sandbox.cloud_state import CloudState
from sandbox.gcp.firewalls import ACCOUNT as GCP_ACCOUNT
from sandbox.gcp.rights import PROJECT_MEMBER
from sandbox.records import Record
from sandbox.services.azure import blob, keyvault
from sandbox.services.azure import machine as azure
from sandbox.services.gcp import machine as gcp
from sandbox.services.gcp import secretmanager, storage

BUCKETS = ("bundles", "public", "snapshots", "status")
ADDRESS = "10.20.1.4"


@dataclass(frozen=True)
class Account:
    """Ids, facts and functions of one cloud for tests."""

    machine: str
    """Id of the machine's record in the state."""
    instance: str
    """The machine's id, as its metadata service returns it."""
    provider_id: str
    other: str
    """The providerID of a machine that does not exist."""
    fill: Callable[[CloudState], None]
    facts: Callable[[str], dict[str, str]]
    """Function that returns the facts for services at a URL."""
    bucket: Callable[[str], str]
    """Function that returns a bucket by its name in tests."""
    secret: Callable[[str], str]
    """Function that returns where the state keeps a secret's versions."""
    version: Callable[[int], str]
    """Function that returns the secret's versions; the first is 1."""
    entry: Callable[[CloudState, str], None]
    """Function that creates a secret without versions."""
    token: str
    """Path of the metadata service that returns the machine's identity."""


def put(cloud_state: CloudState, type: str, id: str, inputs: dict[str, Any], /, **computed: Any) -> None:
    """Add a resource to the state as the provider would."""
    urn, region = f"urn:pulumi:test::mullion::{type}::{id}", computed.get("region", AWS_REGION)
    sequence = cloud_state.next_sequence()
    cloud_state.put(Record(sequence, type, id, id, urn, region, inputs, inputs | computed, "2026-01-01T00:00:00Z"))
    links = {ROLE_POLICY: ("role", ROLE), BUCKET_POLICY: ("bucket", BUCKET)}
    links |= {network.ASSOCIATION: ("subnetId", network.SUBNET), network.ROUTE: ("routeTableId", network.TABLE)}
    if type in links:
        path, target = links[type]
        cloud_state.link(sequence, [(path, target, inputs[path], "vanish")])


AWS_REGION = "eu-west-1"
AWS_ROLE = "web"
AWS_INSTANCE = "i-0123456789abcdef0"
TRUST = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}
EVERYTHING = {"Effect": "Allow", "Action": ["s3:*", "secretsmanager:*", "ec2:DescribeInstances"], "Resource": "*"}
PUBLIC = ["arn:aws:s3:::public", "arn:aws:s3:::public/*"]
FOR_ALL = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": PUBLIC, "Principal": "*"}


def _document(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _fill_aws(cloud_state: CloudState) -> None:
    role = f"arn:aws:iam::{ACCOUNT}:role/{AWS_ROLE}"
    for name in BUCKETS:
        put(cloud_state, BUCKET, name, {"bucket": name})
    put(cloud_state, ACCESS_BLOCK, "public", {"bucket": "public", "restrictPublicBuckets": False})
    put(cloud_state, BUCKET_POLICY, "public", {"bucket": "public", "policy": _document(FOR_ALL)})
    put(cloud_state, ROLE, AWS_ROLE, {"assumeRolePolicy": _document(TRUST)}, arn=role, uniqueId="AROAEXAMPLE")
    put(cloud_state, ROLE_POLICY, "all", {"role": AWS_ROLE, "policy": _document(EVERYTHING)})
    profile = role.replace("role/", "instance-profile/")
    put(cloud_state, PROFILE, AWS_ROLE, {"role": AWS_ROLE}, arn=profile, uniqueId="AIPA")
    given: dict[str, Any] = {"iamInstanceProfile": AWS_ROLE, "ami": "ami-0", "instanceType": "m6i.large"}
    given["metadataOptions"] = {"httpTokens": "required", "httpPutResponseHopLimit": 1}
    addresses = {"privateIp": ADDRESS, "privateDns": "ip-10-20-1-4.eu-west-1.compute.internal"}
    put(cloud_state, network.SUBNET, "subnet-0", {"vpcId": "vpc-0", "cidrBlock": "10.20.1.0/24"})
    addresses |= {"subnetId": "subnet-0"}
    more = {"primaryNetworkInterfaceId": "eni-0", "availabilityZone": f"{AWS_REGION}a", "tenancy": "default"}
    put(cloud_state, network.INSTANCE, AWS_INSTANCE, given, **addresses, **more)


def _arn(name: str) -> str:
    return f"arn:aws:secretsmanager:{AWS_REGION}:{ACCOUNT}:secret:{name}-abcdef"


def _facts(url: str, **cloud: str) -> dict[str, str]:
    stores = {"bundle_store": f"{url}/bundles", "snapshot_store": f"{url}/snapshots"}
    names = {
        "join_secret": "join",
        "pki_secret": "pki",
        "desired_state_secret": "desired-state",
        "world": "sandbox",
        "cluster": "shop",
    }
    return {**stores, **names, "status_url": f"{url}/status/AROAEXAMPLE%3A", **cloud}


AWS = Account(
    machine=AWS_INSTANCE,
    instance=AWS_INSTANCE,
    provider_id=f"aws:///{AWS_REGION}a/{AWS_INSTANCE}",
    other=f"aws:///{AWS_REGION}a/i-0fffffffffffffff0",
    fill=_fill_aws,
    facts=lambda url: _facts(url, cloud="aws", region=AWS_REGION, secret_service=f"{url}/", compute_service=f"{url}/"),
    bucket=lambda name: name,
    secret=_arn,
    version=lambda number: f"{number:032}",
    entry=lambda cloud_state, name: put(cloud_state, ENTRY, _arn(name), {"name": name}),
    token="/latest/meta-data/iam/security-credentials/",
)

GCP_PROJECT, GCP_ZONE, GCP_NAME = "shop-4711", "europe-west1-b", "shop-web-0"
GCP_EMAIL = f"web@{GCP_PROJECT}.iam.gserviceaccount.com"
GCP_INSTANCE = "4318277345128394012"
GCP_NETWORK = f"https://www.googleapis.com/compute/v1/projects/{GCP_PROJECT}/global/networks/shop"
GCP_ROLES = (
    "storage.objectUser",
    "secretmanager.secretAccessor",
    "secretmanager.secretVersionManager",
    "compute.viewer",
)


def _fill_gcp(cloud_state: CloudState) -> None:
    put(cloud_state, GCP_ACCOUNT, f"projects/{GCP_PROJECT}/serviceAccounts/{GCP_EMAIL}", {"project": GCP_PROJECT})
    account = {"email": GCP_EMAIL, "scopes": ["cloud-platform"]}
    given: dict[str, Any] = {"name": GCP_NAME, "zone": GCP_ZONE, "project": GCP_PROJECT, "serviceAccount": account}
    interfaces = [{"networkIp": ADDRESS, "network": GCP_NETWORK}]
    put(cloud_state, gcp.INSTANCE, _gcp_id(), given, instanceId=GCP_INSTANCE, networkInterfaces=interfaces)
    for name in BUCKETS:
        put(cloud_state, storage.BUCKET, name, {"name": name})
    for role in GCP_ROLES:
        member = {"project": GCP_PROJECT, "member": f"serviceAccount:{GCP_EMAIL}", "role": f"roles/{role}"}
        put(cloud_state, PROJECT_MEMBER, role, member)


def _gcp_id() -> str:
    return f"projects/{GCP_PROJECT}/zones/{GCP_ZONE}/instances/{GCP_NAME}"


def _gcp_secret(name: str) -> str:
    return f"projects/{GCP_PROJECT}/secrets/{name}"


GCP = Account(
    machine=_gcp_id(),
    instance=GCP_INSTANCE,
    provider_id=f"gce://{GCP_PROJECT}/{GCP_ZONE}/{GCP_NAME}",
    other=f"gce://{GCP_PROJECT}/{GCP_ZONE}/shop-web-9",
    fill=_fill_gcp,
    facts=lambda url: _facts(
        url,
        cloud="gcp",
        region="europe-west1",
        secret_service=f"{url}/v1/projects/{GCP_PROJECT}",
        compute_service=f"{url}/compute/v1/projects/{GCP_PROJECT}",
    ),
    bucket=lambda name: name,
    secret=_gcp_secret,
    version=str,
    entry=lambda cloud_state, name: put(
        cloud_state, secretmanager.ENTRY, _gcp_secret(name), {"secretId": name, "project": GCP_PROJECT}
    ),
    token="/computeMetadata/v1/instance/service-accounts/default/token",
)

AZURE_GROUP = "/subscriptions/0b1f6471-1bf0-4dda-aec3-cb9272f09590/resourceGroups/Shop"
AZURE_CLIENT, AZURE_PRINCIPAL = "11111111-2222-3333-4444-555555555555", "99999999-8888-7777-6666-555555555555"
AZURE_OWN = "99999999-8888-7777-6666-000000000000"
"""Principal of the machine's system-assigned identity, which has no rights."""
AZURE_INSTANCE = "02aab8a4-74ef-476e-8182-f6d2ba4166a6"
AZURE_VAULT, AZURE_STORE = "shop-vault", "shopstore"
AZURE_DATA = [f"{BLOBS}/*", "Microsoft.KeyVault/vaults/secrets/*"]


def _azure_id(kind: str, name: str) -> str:
    return f"{AZURE_GROUP}/providers/Microsoft.{kind}/{name}"


def _fill_azure(cloud_state: CloudState) -> None:
    for name, id in (("web", AZURE_CLIENT), ("policy", "00000000-0000-0000-0000-000000000001")):
        principal = AZURE_PRINCIPAL if name == "web" else id
        identity = _azure_id("ManagedIdentity/userAssignedIdentities", name)
        put(cloud_state, azure.IDENTITY, identity, {"resourceName": name}, clientId=id, principalId=principal)
    identities = [_azure_id("ManagedIdentity/userAssignedIdentities", each) for each in ("web", "policy")]
    interface = _azure_id("Network/networkInterfaces", "web-0")
    put(cloud_state, azure.INTERFACE, interface, {"ipConfigurations": [{"privateIPAddress": ADDRESS}]})
    identity = {"type": "SystemAssigned, UserAssigned", "principalId": AZURE_OWN, "tenantId": TENANT}
    given: dict[str, Any] = {"location": "westeurope", "identity": identity | {"userAssignedIdentities": identities}}
    given["networkProfile"] = {"networkInterfaces": [{"id": interface}]}
    put(cloud_state, azure.MACHINE, _azure_id("Compute/virtualMachines", "web-0"), given, vmId=AZURE_INSTANCE)
    put(cloud_state, keyvault.VAULT, _azure_id("KeyVault/vaults", AZURE_VAULT), {"vaultName": AZURE_VAULT})
    for name in BUCKETS:
        id = _azure_id("Storage/storageAccounts", f"{AZURE_STORE}/blobServices/default/containers/{name}")
        put(cloud_state, blob.CONTAINER, id, {"accountName": AZURE_STORE, "containerName": name})
    allowed = {"actions": ["Microsoft.Compute/virtualMachines/read"], "dataActions": AZURE_DATA}
    role = f"{AZURE_GROUP}/providers/Microsoft.Authorization/roleDefinitions/all"
    put(cloud_state, DEFINITION, role, {"permissions": [allowed]})
    assignment = {"principalId": AZURE_PRINCIPAL, "roleDefinitionId": role, "scope": AZURE_GROUP}
    put(cloud_state, ASSIGNMENT, f"{AZURE_GROUP}/providers/Microsoft.Authorization/roleAssignments/all", assignment)


AZURE = Account(
    machine=_azure_id("Compute/virtualMachines", "web-0"),
    instance=AZURE_INSTANCE,
    provider_id="azure://" + _azure_id("Compute/virtualMachines", "web-0").replace("/Shop/", "/shop/"),
    other="azure://" + _azure_id("Compute/virtualMachines", "web-9"),
    fill=_fill_azure,
    facts=lambda url: _facts(
        url,
        cloud="azure",
        region="westeurope",
        identity=AZURE_CLIENT,
        secret_service=url,
        compute_service=f"{url}{AZURE_GROUP}",
    ),
    bucket=lambda name: f"{AZURE_STORE}/{name}",
    secret=lambda name: f"https://{AZURE_VAULT}.vault.azure.net/secrets/{name}",
    version=lambda number: f"{number:032x}",
    entry=lambda cloud_state, name: None,
    token="/metadata/identity/oauth2/token",
)

ACCOUNTS: Mapping[str, Account] = {"aws": AWS, "gcp": GCP, "azure": AZURE}
"""Account by facts.cloud."""
