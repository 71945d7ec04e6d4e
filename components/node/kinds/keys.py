"""Kinds of the API server's key files on Linux control planes."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import NAME, PATH

_WRITTEN = (Cut.BEFORE_SET, Cut.BEFORE_RENAME, Cut.AFTER_SET)
_LINUX = ("linux",)

KEYS: dict[str, Kind] = {
    "encryption-configuration": Kind(
        "The private file contains the API server's EncryptionConfiguration.",
        {
            "secret": Field(NAME, "Name of the secret."),
            "member": Field(NAME, "Member with the base64 keys: a list, newest first; the oldest is named key1."),
            "path": Field(PATH, "Path of the file."),
            "resources": Field(
                {"type": "array", "items": NAME, "minItems": 1},
                "Resources to encrypt: with providers secretbox, then identity.",
            ),
        },
        compares="The whole file with the current keys in the store, and the file's rights.",
        sets="Writes the file as kind `secret` does.",
        cuts=_WRITTEN,
        systems=_LINUX,
        image=False,
    ),
    "service-account-keys": Kind(
        "Two private files contain the keys of service-account tokens: the signing key, and all public keys.",
        {
            "secret": Field(NAME, "Name of the secret."),
            "member": Field(NAME, "Member with the keys: a list of {number, private, public}, newest first."),
            "private": Field(PATH, "File of the signing key: the key that is in it, or the oldest if it has none."),
            "public": Field(PATH, "File of all public keys, the signing key's first."),
        },
        compares="Both files with the current keys in the store, and the files' rights.",
        sets="Writes the files as kind `secret` does, the public keys first.",
        cuts=_WRITTEN,
        systems=_LINUX,
        image=False,
    ),
}
