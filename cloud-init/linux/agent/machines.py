"""Machines of members: which machine has a member's name now, and which client certificates it was issued.

The cloud decides which machine has a name. ConfigMap kube-system/mullion-machines, which no node can write, has the
rest, as JSON by member's name: the fields of Issued. A machine of a cluster that is older than this record is entered
when it first renews its certificate.
"""

import base64
import dataclasses
import hashlib
import json
import time
from dataclasses import dataclass, field
from typing import Any

import compute
import x509
from authorization import CREDENTIAL, FINGERPRINT
from run import Run

from agent.api import Api, Refused
from agent.memory import Memory

MACHINES = "mullion-machines"
"""Name of the ConfigMap."""
DAY, HOUR = 86400.0, 3600.0
"""Seconds; kube-controller-manager signs for a day (cluster-signing-duration in components/node/kubeadm.py)."""
YEAR = 366 * DAY
"""Longest life of a certificate that is older than the record: kubeadm and kube-controller-manager sign for a year."""
HOURLY = 4
"""Client certificates that one machine gets in an hour; further requests wait. A kubelet needs one when it joins and
one after 17 to 22 hours (client-go, util/certificate), and a repeated join another. One that cannot store its
certificate asks again every 32 s, and is served after the hour; its certificate in use is valid for hours.
"""
HELD = 100
"""Valid client certificates of one machine, more than HOURLY gives in a day. This limit ends a flood of requests for
shorter certificates. Valid ones stay on record: a replaced machine could write with a forgotten one.
"""
OWN_CERTIFICATE = "/var/lib/kubelet/pki/kubelet-client-current.pem"
"""The kubelet's client certificate of this machine (kubelet, certificate_store.go)."""


@dataclass(frozen=True)
class Issued:
    """What a member's machine was issued. Times are seconds since 1970."""

    instance: str = ""
    """Id of the machine; empty if none was admitted yet."""
    certificates: dict[str, float] | None = None
    """End by sha256 (hex) of its client certificates; None if the machine joined before this record began."""
    asked: list[str] = field(default_factory=list)
    """Names of approved requests whose certificate the agent has not seen yet."""
    before: dict[str, float] = field(default_factory=dict)
    """End by sha256 (hex) of certificates of earlier machines of the name, until they end."""
    revoked: bool = False
    """Whether `mullion revoke` ended the machine's rights."""
    founding: int = -1
    """Number of the founding record when a machine of this name last joined by its token; -1 if none did since Mullion
    records it. While it is the present number, every valid certificate of the name is on record: a restore, which has a
    later one, may bring back a record from before some."""


def successor(before: Issued, instance: str) -> Issued:
    """Return the entry of a machine that takes over a name; the certificates of the one before stay on record."""
    ends = valid({**before.before, **(before.certificates or {})})
    return Issued(instance, {}, [], ends, founding=before.founding)


def entry(text: str) -> Issued:
    """Return an entry of the record; fields of later versions are left out."""
    known = {each.name for each in dataclasses.fields(Issued)}
    return Issued(**{name: value for name, value in json.loads(text).items() if name in known})


def valid(ends: dict[str, float]) -> dict[str, float]:
    """Return the certificates that have not ended."""
    return {mark: end for mark, end in ends.items() if end > time.time()}


def credentials(spec: dict[str, Any]) -> set[str]:
    """Return the sha256 (hex) of a requester's client certificate; empty before Kubernetes 1.32.

    spec: of its CertificateSigningRequest.
    """
    return {each.removeprefix(FINGERPRINT).lower() for each in (spec.get("extra") or {}).get(CREDENTIAL) or []}


def crowded(issued: Issued) -> bool:
    """Return whether the machine has got so many certificates that its next request has to wait."""
    ends, begin = valid(issued.certificates or {}).values(), time.time() - HOUR
    fresh = [end for end in ends if begin < end - DAY < begin + 2 * HOUR]  # not the founder's, valid for a year
    return len(fresh) + len(issued.asked) >= HOURLY or len(ends) + len(issued.asked) >= HELD


class Machines:
    """The machines in one round; queries the cloud once."""

    def __init__(self, run: Run, api: Api, members: dict[str, Any]) -> None:
        self.run, self.api, self.members = run, api, members
        self.founding = 0
        """Number of the founding record; -1 if it is not known."""
        self.has_approved = False
        """Whether a request was approved in this round, so that a certificate is about to be used."""
        self._present: dict[str, str] | None = None
        self._names = dict[str, frozenset[str]]()
        self._memory: Memory | None = None

    def present(self, name: str) -> str:
        """Return the id of the machine that has the member's name and address in the cloud; empty if none has."""
        if self._present is None:
            addresses = {each["name"]: each["address"] for each in self.members.values()}
            self._present = compute.machines(self.run, addresses)
        return self._present.get(name, "")

    def names(self, instance: str) -> frozenset[str]:
        """Return the further names and addresses that the cloud gives to a machine."""
        if instance not in self._names:  # a flood of requests of one machine asks the cloud once
            self._names[instance] = compute.names(self.run, instance)
        return self._names[instance]

    @property
    def memory(self) -> Memory:
        """Return the record as read in this round."""
        if self._memory is None:
            self._memory = Memory(self.api, MACHINES)
        return self._memory

    def issued(self, name: str) -> Issued:
        """Return what the member's machine was issued."""
        text = self.memory.values.get(name)
        return entry(text) if text else Issued()

    def own(self, name: str) -> dict[str, float]:
        """Return sha256 (hex) and end of the kubelet's certificate of this machine; empty for another machine's name.

        kubeadm signs the first one of a machine that founds or restores a cluster, so no request shows it.
        """
        file = self.run.path(OWN_CERTIFICATE)
        if self.run.told["machine"]["name"] != name or not file.exists():
            return {}
        return dict([fingerprint(file.read_text("ascii"))])

    def enter(self, name: str, issued: Issued) -> None:
        """Record what the member's machine was issued. Raise RuntimeError if another client wrote meanwhile."""
        document = dataclasses.asdict(issued)
        if issued.founding < 0:
            del document["founding"]  # agents of earlier versions do not know it
        if not self.memory.write(**{name: json.dumps(document, sort_keys=True)}):
            self._memory = None
            raise RuntimeError(f"{MACHINES} was changed by another client: the next round tries again")

    def approved(self, name: str, request: str, renewed: set[str] | None) -> None:
        """Record that a request of the present machine is about to be approved.

        renewed: sha256 (hex) of the certificate with which it asks, empty if unknown; None if it joins by its bootstrap
        token. The first one renewed goes on record too: a kubelet that ends before it stores the new one keeps it.
        """
        issued, present = self.issued(name), self.present(name)
        if issued.instance not in ("", present):
            issued = successor(issued, present)
        certificates = issued.certificates
        if certificates is None and renewed is None:
            certificates = {}
        elif certificates is None and renewed:
            certificates = dict.fromkeys(renewed, time.time() + YEAR)
        asked, founding = sorted({*issued.asked, request}), self.founding if renewed is None else issued.founding
        self.has_approved = True
        self.enter(
            name,
            dataclasses.replace(issued, instance=present, certificates=certificates, asked=asked, founding=founding),
        )

    def collect(self, requests: list[dict[str, Any]]) -> list[str]:
        """Record the certificates that were issued for approved requests; forget those that have ended, and requests
        that failed or no longer exist. Return errors; one member's stops no other's.
        """
        status = {each["metadata"]["name"]: each.get("status") or {} for each in requests}
        wrong: list[str] = []
        for name in list(self.memory.values):
            try:
                before = self.issued(name)
                after = collected(before, status)
                if after != before:
                    self.enter(name, after)
            except (Refused, RuntimeError, ValueError, TypeError) as error:
                wrong.append(f"{MACHINES}: {name}: {error}")
        return wrong


def collected(issued: Issued, status: dict[str, dict[str, Any]]) -> Issued:
    """Return the entry with new certificates and without ended ones. status: of requests, by name."""
    given = [text for text in (status.get(each, {}).get("certificate") for each in issued.asked) if text]
    held = issued.certificates
    if given or held is not None:
        held = valid({**(held or {}), **dict(map(certificate, given))})
    pending = [each for each in issued.asked if each in status and not ended(status[each])]
    # a request that was deleted before the agent saw its certificate
    founding = -1 if any(each not in status for each in issued.asked) else issued.founding
    return dataclasses.replace(issued, certificates=held, asked=pending, before=valid(issued.before), founding=founding)


def ended(status: dict[str, Any]) -> bool:
    """Return whether a request's certificate is issued, or never will be."""
    return bool(status.get("certificate")) or any(each["type"] != "Approved" for each in status.get("conditions") or ())


def certificate(encoded: str) -> tuple[str, float]:
    """Return the sha256 (hex) and the end of the first certificate of base64-encoded PEM."""
    return fingerprint(base64.b64decode(encoded).decode())


def fingerprint(pem: str) -> tuple[str, float]:
    """Return the sha256 (hex) and the end of the first certificate of PEM."""
    der = x509.first(pem)
    return hashlib.sha256(der).hexdigest(), x509.end(der)
