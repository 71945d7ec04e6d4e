"""Keys of KMS that disks, buckets and secrets name, and what AWS answers if it cannot use one.

Sources: EC2 API reference, EbsBlockDevice.KmsKeyId (checked only after the call, so the machine terminates); EC2 user
guide, "Troubleshoot Amazon EC2 instance launch issues"; Amazon S3 and Secrets Manager API references (errors).
"""

from collections.abc import Mapping
from typing import Any

from sandbox import keys
from sandbox.cloud import Refusal, Request
from sandbox.cloud_state import CloudState

ENCRYPTION = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
SECRET = "aws:secretsmanager/secret:Secret"  # noqa: S105
ACCOUNT, SPOT = "account", "spot"
"""Whom a key may lack: the account, and the role AWSServiceRoleForEC2Spot (EC2 user guide, "Service-linked role for
Spot Instance requests")."""
_LAUNCH = "waiting for EC2 Instance create: unexpected state 'terminated', wanted target 'running'. last error:"


def check_disks(request: Request) -> None:
    """Refuse a disk whose key EC2 cannot use; the machine then terminates at launch."""
    for disk in (request.inputs.get("rootBlockDevice") or {}, *(request.inputs.get("ebsBlockDevices") or ())):
        if disk.get("kmsKeyId") and request.old is None:
            _check_disk(request, disk)


def _check_disk(request: Request, disk: Mapping[str, Any]) -> None:
    key = str(disk["kmsKeyId"])
    if not disk.get("encrypted"):
        raise Refusal(
            "InvalidParameterDependency", "The parameter KmsKeyId requires the parameter Encrypted to be set."
        )
    fault = problem(request.cloud_state, key, request.region)
    if fault == "DisabledException":
        code = "Client.InvalidKMSKey.InvalidState"
        raise Refusal(code, f"{_LAUNCH} {code}: The KMS key provided is in an incorrect state")
    known = keys.find(request.cloud_state, key)
    if request.inputs.get("instanceMarketOptions") and known and SPOT in known.lacking:
        fault = fault or "AccessDeniedException for AWSServiceRoleForEC2Spot"
    if fault:
        raise Refusal(
            "Client.InternalError", f"{_LAUNCH} Client.InternalError: Client error on launch ({key}: {fault})"
        )


def check_object(request: Request) -> None:
    """Refuse an object if S3 cannot use the key of its bucket."""
    key = of_bucket(request.cloud_state, request.inputs["bucket"])
    if fault := problem(request.cloud_state, key, request.region) if key else "":
        code = "AccessDenied" if fault == "AccessDeniedException" else f"KMS.{fault}"
        raise Refusal(code, f"{key}: not authorized to perform kms:GenerateDataKey, or the key is not usable ({fault})")


def check_secret(request: Request) -> None:
    """Refuse a secret's value if Secrets Manager cannot use the secret's key."""
    key = of_secret(request.cloud_state, request.inputs["secretId"])
    fault = problem(request.cloud_state, key, request.region) if key else ""
    if fault == "AccessDeniedException":
        raise Refusal(fault, "Access to KMS is not allowed")
    if fault:
        message = "Secrets Manager can't encrypt the protected secret text using the provided KMS key"
        raise Refusal("EncryptionFailure", f"{message} ({key}: {fault}).")


def of_bucket(cloud_state: CloudState, bucket: str) -> str:
    """Return the key that encrypts new objects of a bucket; empty for S3's own."""
    record = cloud_state.find(ENCRYPTION, bucket)
    rules = (record.inputs.get("rules") or []) if record else []
    found = [(each.get("applyServerSideEncryptionByDefault") or {}).get("kmsMasterKeyId") for each in rules]
    return next(filter(None, found), "")


def of_secret(cloud_state: CloudState, secret: str) -> str:
    """Return the key of a secret, by the secret's ARN; empty for the account's aws/secretsmanager."""
    record = cloud_state.find(SECRET, secret)
    return (record.inputs.get("kmsKeyId") or "") if record else ""


def problem(cloud_state: CloudState, arn: str, region: str) -> str:
    """Return KMS's error (AWS KMS API reference, Decrypt) for a caller of the account; empty if there is none."""
    key = keys.find(cloud_state, arn)
    if key is None or arn.split(":")[3] != region:
        return "NotFoundException"
    if not key.enabled:
        return "DisabledException"
    return "AccessDeniedException" if ACCOUNT in key.lacking else ""
