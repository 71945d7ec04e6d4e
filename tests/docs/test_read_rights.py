"""The read-only rights in docs/ci.md: enough for each type that a stack registers, and nothing that writes."""

import json
import re
from fnmatch import fnmatch

from sandbox.azure import names

from .pages import ROOT, fences

PAGE = ROOT / "docs" / "ci.md"
READ = ("Describe", "Get", "List")
AWS = {
    "ec2/": "ec2:Describe",
    "vpc/": "ec2:Describe",
    "iam/instanceProfile": "iam:GetInstanceProfile",
    "iam/role:": "iam:GetRole iam:ListRolePolicies iam:ListAttachedRolePolicies",
    "iam/rolePolicy": "iam:GetRolePolicy",
    "lb/": "elasticloadbalancing:Describe",
    "route53/record": "route53:ListResourceRecordSets",
    "route53/zone": "route53:GetHostedZone route53:ListTagsForResource",
    "s3/bucketObject": "s3:GetObject s3:GetObjectTagging",
    "s3/bucketLifecycle": "s3:GetLifecycleConfiguration",
    "s3/bucketServerSide": "s3:GetEncryptionConfiguration",
    "s3/bucket": "s3:ListBucket s3:GetBucketPolicy s3:GetBucketVersioning s3:GetBucketPublicAccessBlock",
    "secretsmanager/secretVersion": "secretsmanager:GetSecretValue",
    "secretsmanager/secret": "secretsmanager:DescribeSecret secretsmanager:GetResourcePolicy",
}
"""What the provider of AWS asks to read a type, by the beginning of its name; the first row that fits counts."""
GCP = {
    "compute/": "roles/compute.viewer",
    "dns/": "roles/dns.reader",
    "projects/iAMCustomRole": "iam.roles.get",
    "projects/iAMMember": "resourcemanager.projects.getIamPolicy",
    "secretmanager/secret:": "secretmanager.secrets.get",
    "secretmanager/secretIamMember": "secretmanager.secrets.getIamPolicy",
    "secretmanager/secretVersion": "secretmanager.versions.get secretmanager.versions.access",
    "serviceaccount/account": "iam.serviceAccounts.get",
    "storage/bucketIAMMember": "storage.buckets.getIamPolicy",
    "storage/bucketObject": "storage.objects.get",
    "storage/bucket:": "storage.buckets.get",
}
LIST_KEYS = "Microsoft.Storage/storageAccounts/listKeys/action"
"""The provider reads blobs with the key of their account (pulumi-azure-native#2015)."""


def registered(cloud: str) -> set[str]:
    """Return the types of a cloud's resources that the repository's stacks register, without the package."""
    urns = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests" / "golden" / "urns").glob(f"{cloud}-*.txt"))
    return set(re.findall(rf"\$?{cloud}:([\w/]+:\w+)::", urns))


def needed(cloud: str, table: dict[str, str]) -> set[str]:
    """Return the rights that reading every registered type needs. Fails for a type without a row."""
    rows = {kind: [rights for name, rights in table.items() if kind.startswith(name)] for kind in registered(cloud)}
    assert [kind for kind, found in rows.items() if not found] == [], "say what reads them"
    assert len(rows) > 15
    return {right for found in rows.values() for right in found[0].split()}


def policies() -> list[dict[str, object]]:
    return [json.loads(text) for language, text in fences(PAGE) if language == "json"]


def test_the_policy_of_aws_reads_every_type_and_changes_nothing() -> None:
    [policy] = [each for each in policies() if "Statement" in each]
    [statement] = policy["Statement"]  # type: ignore[misc]
    allowed: list[str] = statement["Action"]
    assert [each for each in allowed if not each.partition(":")[2].startswith(READ)] == []
    for right in needed("aws", AWS):
        assert any(fnmatch(right, each) for each in allowed), right


def test_the_policy_of_aws_has_every_reading_right_of_the_identity_that_builds() -> None:
    [policy] = [each for each in policies() if "Statement" in each]
    reader = set(policy["Statement"][0]["Action"])  # type: ignore[index]
    page = (ROOT / "docs" / "aws.md").read_text("utf-8")
    found = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    assert found
    builder = {right for each in json.loads(found[1])["Statement"] for right in each["Action"]}
    assert reader == {each for each in builder if each.partition(":")[2].startswith(READ)}


def test_the_role_of_azure_reads_every_type_and_changes_nothing_but_blobs() -> None:
    [role] = [each for each in policies() if "Actions" in each]
    allowed: list[str] = role["Actions"]  # type: ignore[assignment]
    assert [each for each in allowed if not each.endswith("/read")] == [LIST_KEYS]
    kinds = {each.arm for each in vars(names).values() if isinstance(each, names.Kind)}
    assert len(kinds) > 20
    for kind in sorted(kinds):
        assert any(fnmatch(f"{kind}/read", each) for each in allowed), kind


def test_the_roles_of_google_cloud_read_every_type_and_change_nothing() -> None:
    [text] = [text for _, text in fences(PAGE) if "mullionReader" in text]
    found = re.search(r"--permissions=((?:[\w.,]|\\\n)+)", text)
    assert found
    permissions = set(found[1].replace("\\\n", "").split(","))
    assert [
        each for each in permissions if each.rpartition(".")[2] not in ("get", "list", "getIamPolicy", "access")
    ] == []
    [roles] = re.findall(r"for role in ([\w. ]+);", text)
    assert needed("gcp", GCP) <= permissions | {f"roles/{each}" for each in roles.split()}
