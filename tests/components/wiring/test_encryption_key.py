"""encryption_key: every disk, bucket and secret has the user's key; machines use it through the stores alone."""

import json
from typing import Any

import pytest

from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import Recording, Registered, record
from sandbox.values import select
from tests.components.recorded_wiring import config, of, recording
from tools.golden.cases import AZURE_KEY, AZURE_USER, GCP_KEY, KEY

KEYS = {"aws-prod": KEY, "azure-prod": AZURE_KEY, "gcp-prod": GCP_KEY}
IDENTITY = {"azure-prod": {"encryption_identity": AZURE_USER}}
AWS_SETTING = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"


def with_key(stack: str, **control_plane: Any) -> Recording:
    settings, key = config(stack), {"encryption_key": KEYS[stack], **IDENTITY.get(stack, {})}
    plane = {"control_plane": {**settings[CLUSTER]["control_plane"], **control_plane}}
    found = record(stack, {**settings, CLUSTER: {**settings[CLUSTER], **plane, **key}})
    assert found.errors == []
    return found


def _replica(each: Registered) -> Any:
    return each.inputs["replication"]["userManaged"]["replicas"][0].get("customerManagedEncryption", {})


def keys_of(stack: str, found: Recording) -> dict[str, Any]:
    """Return the key by the URN of everything that stores data; None without a key of the user."""
    rows: dict[str, Any] = {
        "aws:ec2/instance:Instance": lambda each: each.inputs["rootBlockDevice"].get("kmsKeyId"),
        AWS_SETTING: lambda each: each.inputs["rules"][0]["applyServerSideEncryptionByDefault"].get("kmsMasterKeyId"),
        "aws:secretsmanager/secret:Secret": lambda each: each.inputs.get("kmsKeyId"),
        "gcp:compute/instance:Instance": lambda each: each.inputs["bootDisk"].get("kmsKeySelfLink"),
        "gcp:storage/bucket:Bucket": lambda each: each.inputs.get("encryption", {}).get("defaultKmsKeyName"),
        "gcp:secretmanager/secret:Secret": lambda each: _replica(each).get("kmsKeyName"),
    }
    return {each.urn: rows[each.type](each) for each in found.resources.values() if each.type in rows}


@pytest.mark.parametrize("stack", ["aws-prod", "gcp-prod"])
def test_the_key_encrypts_every_disk_bucket_and_secret(stack: str) -> None:
    found, without = keys_of(stack, with_key(stack)), keys_of(stack, recording(stack))
    assert set(found.values()) == {KEYS[stack]}
    assert set(without.values()) == {None}
    assert len({urn.split("::")[2].split("$")[-1] for urn in found}) == 3, "a disk, a bucket and a secret"


def test_objects_are_written_after_the_setting_of_their_bucket() -> None:
    found = with_key("aws-prod")
    settings = {each.urn for each in of(found, AWS_SETTING).values()}
    for each in of(found, "aws:s3/bucketObjectv2:BucketObjectv2").values():
        assert settings & each.dependencies, f"{each.name} may be encrypted with S3's own key"


def test_machines_use_the_key_through_the_stores_alone() -> None:
    for name, each in of(with_key("aws-prod"), "aws:iam/rolePolicy:RolePolicy").items():
        rows = json.loads(each.inputs["policy"])["Statement"]
        [row] = [row for row in rows if any(action.startswith("kms:") for action in row["Action"])]
        assert row["Resource"] == [KEY], name
        assert row["Condition"] == {"StringLike": {"kms:ViaService": ["s3.eu-west-1.*", "secretsmanager.eu-west-1.*"]}}


def test_on_gcp_the_machines_get_no_right_on_the_key() -> None:
    found, without = (
        {(each.type, each.name) for each in one.resources.values() if "iam" in each.type.lower()}
        for one in (with_key("gcp-prod"), recording("gcp-prod"))
    )
    assert found == without != set()


def test_on_azure_the_key_encrypts_every_disk_and_store_as_the_users_identity() -> None:
    found = with_key("azure-prod")
    [(name, disks)] = of(found, "azure-native:compute:DiskEncryptionSet").items()
    vault, version = "https://keys-of-ours.vault.azure.net", 32 * "1"
    assert disks.inputs["activeKey"] == {"keyUrl": f"{vault}/keys/disks/{version}"}
    assert disks.inputs["rotationToLatestKeyVersionEnabled"] is True
    assert disks.ignore_changes == ["activeKey", "tags"], "a change of tags would put the first version back"
    machines = of(found, "azure-native:compute:VirtualMachine").values()
    used = {str(each.inputs["storageProfile"]["osDisk"]["managedDisk"]["diskEncryptionSet"]["id"]) for each in machines}
    assert len(machines) > 3
    assert {each.rpartition("/")[2] for each in used} == {name}
    accounts = list(of(found, "azure-native:storage:StorageAccount").values())
    assert len(accounts) == 2
    for each in accounts:
        assert each.inputs["encryption"] == {
            "keySource": "Microsoft.Keyvault",
            "keyVaultProperties": {"keyName": "disks", "keyVaultUri": vault},
            "encryptionIdentity": {"encryptionUserAssignedIdentity": AZURE_USER},
        }
    for each in (disks, *accounts):
        assert each.inputs["identity"]["userAssignedIdentities"] == [AZURE_USER]


def test_on_azure_the_machines_get_no_right_on_the_key() -> None:
    for each in of(with_key("azure-prod"), "azure-native:authorization:RoleAssignment").values():
        assert "keys-of-ours" not in str(each.inputs)
    for each in of(with_key("azure-prod"), "azure-native:compute:VirtualMachine").values():
        assert AZURE_USER not in str(each.inputs["identity"])


def test_without_a_key_azure_makes_no_disk_encryption_set() -> None:
    assert of(recording("azure-prod"), "azure-native:compute:DiskEncryptionSet") == {}


def test_the_key_encrypts_the_disks_of_etcd() -> None:
    for stack, type_, path in (
        ("aws-prod", "aws:ec2/instance:Instance", "ebsBlockDevices[].kmsKeyId"),
        (
            "azure-prod",
            "azure-native:compute:VirtualMachine",
            "storageProfile.dataDisks[].managedDisk.diskEncryptionSet",
        ),
        ("gcp-prod", "gcp:compute/disk:Disk", "diskEncryptionKey.kmsKeySelfLink"),
    ):
        found = [select(each.inputs, path) for each in of(with_key(stack, etcd_disk={}), type_).values()]
        [*keys] = [key for keys in found for key in keys if key]
        assert len(keys) == 3, f"{stack}: one for each control plane"
        assert stack == "azure-prod" or set(keys) == {KEYS[stack]}
