"""Changes of one resource of gcp-prod, each with the rule it breaks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from policies.rules.exposure import FIREWALL
from policies.rules.machines import SETTINGS
from policies.rules.rule import GCP_INSTANCE, Content, Resource

from .cases import JWT, KEY, TOKEN, Case, Change, given, no_memory, no_priority, planned, without

BUCKET, SECRET = "gcp:storage/bucket:Bucket", "gcp:secretmanager/secret:Secret"
OBJECT, ZONE = "gcp:storage/bucketObject:BucketObject", "gcp:dns/managedZone:ManagedZone"
ON_BUCKET, ON_PROJECT = "gcp:storage/bucketIAMMember:BucketIAMMember", "gcp:projects/iAMMember:IAMMember"
CUSTOM = "gcp:projects/iAMCustomRole:IAMCustomRole"
API_KEY, OAUTH = "AIza" + "Sy0123456789abcdefghijklmnopqrstuvw", "ya29." + "a0AfB_byC0123456789abcdef"
SIGNED = "https://storage.googleapis.com/b/o?X-Goog-Signature=00"


def inside(path: str, value: Any) -> Change:
    """Return a change that sets an input by its path; None removes it."""

    def put(old: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
        name, *rest = names
        if rest:
            return {**old, name: put(old.get(name) or {}, rest)}
        return {key: each for key, each in {**old, name: value}.items() if each is not None}

    return lambda each: replace(each, properties=put(each.properties, path.split(".")))


def loose(each: Resource) -> Resource:
    """Replace the image that was looked up once by one named in the program."""
    return (
        inside("bootDisk.initializeParams.image", "projects/p/global/images/i")(replace(each, inputs_from={})) or each
    )


def opened(*ports: str, protocol: str = "tcp", source: str = "0.0.0.0/0") -> Change:
    """Return a change that admits `source` to these ports."""
    allows: dict[str, Any] = {"protocol": protocol, **({"ports": list(ports)} if ports else {})}
    new = given(allows=[allows], sourceRanges=[source], description="x")
    return lambda each: without("sourceTags")(new(each) or each)


CP, WEB, BUNDLE = "control-plane-1", "web-1", "bundle-web"
RULE = "workers-kubelet-from-control-plane"
ROWS: tuple[tuple[str, str, str, Change, str], ...] = (
    ("control-planes-kept", GCP_INSTANCE, CP, lambda each: replace(each, ignore_changes=frozenset()), "attachedDisks"),
    ("control-planes-one-by-one", GCP_INSTANCE, CP, lambda each: replace(each, depends_on=frozenset()), "both would"),
    ("protected-together", GCP_INSTANCE, CP, lambda each: replace(each, protect=False), "control plane is not prot"),
    ("protected-together", BUCKET, "bundles", lambda each: replace(each, protect=False), "bucket is not"),
    ("protected-together", SECRET, "pki", lambda each: replace(each, protect=False), "secret is not"),
    ("images-pinned", GCP_INSTANCE, WEB, loose, "looks its image up again"),
    *(
        ("machines-shielded", GCP_INSTANCE, WEB, inside(path, "TRUE" if "metadata" in path else False), path)
        for path, *_ in SETTINGS[GCP_INSTANCE]
    ),
    ("machines-shielded", GCP_INSTANCE, CP, without("shieldedInstanceConfig"), "enableSecureBoot is not True"),
    ("admin-ports-closed", FIREWALL, RULE, opened("22"), "0.0.0.0/0 can reach port 22 (SSH)"),
    ("admin-ports-closed", FIREWALL, RULE, opened("443", "3000-4000"), "port 3389 (RDP)"),
    ("admin-ports-closed", FIREWALL, RULE, opened("5985", source="::/0"), "port 5985 (WinRM)"),
    ("admin-ports-closed", FIREWALL, RULE, opened("5986", protocol="6"), "5986 (WinRM over TLS)"),
    ("api-by-allow-list", FIREWALL, RULE, opened("6443", source="198.51.100.0/24"), "past the API's load balancer"),
    ("no-secret-in-user-data", GCP_INSTANCE, CP, inside("metadata.user-data", KEY), "metadata.user-data holds a pri"),
    ("no-secret-in-user-data", GCP_INSTANCE, CP, inside("metadata.other", f"--token {TOKEN}"), "a bootstrap token"),
    ("no-secret-in-user-data", GCP_INSTANCE, WEB, inside("metadata.other", API_KEY), "a Google API key"),
    ("no-secret-in-user-data", GCP_INSTANCE, WEB, inside("metadata.other", OAUTH), "a Google access token"),
    ("no-secret-in-user-data", GCP_INSTANCE, WEB, inside("metadata.other", SIGNED), "a signed URL"),
    ("no-secret-in-objects", OBJECT, "ca", given(content=JWT), "content holds a JSON web token"),
    ("stores-encrypted", BUCKET, "snapshots", given(uniformBucketLevelAccess=False), "uniformBucketLevelAccess is not"),
    ("stores-encrypted", BUCKET, "bundles", given(publicAccessPrevention="inherited"), "publicAccessPrevention is not"),
    ("permissions-narrow", ON_BUCKET, "web-0-read", given(role="roles/storage.objectAdmin"), "nearly everything"),
    ("permissions-narrow", ON_BUCKET, "web-0-read", given(member="allUsers"), "allUsers is everybody"),
    ("permissions-narrow", ON_PROJECT, "machines", given(role="roles/editor"), "roles/editor allows nearly"),
    ("permissions-narrow", ON_PROJECT, "machines", given(role="roles/compute.viewer"), "the whole project"),
    ("permissions-narrow", CUSTOM, "machines", given(permissions=["compute.*"]), "compute.*; list"),
    ("reserves-and-priority-set", OBJECT, BUNDLE, planned(no_memory), "pool web reserves no memory"),
    ("reserves-and-priority-set", OBJECT, BUNDLE, planned(no_priority), "kubelet.priority_class"),
    ("reserves-and-priority-set", OBJECT, BUNDLE, given(source=Content(b"no zip")), "its reserves are unknown"),
    ("tags-present", BUCKET, "bundles", given(labels={"team": "x"}), "no label mullion_cluster, mullion_urn"),
    ("tags-present", ZONE, "zone", inside("labels.mullion_urn", "0" * 40), "names another resource"),
)
CASES = tuple(Case(rule, kind, f"gcp-prod-{name}", change, says, "gcp-prod") for rule, kind, name, change, says in ROWS)
