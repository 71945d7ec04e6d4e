"""The administrator that Azure wants on every machine: nobody can be it.

The password is in the state alone, encrypted, and the account is disabled by the machine itself; of the key of Linux
machines, the private part is thrown away at once.
"""

import secrets

import pulumi
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pulumi import Output, ResourceOptions

from components.generated import stash

BITS = 2048
"""Azure takes RSA keys of 2048 bits or more (REST reference, SshPublicKey.keyData)."""


def password() -> str:
    """Letters of both cases, digits and a sign, 36 characters: Azure wants three kinds of 8 to 123."""
    return f"{secrets.token_urlsafe(24)}-Aa1"


def public_key() -> str:
    """The public part of a key that nobody has, as OpenSSH writes it."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=BITS)
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


class Access(pulumi.ComponentResource):
    """Password and public key of the administrator."""

    password: Output[str]
    """Secret."""
    public_key: Output[str]

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("mullion:azure:Access", name, {}, opts)
        self.password = stash(f"{name}-password", password(), parent=self, secret=True)
        self.public_key = stash(f"{name}-ssh-key", public_key(), parent=self)
        self.register_outputs({"public_key": self.public_key})
