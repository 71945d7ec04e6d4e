"""Kinds of the API server's key files on Linux control planes."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import NAME, PATH

_WRITTEN = (Cut.BEFORE_SET, Cut.BEFORE_RENAME, Cut.AFTER_SET)
_LINUX = ("linux",)

KEYS: dict[str, Kind] = {
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
    "service-account-keys": Kind(
        "Two private files have the keys of service-account tokens: one that signs, and all that verify.",
        {
            "secret": Field(NAME, "Name of the secret."),
            "member": Field(NAME, "Its member with the keys: a list of {number, private, public}, newest first."),
            "private": Field(PATH, "Where the signing key is: the one that is there, or else the oldest."),
            "public": Field(PATH, "Where all public keys are, the signing one's first."),
        },
        compares="Both files with the keys as the store has them now, and their rights.",
        sets="Writes them as `secret` does, the public keys first.",
        cuts=_WRITTEN,
        systems=_LINUX,
        image=False,
    ),
}
