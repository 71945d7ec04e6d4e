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
from components.machine.issuer import Issuer
from components.rollout.authority_gate import AuthorityGate
from components.rollout.kubernetes_api import Access
from components.spec.authorities import KUBERNETES, Authorities, of_generation
from components.spec.models import Rotation

AUTHORITIES = {"cluster-ca": KUBERNETES, "front-proxy-ca": "front-proxy-ca", "etcd-ca": "etcd-ca"}
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


class Generated(pulumi.ComponentResource):
    """The generated secrets of one cluster.

    All but the suffix wait for the gate of authorities: a refused number changes none of them.
    """

    ca_certificate: pulumi.Output[str]
    """Certificates of the trusted cluster authorities, PEM, the signing one first. Not secret."""
    ca_pinned: Sequence[pulumi.Output[str]]
    """The certificates of cluster authorities that workers pin, PEM, by generation; new workers pin the last. Not
    secret."""
    ca_hash: pulumi.Output[str]
    """sha256:<hex> of the public key of the last one. Not secret."""
    cluster_hash: pulumi.Output[str]
    """The same of the authority that the cluster began with: the cluster's name in the founding log. Not secret."""
    control_plane_secret: pulumi.Output[str]
    """JSON: kubeadm's files by their path under its certificate directory, `service-account-keys`: {number, private,
    public}, and `encryption-keys`: base64, both newest first. Secret; for the control plane's identity alone."""
    desired_state_key: pulumi.Output[str]
    """Base64 key of the HMAC over the desired-state pointer. Secret."""
    verifying_keys: pulumi.Output[list[str]]
    """Public keys of service-account tokens, PEM, newest first: those of the keys in `control_plane_secret`. Not
    secret."""
    published_keys: pulumi.Output[list[str]]
    """These keys, and with `ahead` the public key of the next rotation. Not secret."""
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
        gate: AuthorityGate,
        ahead: bool = False,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """ahead: make the next key of service-account tokens now, to publish it long before an API server signs."""
        super().__init__("mullion:index:Generated", name, None, opts)
        self._cluster, self.gate = cluster, gate
        now = Authorities(rotation.certificate_authorities)
        self._generations: list[dict[str, pulumi.Output[Any]]] = []
        for generation in range(now.newest + 1):
            self._generations.append(self._stash_authorities(generation))
        fresh = random_letters()
        self.suffix = self._made("suffix", lambda: fresh, secret=False)
        self.begins = self.suffix.apply(lambda kept: kept == fresh)
        permitted = self._permitted()
        self._generations = [{key: _after(permitted, value) for key, value in of.items()} for of in self._generations]
        clusters = [of["cluster-ca"] for of in self._generations]
        self._authority = authority = clusters[now.signer]
        self.ca_certificate = _certificates([clusters[each] for each in now.trusted])
        self.ca_pinned = [_certificates([each]) for each in clusters[: now.settled + 1]]
        self.ca_hash, self.cluster_hash = (self.ca_pinned[at].apply(pki.ca_hash) for at in (-1, 0))

        signers = [  # newest first; the previous key stays, so tokens that it signed stay valid until the next rotation
            self._signer(index) for index in range(rotation.service_account, max(rotation.service_account - 2, -1), -1)
        ]
        self.verifying_keys = self.published_keys = _public(signers)
        if ahead:
            self.published_keys = _public([*signers, self._signer(rotation.service_account + 1)])
        encryption = [  # newest first; keys in use are never replaced, so these have no trigger
            self._made(f"encryption-{index}", pki.encryption_key) for index in reversed(range(rotation.encryption + 1))
        ]
        self.desired_state_key = self._made("desired-state", pki.hmac_key, rotation.desired_state)
        self.administrator = stash(
            f"{name}-administrator",
            authority.apply(lambda ca: pki.administrator_certificate(ca, cluster)),
            parent=self,
            secret=True,
            trigger=[_certificates([authority]), rotation.administrator],
        )
        self.control_plane_secret = pulumi.Output.all(self._generations, signers, encryption).apply(
            partial(_document, now)
        )
        self.register_outputs({"ca_certificate": self.ca_certificate, "ca_hash": self.ca_hash, "suffix": self.suffix})

    @property
    def stored(self) -> Mapping[str, pulumi.Output[str]]:
        """Values that the program writes to the cloud's secret store, by name of the secret."""
        return {"pki": self.control_plane_secret, "desired-state": self.desired_state_key}

    def abandon(self) -> None:
        """Make no secret that waits for the gate: the program has failed before it could call the cloud."""
        self.gate.abandon()

    def kubeconfig(self, api_url: pulumi.Input[str], server_name: str) -> pulumi.Output[str]:
        """Return the administrator's kubeconfig (YAML, secret) for this URL of the API and the endpoint's own name."""
        return pulumi.Output.all(api_url, server_name, self.ca_certificate, self.administrator).apply(
            lambda values: pki.administrator_kubeconfig(self._cluster, *values)
        )

    def access(self, api_url: pulumi.Input[str], server_name: str) -> pulumi.Output[Access]:
        """Return the program's own access to the API: secret, with a certificate that is never stored."""
        return pulumi.Output.all(api_url, self.ca_certificate, self._authority).apply(
            lambda values: Access(
                values[0], server_name, values[1], pki.administrator_certificate(values[2], self._cluster, days=1)
            )
        )

    def _permitted(self) -> pulumi.Output[Any]:
        """Return an output that resolves once the gate permits the number of the stack file; the state keeps it."""
        certificates = [_certificates([of["cluster-ca"]]) for of in self._generations]
        options = pulumi.ResourceOptions(parent=self, hooks=self.gate.hooks)
        number = self.gate.number(self.begins, certificates)
        return pulumi.Stash(f"{self.pulumi_resource_name}-authorities", input=number, opts=options).output

    def _stash_authorities(self, generation: int) -> dict[str, pulumi.Output[Any]]:
        """Stash the authorities of a generation; without a trigger nothing replaces them.

        Former ones stay in the state, because workers that start late pin them.
        """
        return {key: self._stash_authority(key, first, generation) for key, first in AUTHORITIES.items()}

    def _stash_authority(self, key: str, first: str, generation: int) -> pulumi.Output[Any]:
        name = of_generation(f"{self.pulumi_resource_name}-{key}", generation)
        if not generation:
            made = {**pki.certificate_authority(first), "generation": generation}
            return stash(name, made, parent=self, secret=True)
        successor = pki.certificate_authority(of_generation(first, generation))

        def crossed(old: pki.KeyPair) -> dict[str, Any]:
            return {**successor, "cross": pki.cross_signed(successor, old), "generation": generation}

        value = self._generations[generation - 1][key].apply(crossed)
        return stash(name, value, parent=self, secret=True)

    def _signer(self, index: int) -> pulumi.Output[dict[str, Any]]:
        """Return the key of service-account tokens of a rotation."""
        return self._made(f"service-account-{index}", _begun(pki.signing_key)).apply(partial(_numbered, index + 1))

    def _made(
        self, key: str, make: Callable[[], Any], generation: int | None = None, *, secret: bool = True
    ) -> pulumi.Output[Any]:
        """Stash a value."""
        value = pulumi.Output.unsecret(self._generations[0]["cluster-ca"]).apply(lambda _: make())
        return stash(f"{self.pulumi_resource_name}-{key}", value, parent=self, secret=secret, trigger=generation)


def with_issuer(document: pulumi.Output[str], issuer: pulumi.Output[Issuer]) -> pulumi.Output[str]:
    """Return the control plane's secret with the issuer of its tokens.

    issuer: resolves once the documents are published that have the public keys of this run. So no control plane can
    sign with a key that nobody can verify: it reads the key and the issuer's URL here.
    """
    return pulumi.Output.all(document, issuer).apply(
        lambda known: json.dumps({**json.loads(known[0]), "issuer": known[1]})
    )


def _begun(make: Callable[[], Any]) -> Callable[[], Any]:
    """Start to generate a value in a thread, because RSA takes a while; return a function that awaits it."""
    making = ThreadPoolExecutor(max_workers=1).submit(make)
    return lambda: asyncio.wrap_future(making)


def random_letters() -> str:
    """Return six letters for names that no one else has, and that differ after a removal."""
    return "".join(secrets.choice(SUFFIX_LETTERS) for _ in range(6))


def _numbered(number: int, key: pki.SigningKey) -> dict[str, Any]:
    """Return a key with its number: machines compare numbers to find the newer key, and a key that was removed."""
    return {"number": number, **key}


def _public(signers: Sequence[pulumi.Output[dict[str, Any]]]) -> pulumi.Output[list[str]]:
    """Return the public keys of these keys."""
    return pulumi.Output.unsecret(pulumi.Output.all(*signers).apply(lambda known: [each["public"] for each in known]))


def _after(first: pulumi.Output[Any], value: pulumi.Output[Any]) -> pulumi.Output[Any]:
    """Return a value once another one is known."""
    return pulumi.Output.all(first, value).apply(lambda both: both[1])


def _certificates(authorities: Sequence[pulumi.Output[Any]]) -> pulumi.Output[str]:
    """Return the certificates of authorities as one PEM text."""
    found = pulumi.Output.all(*authorities).apply(lambda known: "".join(each["certificate"] for each in known))
    return pulumi.Output.unsecret(found)


def _document(now: Authorities, parts: Sequence[Any]) -> str:
    """Return the control plane's secret, from authorities by generation, service-account keys and encryption keys.

    It has the files of the stages beside this one too: machines change one after the other, and run the plan of the
    stage before until their turn.
    """
    generations, signers, encryption = parts
    files: dict[str, str] = {}
    for number in range(max(now.number - 1, 0), now.number + 2):
        if Authorities(number).newest <= now.newest:
            files |= _files(Authorities(number), generations)
    return json.dumps({**files, "service-account-keys": signers, "encryption-keys": encryption})


def _files(stage: Authorities, generations: Sequence[Any]) -> dict[str, str]:
    """Return kubeadm's files of a stage by member of the secret."""
    files: dict[str, str] = {}
    for key, path in FILES.items():
        signer = generations[stage.signer][key]
        trusted = "".join(generations[each][key]["certificate"] for each in stage.trusted)
        files |= {stage.member(f"{path}.crt"): trusted, stage.member(f"{path}.key"): signer["key"]}
    signer = generations[stage.signer]["cluster-ca"]
    if stage.number:
        files[stage.member("signer.crt")] = signer["certificate"]
    if stage.signer:
        files[stage.member("cross.crt")] = signer["cross"]
    return files
