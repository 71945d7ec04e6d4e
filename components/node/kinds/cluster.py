"""Kinds that deal with the cluster's stores."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import KEY_HASH, NAME, PATH, URL

_LINUX = ("linux",)
_WRITTEN = (Cut.BEFORE_SET, Cut.BEFORE_RENAME, Cut.AFTER_SET)

CLUSTER: dict[str, Kind] = {
    "certificate-authority": Kind(
        "The file holds the cluster's CA bundle.",
        {
            "url": Field(URL, "The PEM bundle, fetched with the machine's identity."),
            "hash": Field(KEY_HASH, "sha256:<hex> of the public key of one of its certificates."),
            "path": Field(PATH, "Where."),
        },
        compares="That one certificate in the file has the key.",
        sets="Fetches the bundle, checks the hash (202), writes as `file` does.",
        cuts=_WRITTEN,
        image=False,
    ),
    "encryption-configuration": Kind(
        "The private file is an EncryptionConfiguration of the API server.",
        {
            "secret": Field(NAME, "Name of the secret."),
            "member": Field(NAME, "Its member with the base64 keys: a list, newest first, named key1 for the oldest."),
            "path": Field(PATH, "Where."),
            "resources": Field(
                {"type": "array", "items": NAME, "minItems": 1},
                "What is encrypted: secretbox with the keys, then identity.",
            ),
        },
        compares="The whole file with the keys as the store has them now, and its rights.",
        sets="Writes it as `secret` does.",
        cuts=_WRITTEN,
        systems=_LINUX,
        image=False,
    ),
    "bootstrap-token": Kind(
        "The secret holds a bootstrap token that the cluster knows, good for at least half its lifetime.",
        {
            "secret": Field(NAME, "Name of the secret."),
            "kubeconfig": Field(PATH, "An administrator's kubeconfig."),
            "lifetime_hours": Field({"type": "integer", "minimum": 1}, "Lifetime of a new one."),
            "requires": Field(PATH, "Not due while this file does not exist.", required=False),
        },
        compares="The stored token with the cluster's, by kubectl.",
        sets="kubeadm token create, then stores it with the machine's identity.",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        image=False,
    ),
    "claim": Kind(
        "This machine knows whether it founds the cluster: one of the files founder and member exists.",
        {
            "store": Field(URL, "The store of the marker."),
            "marker": Field(NAME, "The object; it holds the founder's instance id."),
            "founder": Field(PATH, "File that says: this machine wrote the marker."),
            "member": Field(PATH, "File that says: another did."),
        },
        compares="The files.",
        sets="Writes the marker if there is none (If-None-Match: *), then the file. Store errors wait (206).",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        image=False,
    ),
}
