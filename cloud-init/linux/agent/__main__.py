"""`python3 -B -m agent` runs rounds until another bundle is current; `--once` runs one round.

Every agent follows the desired-state pointer for its own machine, has its API server refuse revoked machines, keeps its
etcd below the quota and copies its audit log. The agent with the Lease (the active one) also handles tokens, requests
for certificates, members and snapshots. If a concern fails, the status record has the error and the other concerns go
on. When another bundle becomes current the agent exits, and systemd starts it with the new code.
"""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import loader
import node
from failure import Failure
from kinds import founding
from phases import read_plan
from report import say
from run import Run

from agent import (
    announcements,
    audit,
    configuration,
    copies,
    dns,
    documents,
    drills,
    epochs,
    etcd,
    keys,
    members,
    reboots,
    revocations,
    signing,
    snapshots,
    space,
    tokens,
    trust,
)
from agent.api import Api, fault, from_kubeconfig
from agent.following import Following
from agent.leases import Lease
from agent.measures import Measures
from agent.memory import Memory
from agent.revoked_machines import RevokedMachines
from agent.seen import Seen, Silence
from agent.status import Status
from agent.upgrade import settle

PAUSE = 5.0
"""Seconds between rounds, which is the longest wait of a kubelet for its certificate."""
SECONDS = 300
"""Timeout of one concern in one round; a snapshot of a large etcd takes minutes."""
LONG = ("snapshot-request", "drill", "audit-pieces", "secrets", "snapshots", "copies")
"""Concerns of the active agent that may take minutes, some with files in etcd's folder."""
RETRY = 30.0
"""Maximum seconds until a failed concern is tried again."""


class Agent:
    """State kept between rounds."""

    def __init__(self, root: Path) -> None:
        self.root, self.status = root, Status()
        self.folder, told = node.place(root)
        self.run = Run(root, told, read_plan(self.folder))
        self.me: str = told["machine"]["name"]
        self.lease = Lease(self.me)
        self.said: dict[str, Any] = {"active": False, "errors": {}}
        self.read: dict[str, dict[str, Any]] = {}
        self.silent: dict[str, Silence] = {}
        self.next: dict[str, float] = {}
        self.following = Following(self.run, self.me)
        self.space, self.copies, self.measures = space.Space(), copies.Copies(), Measures()
        self.revoked = RevokedMachines(self.run)
        self.founding: int | None = None
        """Number of the founding record; a restore, after which every agent is new, adds a record."""

    def outdated(self) -> bool:
        """Return whether another bundle than this code's is current."""
        return (self.root / str(loader.HOME).lstrip("/") / "current").resolve() != self.folder

    def round(self) -> None:
        """Run each concern that is due once."""
        self.config = configuration.read(self.root)
        if not self.following.is_changing():
            self.paced("leftovers", float("inf"), lambda: drills.clear_leftovers(self.run, self.config))
        api = self.tried("api", lambda: from_kubeconfig(self.run.path(self.config["kubeconfig"])))
        held = self.tried("lease", lambda: self.hold(api)) if api else None
        self.said["active"] = bool(held)
        if not held:
            self.measures.forget_leading(self.said)
        self.measure()  # what follows may take minutes: meanwhile no alert may say that no agent has the Lease
        answers = api if held is not None else None
        if answers and not held:  # the active agent first writes the list
            self.paced("refusals", 0, lambda: self.following.refusals.reconcile(self.config, answers))
        if answers:
            self.tried("founding", lambda: settle(self.run, self.config, answers))
        self.paced("key", 900, lambda: self.run.stored.pop(self.run.value("facts.desired_state_secret"), None))
        for name in DOCUMENTS:
            self.paced(name, 20, lambda name=name: self.fetch(name, answers))
        listed = {each["name"]: each for each in self.read.get("members", {}).get("members", [])}
        controllers = {name: each["address"] for name, each in listed.items() if each["pool"] == etcd.CONTROL_PLANE}
        self.following.config, self.following.controllers = self.config, controllers
        if held and answers:
            current = "members" not in self.said["errors"]
            leave = partial(etcd.leave, self.run, self.config)
            self.look_after(Seen(self.run, answers, listed or None, current, self.silent, leave))
        space = partial(self.space.reconcile, self.run, self.config, copying=self.following.is_changing())
        self.paced("space", 60, lambda: self.said.update(etcd=space()))
        self.paced("keys", 300, self.following.look_at_keys)
        self.paced("reboot", 300, lambda: self.keep("reboot", reboots))
        self.paced("audit", 60, lambda: self.keep("audit", audit))
        pointer = None if "pointer" in self.said["errors"] else self.read.get("pointer")
        self.said["waits_for"] = self.tried("following", lambda: self.following.step(answers, pointer)) or ""
        serials = {name: document["serial"] for name, document in self.read.items()}
        self.said |= {"serials": serials, "members": len(listed)}
        self.paced("certificates", 300, lambda: self.measures.read_certificates(self.run, self.config))
        self.measure()
        self.run.try_for(SECONDS)
        self.status.write(self.run, self.following.current(), self.said)

    def hold(self, api: Api) -> bool:
        """Take or renew the Lease, unless this machine's API server is not ready and other machines can have it.

        Calls reach another machine's API server then, so the Lease would stay while snapshots fail here.
        """
        own = self.following.controllers.get(self.me)
        if own and len(self.following.controllers) > 1 and (why := fault(api.at(own))):
            raise RuntimeError(f"another machine's agent has to take the Lease, because {self.me} is not ready: {why}")
        return self.lease.hold(api)

    def look_after(self, seen: Seen) -> None:
        """Run the active agent's concerns, each at its interval, and after a failure within RETRY seconds."""
        rows: tuple[tuple[str, float, Callable[[], Any]], ...] = (
            ("bindings", 60, lambda: signing.close(seen.api)),
            ("etcd", 10, lambda: etcd.reconcile(seen)),
            ("requests", 0, lambda: signing.reconcile(seen)),
            ("joins", 10, lambda: announcements.reconcile(seen)),
            ("revocations", 0, lambda: revocations.reconcile(seen)),
            ("refusals", 0, lambda: self.following.refusals.reconcile(self.config, seen.api)),
            ("nodes", 15, lambda: members.reconcile(seen)),
            ("dns", 60, lambda: dns.reconcile(seen)),
            ("authorities", 30, lambda: self.follows() and trust.reconcile(self.run, seen.api)),
            ("tokens", 300, lambda: tokens.reconcile(self.run, self.config)),
            ("epoch", 300, lambda: epochs.reconcile(self.run, self.config)),
            ("snapshot-request", 10, lambda: snapshots.answer(self.run, self.config, seen.api, time.time())),
            ("drill", 10, lambda: drills.answer(self.run, self.config, seen.api, time.time())),
            ("audit-pieces", 3600, lambda: audit.prune(self.run, self.config, time.time())),
            ("secrets", 30, lambda: keys.rewrite(seen.api, self.config, self.following.controllers)),
            ("snapshots", 300, lambda: self.keep("snapshots", snapshots)),
            ("copies", 300, lambda: self.copies.reconcile(self.run, self.config, seen.api, time.time(), self.said)),
        )
        self.paced("revoked", 10, lambda: self.revoked.reconcile(seen))
        if self.founding is None:
            self.paced("founding-number", 60, self.find_founding)
        seen.machines.founding = -1 if self.founding is None else self.founding
        if not self.revoked.entered:
            seen.members = None  # then no concern admits a machine, judges a request or deletes a Node
        self.measures.leading |= {"revoked", "founding-number", *(name for name, *_ in rows)}
        for name, every, function in rows:
            # a new certificate is accepted once the next round has listed it, so a long concern waits for that round
            if name not in LONG or not (seen.machines.has_approved or self.following.is_changing()):
                self.paced(name, every, function)

    def find_founding(self) -> None:
        """Read the number of the last founding record, if it is a founding that a control plane has signed.

        Raise Failure if the store does not answer, or the record is forged.
        """
        record = founding.last(self.run, self.config["founding"])
        if record and record["state"] == "founded" and founding.is_signed(self.run, record):
            self.founding = record["epoch"]

    def measure(self) -> None:
        """Write the metrics."""
        self.tried("metrics", lambda: self.measures.write(self.run, self.config, self.said, self.space))

    def keep(self, name: str, concern: Any) -> None:
        """Run a concern's module, and put what it returns into the status record."""
        self.said[name] = concern.reconcile(self.run, self.config, time.time())

    def follows(self) -> bool:
        """Return whether this machine has the pointer's bundle: one before its turn has the authorities before."""
        return self.read.get("pointer", {}).get("sha256") == self.following.current()

    def paced(self, name: str, every: float, function: Callable[[], Any]) -> None:
        """Run a concern if it is due."""
        if time.monotonic() >= self.next.get(name, 0.0):
            self.tried(name, function)
            failed = name in self.said["errors"]
            self.next[name] = time.monotonic() + (min(every, RETRY) if failed else every)

    def tried(self, name: str, function: Callable[[], Any]) -> Any:
        """Return the function's result. If it fails, return None and record the error."""
        self.run.try_for(SECONDS)
        errors = self.said["errors"]
        self.measures.concerns.add(name)
        try:
            value = function()
        except Exception as error:
            text = self.run.redact(f"{type(error).__name__}: {error}")[:500]
            if errors.get(name) != text:
                say(f"{name}: {text}", "failed")
            errors[name] = text
            return None
        if errors.pop(name, None):
            say(f"{name}: recovered")
        return value

    def fetch(self, name: str, api: Api | None) -> None:
        """Read a signed document. The cluster stores its serial, so that no agent accepts an older document."""
        fields, file = DOCUMENTS[name]
        url = f"{self.run.value('facts.bundle_store').rstrip('/')}/{file}"
        content = self.run.ask("store", url, most=documents.LARGEST)
        secret = self.run.value("facts.desired_state_secret")
        memory = Memory(api) if api else None
        last = max(memory.serial(name) if memory else 0, self.read.get(name, {}).get("serial", 0))
        try:
            self.read[name] = documents.verified(content, self.run.secret(secret), last, fields)
        except documents.Untrusted:
            self.run.stored.pop(secret, None)  # the key may have been renewed: the next attempt reads it again
            raise
        if memory and self.read[name]["serial"] > memory.serial(name):
            memory.write(**{name: str(self.read[name]["serial"])})


DOCUMENTS = {
    "pointer": (documents.POINTER, "desired-state.json"),
    "members": (documents.MEMBERS, "members.json"),
}
"""Fields, and object of the bundle store, by document."""


def main(words: list[str], root: Path = Path("/")) -> int:
    """Run rounds until another bundle is current; return the exit code."""
    try:
        node.require_root()
        agent = Agent(root)
    except Failure as failure:
        say(f"E{failure.code} {failure.name}: {failure}", "failed")
        return 1
    while True:
        try:
            agent.round()
        except Exception as error:
            say(f"{configuration.PATH}: {type(error).__name__}: {error}", "failed")
        if words == ["--once"] or agent.outdated():
            return 0
        time.sleep(PAUSE)


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main(sys.argv[1:]))
