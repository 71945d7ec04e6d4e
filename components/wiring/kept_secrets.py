"""Values generated once and kept in the state: keys, certificate authorities, a name suffix.

Each is a `pulumi.Stash`: generated on the first `up`, kept in the state (secrets encrypted), replaced only if its
generation in `rotation` changes. The program generates a value on every run, because it cannot know whether the state
has one; the engine ignores it unless it creates or replaces the Stash. docs/pki.md says how to rotate each value.
"""

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pulumi

from components.machine import pki
from components.rollout.kubernetes_api import Access
from components.spec.models import Rotation

AUTHORITIES = {"cluster-ca": "kubernetes", "front-proxy-ca": "front-proxy-ca", "etcd-ca": "etcd-ca"}
"""kubeadm's common name of each authority, by name of its Stash."""

FILES = {"cluster-ca": "ca", "front-proxy-ca": "front-proxy-ca", "etcd-ca": "etcd/ca"}
"""Path below kubeadm's certificate directory without .crt and .key, by name of the Stash."""

SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz"
"""No vowels, so no words; no digits, so no name that YAML reads as a number."""


def stash(
    name: str,
    value: pulumi.Input[Any],
    *,
    parent: pulumi.Resource,
    secret: bool = False,
    trigger: pulumi.Input[Any] | None = None,
) -> pulumi.Output[Any]:
    """Keep the first value since `trigger` last changed, and return it.

    For generated values (secret) and for looked-up values that must not change (image ids, zone names).
    """
    options = pulumi.ResourceOptions(
        parent=parent,
        ignore_changes=["input"],
        additional_secret_outputs=["input", "output"] if secret else None,
        replacement_trigger=trigger,
    )
    return pulumi.Stash(name, input=pulumi.Output.secret(value) if secret else value, opts=options).output


def _refuse_rotation(authorities: Mapping[str, Any], wanted: int) -> Mapping[str, Any]:
    """Return the authorities. Raises RunError unless all are of the generation in the stack file."""
    generations = {int(authority["generation"]) for authority in authorities.values()}
    if generations != {wanted}:
        raise pulumi.RunError(
            f"rotation.certificate_authorities is {wanted}, but this cluster's certificate authorities were made in "
            f"generation {', '.join(map(str, sorted(generations)))}. Replacing them at once would cut off every "
            "machine, so nothing was changed. Set the option back; docs/pki.md has the two-bundle procedure."
        )
    return authorities


class Generated(pulumi.ComponentResource):
    """The generated secrets of one cluster.

    Raises RunError, in preview and `up`, if `rotation.certificate_authorities` differs from the generation of the
    stored authorities.
    """

    ca_certificate: pulumi.Output[str]
    """The cluster CA's certificate, PEM. Not secret."""
    ca_hash: pulumi.Output[str]
    """sha256:<hex> of the cluster CA's public key. Not secret."""
    control_plane_secret: pulumi.Output[str]
    """JSON: kubeadm's files by their path under its certificate directory, `service-account-keys`: {number, private,
    public}, and `encryption-keys`: base64, both newest first. Secret; for the control plane's identity alone."""
    desired_state_key: pulumi.Output[str]
    """Base64 key of the HMAC over the desired-state pointer. Secret."""
    administrator: pulumi.Output[pki.KeyPair]
    """The administrator's client certificate and key. Secret."""
    suffix: pulumi.Output[str]
    """Six lower-case letters for names that a cloud keeps after deletion. Not secret."""
    begins: pulumi.Output[bool]
    """Whether this run creates the cluster: the state had no suffix before."""

    def __init__(
        self,
        name: str,
        *,
        cluster: str,
        rotation: Rotation,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("mullion:index:Generated", name, None, opts)
        self._cluster = cluster
        self._authorities = self._stash_authorities(rotation.certificate_authorities)
        authority = self._authorities["cluster-ca"]
        self.ca_certificate = pulumi.Output.unsecret(authority.apply(lambda ca: ca["certificate"]))
        self.ca_hash = self.ca_certificate.apply(pki.ca_hash)

        signers = [  # newest first; the previous key stays, so tokens that it signed stay valid until the next rotation
            self._made(f"service-account-{index}", _begun(pki.signing_key)).apply(partial(_numbered, index + 1))
            for index in range(rotation.service_account, max(rotation.service_account - 2, -1), -1)
        ]
        encryption = [  # newest first; keys in use are never replaced, so these have no trigger
            self._made(f"encryption-{index}", pki.encryption_key) for index in reversed(range(rotation.encryption + 1))
        ]
        self.desired_state_key = self._made("desired-state", pki.hmac_key, rotation.desired_state)
        self.administrator = stash(
            f"{name}-administrator",
            authority.apply(lambda ca: pki.administrator_certificate(ca, cluster)),
            parent=self,
            secret=True,
            trigger=[self.ca_certificate, rotation.administrator],
        )
        fresh = _suffix()
        self.suffix = self._made("suffix", lambda: fresh, secret=False)
        self.begins = self.suffix.apply(lambda kept: kept == fresh)
        self.control_plane_secret = pulumi.Output.all(self._authorities, signers, encryption).apply(_document)
        self.register_outputs({"ca_certificate": self.ca_certificate, "ca_hash": self.ca_hash, "suffix": self.suffix})

    @property
    def stored(self) -> Mapping[str, pulumi.Output[str]]:
        """Values that the program writes to the cloud's secret store, by name of the secret."""
        return {"pki": self.control_plane_secret, "desired-state": self.desired_state_key}

    def kubeconfig(self, api_url: pulumi.Input[str], server_name: str) -> pulumi.Output[str]:
        """Return the administrator's kubeconfig (YAML, secret) for this URL of the API and the endpoint's own name."""
        return pulumi.Output.all(api_url, server_name, self.ca_certificate, self.administrator).apply(
            lambda values: pki.administrator_kubeconfig(self._cluster, *values)
        )

    def access(self, api_url: pulumi.Input[str], server_name: str) -> pulumi.Output[Access]:
        """Return the program's own access to the API: secret, with a certificate that is never stored."""
        return pulumi.Output.all(api_url, self.ca_certificate, self._authorities["cluster-ca"]).apply(
            lambda values: Access(
                values[0], server_name, values[1], pki.administrator_certificate(values[2], self._cluster, days=1)
            )
        )

    def _stash_authorities(self, generation: int) -> dict[str, pulumi.Output[Any]]:
        """Stash the authorities and check their generation; without a trigger nothing replaces them."""
        kept = {
            key: stash(
                f"{self.pulumi_resource_name}-{key}",
                {**pki.certificate_authority(common_name), "generation": generation},
                parent=self,
                secret=True,
            )
            for key, common_name in AUTHORITIES.items()
        }
        checked = pulumi.Output.all(**kept).apply(lambda stored: _refuse_rotation(stored, generation))
        return {key: checked.apply(lambda stored, key=key: stored[key]) for key in kept}

    def _made(
        self, key: str, make: Callable[[], Any], generation: int | None = None, *, secret: bool = True
    ) -> pulumi.Output[Any]:
        """Stash a value, generated only after the authorities passed their check, so a failed check changes nothing."""
        value = pulumi.Output.unsecret(self._authorities["cluster-ca"]).apply(lambda _: make())
        return stash(f"{self.pulumi_resource_name}-{key}", value, parent=self, secret=secret, trigger=generation)


def _begun(make: Callable[[], Any]) -> Callable[[], Any]:
    """Start to generate a value in a thread, because RSA takes a while; return a function that awaits it."""
    making = ThreadPoolExecutor(max_workers=1).submit(make)
    return lambda: asyncio.wrap_future(making)


def _suffix() -> str:
    return "".join(secrets.choice(SUFFIX_LETTERS) for _ in range(6))


def _numbered(number: int, key: pki.SigningKey) -> dict[str, Any]:
    """Return a key with its number: machines compare numbers to find the newer key, and a key that was removed."""
    return {"number": number, **key}


def _document(parts: Sequence[Any]) -> str:
    """Return the control plane's secret, from authorities, service-account keys and encryption keys."""
    authorities, signers, encryption = parts
    files: dict[str, Any] = {}
    for key, path in FILES.items():
        files |= {f"{path}.crt": authorities[key]["certificate"], f"{path}.key": authorities[key]["key"]}
    return json.dumps({**files, "service-account-keys": signers, "encryption-keys": encryption})
