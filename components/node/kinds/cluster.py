"""Kinds of the cluster's CA bundle and bootstrap token."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import KEY_HASH, NAME, PATH, URL

_WRITTEN = (Cut.BEFORE_SET, Cut.BEFORE_RENAME, Cut.AFTER_SET)
_LINUX = ("linux",)

CLUSTER: dict[str, Kind] = {
    "certificate-authority": Kind(
        "The file holds the cluster's CA bundle.",
        {
            "url": Field(URL, "URL of the PEM bundle, downloaded with the machine's identity."),
            "hash": Field(KEY_HASH, "sha256:<hex> of the public key of every certificate in it."),
            "path": Field(PATH, "Path of the file."),
        },
        compares="That the file has certificates with this key, and nothing else.",
        sets="Downloads the bundle, checks the key of each certificate (202), writes the certificates as kind `file`"
        " does.",
        cuts=_WRITTEN,
        image=False,
    ),
    "bootstrap-token": Kind(
        "The secret contains a bootstrap token that exists in the cluster and is valid for at least half its lifetime.",
        {
            "secret": Field(NAME, "Name of the secret."),
            "kubeconfig": Field(PATH, "An administrator's kubeconfig."),
            "lifetime_hours": Field({"type": "integer", "minimum": 1}, "Lifetime of a new token, in hours."),
            "requires": Field(PATH, "Skip the step while this file does not exist.", required=False),
        },
        compares="The token in the secret with the cluster's, by kubectl.",
        sets="kubeadm token create, then writes the secret with the machine's identity.",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=_LINUX,
        image=False,
    ),
}
