"""Follows the desired-state pointer: one machine at a time, after a snapshot, while all API servers are healthy.

Each agent changes only its own machine, during its turn: it makes the pointer's bundle current and starts the
executor. It ends the turn once the executor has succeeded and every API server is ready, so a failure stops the
rollout. All state is on disk or in the cluster, so after an interruption the next round continues.
"""

import json
import time
from typing import Any

import loader
from failure import Failure
from report import say
from run import STATE, Run
from writing import write_whole

from agent import certificates, keys, reboots, snapshots
from agent.api import Api, fault
from agent.configuration import TURN, Configuration
from agent.memory import Memory
from agent.refusals import Refusals
from agent.turns import Sight, decide, hop
from agent.upgrade import stamp

UNIT = "mullion.service"
"""The executor's unit; a restart runs the current bundle, and systemd restarts it after a failure."""

LARGEST_BUNDLE = 32 << 20
"""Maximum bytes of a bundle, which is read into memory; bundles have some hundred KB."""

CHANGING = 1800.0
"""Seconds after a step of a turn in which kubeadm may be at work: the timeout of its step (components/node/agent.py). A
turn that stops for longer must not keep the cluster without snapshots.
"""

UNKNOWN = "a machine that is not known, because the API does not answer,"


class Following:
    """Follows the pointer on one machine."""

    def __init__(self, run: Run, me: str) -> None:
        self.run, self.me = run, me
        self.config: Configuration = {}
        self.controllers: dict[str, str] = {}
        """Addresses of control-plane members by name."""
        self.renewal: tuple[tuple[bool, bool, bool], float] = ((False, False, False), 0.0)
        """Whether certificates are due, urgently so, and have ended, and until when this result is valid."""
        self.held: dict[str, keys.Held] = {}
        """This machine's keys by ring; empty before they were read."""
        self.refusals = Refusals(run)
        self.home = run.path(str(loader.HOME))
        self.actions = {"take": self.take, "switch": self.switch, "start": self.start, "give": self.give}
        self.actions |= {"snapshot": self.snapshot, "renew": self.renew, "rekey": self.rekey, "reboot": self.reboot}
        self.actions |= {"restart": lambda: self.refusals.restart(self.config)}

    def step(self, api: Api | None, pointer: dict[str, Any] | None) -> str:
        """Read the state, decide, and take one action; return what it waits for, or an empty string.

        api: None while it does not answer. pointer: the last accepted one, or None.
        """
        self.memory = Memory(api) if api else None
        self.pointer = pointer
        action, why = decide(self.look(api))
        if action in self.actions:
            say(f"following serial {pointer['serial'] if pointer else 'none'}: {action}")
            self.actions[action]()
        else:
            self.tell()
        return why

    def look(self, api: Api | None) -> Sight:
        """Return the state. Without the API, only this machine's own turn can continue."""
        turn, result = self.note(), self.result()
        current = self.current()
        holder = self.memory.values.get("turn", "") if self.memory else (self.me if turn else UNKNOWN)
        if self.memory and self.controllers and holder not in (*self.controllers, self.me):
            holder = ""
        if turn and holder != self.me:
            self.run.path(TURN).unlink()  # the turn was ended; an interruption kept the file
            turn = None
        changed = self.pointer is not None and self.pointer["sha256"] != current
        applied = stamp(self.run) in ("", self.config["digest"])
        (renewal, urgent, over), rekey = self.expiring(), bool(self.keys_due())
        ended = result.get("bundle") == current and (turn or {}).get("before") != result.get("started")
        failed = ended and result.get("state") == "failed"
        trouble = f"{result.get('step')}: {result.get('message')}" if failed else ""
        sight = Sight(
            self.me,
            refused=self.refused(turn),
            changed=changed,
            applied=applied,
            renewal=renewal,
            urgent=urgent,
            ended=over,
            rekey=rekey,
            restart=self.refusals.connected,
            reboot=reboots.due(self.run, self.config, time.time()),
            holder=holder,
            turn=turn,
            done=ended and result.get("state") == "done",
            trouble=trouble,
        )
        return sight._replace(unhealthy=self.unhealthy(api)) if turn or sight.wanted else sight

    def current(self) -> str:
        """Return the digest of the current bundle."""
        return (self.home / "current").resolve().name

    def note(self) -> dict[str, Any] | None:
        """Return the note of this machine's turn, or None."""
        place = self.run.path(TURN)
        return json.loads(place.read_text()) if place.exists() else None

    def is_changing(self) -> bool:
        """Return whether kubeadm may be copying etcd's folder, which fails if a file there vanishes meanwhile.

        kubeadm copies it by `cp -r` (kubeadm, CopyDir in util/files/copy_unix.go).
        """
        place = self.run.path(TURN)
        return place.exists() and time.time() - place.stat().st_mtime < CHANGING

    def write(self, **changes: Any) -> None:
        """Change the note."""
        serial = self.pointer["serial"] if self.pointer else 0
        kept = self.note() or {
            "serial": serial,
            "snapshot": "",
            "started": False,
            "before": self.result().get("started"),
        }
        write_whole(self.run.path(TURN), json.dumps(kept | changes).encode(), 0o600)

    def result(self) -> dict[str, Any]:
        """Return the executor's last result, or an empty dict."""
        try:
            return json.loads(self.run.path(f"{STATE}/result.json").read_text())
        except (OSError, ValueError):
            return {}

    def refused(self, turn: dict[str, Any] | None) -> str:
        """Return why this machine cannot follow the pointer; empty if it can."""
        if self.pointer is None:
            return ""
        if turn and self.pointer["serial"] < turn["serial"]:
            return f"its serial {self.pointer['serial']} is older than {turn['serial']}"
        have = self.run.remember().get("kubernetes")
        return hop(have, self.pointer["kubernetes"]) if have else ""

    def expiring(self) -> tuple[bool, bool, bool]:
        """Return whether this machine's certificates are due, urgently so, and have ended; checked once an hour."""
        if time.monotonic() >= self.renewal[1]:
            due, over = certificates.due(self.run, self.config), certificates.ended(self.run, self.config)
            found = due, certificates.urgent(self.run, self.config, self.me), over
            self.renewal = (found, time.monotonic() + 3600)
        return self.renewal[0]

    def look_at_keys(self) -> None:
        """Read this machine's keys."""
        self.held = keys.look(self.run, self.config)

    def keys_due(self) -> dict[str, int]:
        """Return by ring the key to use from the API server's next start; only rings that have to change."""
        return keys.due(self.held, self.memory, {*self.controllers} - {self.me}) if self.held and self.memory else {}

    def tell(self) -> None:
        """Publish the keys of the running API server; other machines wait for them."""
        if self.held and self.memory:
            self.memory.write(**keys.said(self.held, self.me))

    def unhealthy(self, api: Api | None) -> str:
        """Return why the control plane is not healthy: its first API server that is not ready; empty if all are."""
        if api is None:
            return "the API does not answer"
        for name, address in self.controllers.items():
            if why := fault(api.at(address)):
                return f"{name} is not ready: {why}"
        return ""

    def take(self) -> None:
        """Begin this machine's turn, unless another machine was first."""
        if self.memory and self.memory.write(turn=self.me):
            self.write()

    def snapshot(self) -> None:
        """Take a snapshot before the change."""
        serial = self.pointer["serial"] if self.pointer else "timer"
        self.write(snapshot=snapshots.make(self.run, self.config, f"{serial}", time.time()))

    def switch(self) -> None:
        """Unpack the pointer's bundle, make it current, and run it.

        In one action, because the next round runs the new bundle's agent, whose configuration the executor still has
        to write.
        """
        pointer = self.pointer or {}
        url, digest = pointer["bundle"], pointer["sha256"]
        try:
            loader.unpack(self.run.ask("store", url, most=LARGEST_BUNDLE), digest, self.home)
        except loader.Refused as error:
            raise Failure("digest-mismatch", f"{url}: {error}") from None
        except OSError as error:
            raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
        self.write(serial=pointer["serial"], started=False, before=self.result().get("started"))
        loader.switch(digest, self.home)
        self.start()

    def renew(self) -> None:
        """Renew the certificates; the executor then runs and finds nothing to set."""
        certificates.renew(self.run, self.config)
        self.renewal = ((False, False, False), 0.0)

    def rekey(self) -> None:
        """Change the API server's keys; the executor then runs and finds nothing to set."""
        keys.renew(self.run, self.config, self.keys_due())
        self.look_at_keys()

    def reboot(self) -> None:
        """Restart the machine; afterwards its packages ask for none, and the turn goes on with the executor."""
        self.run.command("systemctl", "reboot", "--no-block")

    def start(self) -> None:
        """Start the executor by systemd, not as a child process, because it may restart this agent."""
        self.run.command("systemctl", "restart", "--no-block", UNIT)
        self.write(started=True)

    def give(self) -> None:
        """End the turn."""
        self.renewal = ((False, False, False), 0.0)  # checked again in the next round
        if self.memory and self.memory.write(turn=""):
            self.run.path(TURN).unlink()
