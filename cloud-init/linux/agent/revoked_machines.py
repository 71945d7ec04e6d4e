"""Keeps the list of revoked machines outside etcd, because a restored etcd is one from before their revocation.

Object revoked.json of the snapshot store, with a MAC (agent/documents.py):
{"revoked": {instance: {"name": member, "certificates": {sha256 (hex): end in seconds since 1970}}}, "mac"}
A machine stays on the list until it has a successor and its certificates have ended. Workers cannot reach the store.
"""

import dataclasses
import time
from typing import Any
from urllib.error import HTTPError

from report import say
from run import Run

from agent import documents
from agent.machines import successor, valid
from agent.seen import Seen

OBJECT = "revoked.json"
LOOK_SECONDS = 300
"""Seconds between two reads of the list, which only agents write."""


class RevokedMachines:
    """The list as this agent knows it.

    entered: every machine of the list is entered as revoked in the record of machines. Until then no machine may be
    admitted and no request judged: the record may be a restored one.
    """

    def __init__(self, run: Run) -> None:
        self.run, self.entered = run, False
        self.listed = dict[str, dict[str, Any]]()
        self.content: bytes | None = None
        """The object as read or written last; empty if there is none, None before the first read."""
        self.next = 0.0

    def reconcile(self, seen: Seen) -> None:
        """Enter the listed machines into the record of machines, and list those that are revoked there.

        Raise OSError, RuntimeError or Failure if the store, the API or the cloud fails.
        """
        if seen.members is None:
            return
        if self.content is None or time.monotonic() >= self.next:
            self.read()
        for instance, each in self.listed.items():
            enter(seen, instance, each["name"], valid(each["certificates"]))
        self.entered = True
        self.listed = current(seen, self.listed)
        if self.document() != self.content:
            self.read()  # the agent of another control plane may have been active meanwhile
            self.listed = current(seen, self.listed)
            wanted = self.document()
            self.run.ask("store", self.place(), "PUT", wanted, content_type="application/json")
            self.content = wanted

    def read(self) -> None:
        """Add what the store lists. A list without the MAC of the current key is reported, and replaced."""
        try:
            content = self.run.ask("store", self.place(), most=documents.LARGEST)
        except HTTPError as error:
            if error.code != 404:
                raise
            content = b""
        self.next = time.monotonic() + LOOK_SECONDS
        if content and content != self.content:
            try:
                self.listed |= documents.opened(content, self.key(), documents.REVOKED)["revoked"]
            except documents.Untrusted as error:
                say(f"{self.place()} is ignored: {error}; a restore may have forgotten revoked machines", "failed")
        self.content = content

    def document(self) -> bytes:
        """Return the object's content; empty while no machine was ever revoked."""
        return documents.signed(self.key(), {"revoked": self.listed}) if self.listed or self.content else b""

    def place(self) -> str:
        """Return the object's URL."""
        return f"{self.run.value('facts.snapshot_store').rstrip('/')}/{OBJECT}"

    def key(self) -> str:
        """Return the key of the MAC."""
        return self.run.secret(self.run.value("facts.desired_state_secret"))


def current(seen: Seen, listed: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the list: machines that the record has as revoked, and earlier ones whose certificates are valid."""
    record = {name: seen.machines.issued(name) for name in seen.machines.memory.values}
    revoked = {
        each.instance: {"name": name, "certificates": each.certificates or {}}
        for name, each in record.items()
        if each.revoked
    }
    return {instance: each for instance, each in listed.items() if valid(each["certificates"])} | revoked


def enter(seen: Seen, instance: str, name: str, ends: dict[str, float]) -> None:
    """Enter a listed machine into the record of machines, if a restore has brought back one that lacks it."""
    issued, present = seen.machines.issued(name), seen.machines.present(name)
    if issued.instance == instance:
        certificates = {**(issued.certificates or {}), **ends} if ends else issued.certificates
        after = dataclasses.replace(issued, certificates=certificates, revoked=True)
    elif present == instance or not (present or issued.instance):
        # it joined after the snapshot
        after = dataclasses.replace(successor(issued, instance), certificates=ends, revoked=True)
    else:
        # it has a successor, or is gone: its certificates are refused, and not the user, which is the successor's too
        after = dataclasses.replace(issued, before={**issued.before, **ends})
    if after != issued:
        seen.machines.enter(name, after)
        say(f"machine {instance} of {name} was revoked before: the record of machines has it again")
