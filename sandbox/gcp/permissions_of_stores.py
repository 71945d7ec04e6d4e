"""IAM permissions that the provider of Google Cloud needs for stores, secrets, names and identities, by type."""

from sandbox.permissions import REST, Permissions

_GRANTS = "resourcemanager.projects.getIamPolicy resourcemanager.projects.setIamPolicy"


def _plain(of: str, update: bool = True, **given: str) -> Permissions:
    """Return the row of a resource with the four usual permissions. given: by input."""
    return Permissions(
        f"{of}.create", f"{of}.get", f"{of}.delete", given, {REST: f"{of}.update {of}.get"} if update else {}
    )


def _member(of: str) -> Permissions:
    """Return the row of a grant on a resource: the provider changes its whole policy."""
    both = f"{of}.getIamPolicy {of}.setIamPolicy"
    return Permissions(both, f"{of}.getIamPolicy", both)


TYPES = {
    "gcp:dns/managedZone:ManagedZone": _plain(
        "dns.managedZones", privateVisibilityConfig="dns.networks.bindPrivateDNSZone"
    ),
    "gcp:dns/recordSet:RecordSet": Permissions(
        "dns.changes.create dns.changes.get dns.resourceRecordSets.create dns.resourceRecordSets.list",
        "dns.resourceRecordSets.list",
        "dns.changes.create dns.changes.get dns.resourceRecordSets.delete dns.resourceRecordSets.list",
        update={
            REST: "dns.changes.create dns.changes.get dns.resourceRecordSets.update dns.resourceRecordSets.create"
            " dns.resourceRecordSets.delete"
        },
    ),
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool": _plain("iam.workloadIdentityPools"),
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": _plain("iam.workloadIdentityPoolProviders"),
    "gcp:projects/iAMCustomRole:IAMCustomRole": _plain("iam.roles"),
    "gcp:projects/iAMMember:IAMMember": Permissions(_GRANTS, _GRANTS.partition(" ")[0], _GRANTS),
    "gcp:secretmanager/secret:Secret": _plain("secretmanager.secrets"),
    "gcp:secretmanager/secretIamMember:SecretIamMember": _member("secretmanager.secrets"),
    "gcp:secretmanager/secretVersion:SecretVersion": Permissions(
        "secretmanager.versions.add secretmanager.versions.enable",
        "secretmanager.versions.get secretmanager.versions.access",
        "secretmanager.versions.destroy",
    ),
    "gcp:serviceaccount/account:Account": _plain("iam.serviceAccounts"),
    "gcp:serviceaccount/iAMMember:IAMMember": _member("iam.serviceAccounts"),
    "gcp:storage/bucket:Bucket": Permissions(
        "storage.buckets.create",
        "storage.buckets.get",
        "storage.buckets.delete",
        update={REST: "storage.buckets.update storage.buckets.get"},
        fixed=("forceDestroy",),  # a setting of the provider
        given_up={"forceDestroy": "storage.objects.list storage.objects.delete"},
    ),
    "gcp:storage/bucketIAMMember:BucketIAMMember": _member("storage.buckets"),
    "gcp:storage/bucketObject:BucketObject": Permissions(
        "storage.objects.create",
        "storage.objects.get",
        "storage.objects.delete",
        update={"content": "storage.objects.create storage.objects.delete storage.objects.get"},
    ),
}
