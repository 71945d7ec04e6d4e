"""Keys of the user in the sandbox: each service refuses a key that its cloud would refuse, in its cloud's words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import botocore.session
import pytest

from sandbox import keys
from sandbox.aws.cloud import AWS
from sandbox.azure.cloud import AZURE
from sandbox.cloud_state import CloudState
from sandbox.gcp.cloud import GCP
from sandbox.keys import Key
from tests.sandbox.account import Account
from tests.sandbox.aws.account import AMI, REGION

KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
FAR = KEY.replace(REGION, "eu-west-2")
GCP_KEY = "projects/keys-of-ours/locations/europe-west1/keyRings/ring/cryptoKeys/disks"
GCP_FAR = GCP_KEY.replace("europe-west1", "europe-west4")

FAULTS: dict[str, Key | None] = {
    "missing": None,
    "disabled": Key(enabled=False),
    "closed": Key(lacking=("account", "compute", "storage", "secretmanager")),
}


@pytest.fixture
def aws(tmp_path: Path) -> Account:
    return Account(CloudState(tmp_path / "aws.db"), AWS, REGION)


@pytest.fixture
def gcp(tmp_path: Path) -> Account:
    return Account(CloudState(tmp_path / "gcp.db"), GCP, "europe-west1")


def disk_of_aws(account: Account, key: str, **more: Any) -> Callable[[], Any]:
    vpc = account.create("Vpc", "v", cidrBlock="10.20.0.0/16")
    place = {"vpcId": vpc.id, "cidrBlock": "10.20.0.0/24", "availabilityZone": "eu-west-1a"}
    subnet = account.create("Subnet", "s", **place)
    disk = {"encrypted": True, "kmsKeyId": key}
    machine: dict[str, Any] = {"ami": AMI, "instanceType": "m6i.large", "subnetId": subnet.id, "rootBlockDevice": disk}
    return lambda: account.create("Instance", "m", **machine, **more)


def object_of_aws(account: Account, key: str) -> Callable[[], Any]:
    bucket = account.create("Bucket", "b")
    rule = {"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": key}}
    account.create("BucketServerSideEncryptionConfiguration", "e", bucket=bucket.id, rules=[rule])
    return lambda: account.create("BucketObjectv2", "o", bucket=bucket.id, key="o", content="x")


def secret_of_aws(account: Account, key: str) -> Callable[[], Any]:
    secret = account.create("Secret", "s", kmsKeyId=key)
    return lambda: account.create("SecretVersion", "s", secretId=secret.id, secretString="x")


OF_AWS = {
    (disk_of_aws, "missing"): "Client.InternalError",
    (disk_of_aws, "disabled"): "Client.InvalidKMSKey.InvalidState",
    (disk_of_aws, "closed"): "Client.InternalError",
    (object_of_aws, "missing"): "KMS.NotFoundException",
    (object_of_aws, "disabled"): "KMS.DisabledException",
    (object_of_aws, "closed"): "AccessDenied",
    (secret_of_aws, "missing"): "EncryptionFailure",
    (secret_of_aws, "disabled"): "EncryptionFailure",
    (secret_of_aws, "closed"): "AccessDeniedException",
}
"""Code of the refusal."""


@pytest.mark.parametrize(("made", "fault"), OF_AWS)
def test_aws_refuses_what_a_key_cannot_encrypt(aws: Account, made: Any, fault: str) -> None:
    call = made(aws, KEY)
    if key := FAULTS[fault]:
        keys.put(aws.cloud_state, KEY, key)
    assert aws.refused(call).code == OF_AWS[made, fault]
    keys.put(aws.cloud_state, KEY)
    call()


def test_aws_ends_spot_machines_whose_key_has_no_grant_for_the_role_of_spot(aws: Account) -> None:
    call = disk_of_aws(aws, KEY, instanceMarketOptions={"marketType": "spot"})
    keys.put(aws.cloud_state, KEY, Key(lacking=("spot",)))
    refusal = aws.refused(call)
    assert (refusal.code, "AWSServiceRoleForEC2Spot" in refusal.message) == ("Client.InternalError", True)
    keys.put(aws.cloud_state, KEY)
    call()


def test_aws_needs_no_grant_for_spot_to_start_machines_on_demand(aws: Account) -> None:
    keys.put(aws.cloud_state, KEY, Key(lacking=("spot",)))
    disk_of_aws(aws, KEY)()


@pytest.mark.parametrize("made", [disk_of_aws, object_of_aws, secret_of_aws])
def test_aws_refuses_a_key_of_another_region(aws: Account, made: Any) -> None:
    keys.put(aws.cloud_state, FAR)
    aws.refused(made(aws, FAR))


def test_the_codes_and_the_algorithm_are_in_the_vendors_models() -> None:
    session = botocore.session.get_session()
    secrets, objects = session.get_service_model("secretsmanager"), session.get_service_model("s3")
    decrypt = cast("Any", session.get_service_model("kms").operation_model("Decrypt"))
    keys_of_aws = {shape.name for shape in decrypt.error_shapes}
    errors: list[Any] = list(cast("Any", secrets.operation_model("PutSecretValue")).error_shapes)
    assert "EncryptionFailure" in {each.name for each in errors}
    assert "aws:kms" in objects.shape_for("ServerSideEncryption").enum
    assert {"NotFoundException", "DisabledException"} <= keys_of_aws


def disk_of_gcp(account: Account, key: str) -> Callable[[], Any]:
    network = account.create("Network", "n", autoCreateSubnetworks=False)
    face = {"name": "s", "network": network.id, "ipCidrRange": "10.20.0.0/20", "region": "europe-west1"}
    subnet = account.create("Subnetwork", "s", **face)
    image = "projects/ubuntu-os-cloud/global/images/family/ubuntu-2204-lts"
    disk = {"kmsKeySelfLink": key, "initializeParams": {"image": image}}
    machine: dict[str, Any] = {"zone": "europe-west1-b", "machineType": "n2-standard-2", "bootDisk": disk}
    return lambda: account.create("Instance", "m", networkInterfaces=[{"subnetwork": subnet.id}], **machine)


def bucket_of_gcp(account: Account, key: str) -> Callable[[], Any]:
    encryption = {"defaultKmsKeyName": key}
    return lambda: account.create("Bucket", "b", location="EUROPE-WEST1", encryption=encryption)


def secret_of_gcp(account: Account, key: str) -> Callable[[], Any]:
    replica = {"location": "europe-west1", "customerManagedEncryption": {"kmsKeyName": key}}

    def make() -> None:
        secret = account.create("Secret", "s", secretId="s", replication={"userManaged": {"replicas": [replica]}})
        try:
            account.create("SecretVersion", "v", secret=secret.id, secretData="x")
        except Exception:
            account.delete(secret)
            raise

    return make


@pytest.mark.parametrize("made", [disk_of_gcp, bucket_of_gcp, secret_of_gcp])
@pytest.mark.parametrize("fault", FAULTS)
def test_gcp_refuses_what_a_key_cannot_encrypt(gcp: Account, made: Any, fault: str) -> None:
    call = made(gcp, GCP_KEY)
    if key := FAULTS[fault]:
        keys.put(gcp.cloud_state, GCP_KEY, key)
    with pytest.raises(Exception, match="is not enabled" if fault == "disabled" else "useToEncrypt"):
        call()
    keys.put(gcp.cloud_state, GCP_KEY)
    call()


@pytest.mark.parametrize("made", [disk_of_gcp, bucket_of_gcp, secret_of_gcp])
def test_gcp_refuses_a_key_of_another_location(gcp: Account, made: Any) -> None:
    keys.put(gcp.cloud_state, GCP_FAR)
    with pytest.raises(Exception, match=r"europe-west4|location"):
        made(gcp, GCP_FAR)()


_OF_OURS = "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/keys/providers"
AZURE_KEY = f"{_OF_OURS}/Microsoft.KeyVault/vaults/keys-of-ours/keys/disks/versions/{32 * '1'}"
AZURE_USER = f"{_OF_OURS}/Microsoft.ManagedIdentity/userAssignedIdentities/encryption"
OF_THE_USER: dict[str, Any] = {"identity": {"type": "UserAssigned", "userAssignedIdentities": [AZURE_USER]}}
VAULT = "https://keys-of-ours.vault.azure.net"
AZURE_FAULTS = {
    "missing": None,
    "disabled": Key(enabled=False, identity=AZURE_USER),
    "closed": Key(identity=AZURE_USER.replace("encryption", "somebody")),
}


@pytest.fixture
def azure(tmp_path: Path) -> Account:
    account = Account(CloudState(tmp_path / "azure.db"), AZURE, "westeurope")
    account.create("ResourceGroup", "g", resourceGroupName="g")
    return account


def disks_of_azure(account: Account, **changes: Any) -> Any:
    key = {"keyUrl": f"{VAULT}/keys/disks/{32 * '1'}"}
    given = {"encryptionType": "EncryptionAtRestWithCustomerKey", "activeKey": key, **OF_THE_USER, **changes}
    return account.create("DiskEncryptionSet", "d", resourceGroupName="g", diskEncryptionSetName="d", **given)


def store_of_azure(account: Account, **changes: Any) -> Any:
    named = {"keyName": "disks", "keyVaultUri": VAULT}
    user = {"encryptionUserAssignedIdentity": AZURE_USER}
    settings = {"keySource": "Microsoft.Keyvault", "keyVaultProperties": named, "encryptionIdentity": user}
    place: dict[str, Any] = {"resourceGroupName": "g", "accountName": "store", "kind": "StorageV2"}
    given = {"sku": {"name": "Standard_LRS"}, "encryption": settings, **OF_THE_USER, **changes}
    return account.create("StorageAccount", "s", **place, **given)


OF_AZURE = {disks_of_azure: "KeyVaultAccessForbidden", store_of_azure: "KeyVaultAuthenticationFailure"}


@pytest.mark.parametrize("make", OF_AZURE)
@pytest.mark.parametrize("fault", AZURE_FAULTS)
def test_azure_refuses_what_a_key_cannot_encrypt(azure: Account, make: Any, fault: str) -> None:
    if key := AZURE_FAULTS[fault]:
        keys.put(azure.cloud_state, AZURE_KEY, key)
    assert azure.refused(lambda: make(azure)).code == OF_AZURE[make]
    keys.put(azure.cloud_state, AZURE_KEY, Key(identity=AZURE_USER))
    assert make(azure).outputs["identity"]["userAssignedIdentities"] == {AZURE_USER: {}}


@pytest.mark.parametrize("make", OF_AZURE)
def test_azure_needs_one_identity_to_encrypt_with_a_key(azure: Account, make: Any) -> None:
    keys.put(azure.cloud_state, AZURE_KEY, Key(identity=AZURE_USER))
    azure.refused(lambda: make(azure, identity=None))


def test_azure_needs_the_version_of_a_key_for_disks(azure: Account) -> None:
    keys.put(azure.cloud_state, AZURE_KEY, Key(identity=AZURE_USER))
    refusal = azure.refused(lambda: disks_of_azure(azure, activeKey={"keyUrl": f"{VAULT}/keys/disks"}))
    assert "version" in str(refusal)
