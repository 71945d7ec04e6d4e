"""The desired-state pointer, followed: one machine at a time, a snapshot before, all of them healthy between.

Each agent changes its own machine, while it has the turn: it makes the pointer's bundle current and starts the executor
with it. The turn is given back once the executor ended well and every API server is ready; so trouble stops the rest.
All state is on disk or in the cluster, so a cut at any point is gone on from: the next round sees where it was.
"""

import json
import time
from typing import Any

import loader
from failure import Failure
from report import say
from run import STATE, Run
from writing import write_whole

from agent import certificates, keys, snapshots
from agent.api import Api, Refused, Unreachable
from agent.configuration import TURN, Configuration
from agent.memory import Memory
from agent.turns import Sight, decide, hop
from agent.upgrade import stamp

UNIT = "mullion.service"
"""The executor's; a restart runs it with the bundle that is current, and systemd again after a failure."""

UNKNOWN = "a machine that is not known, because the API does not answer,"


class Following:
    """One agent's way after the pointer."""

    def __init__(self, run: Run, me: str) -> None:
        self.run, self.me = run, me
        self.told: Configuration = {}
        self.controllers: dict[str, str] = {}
        """Addresses of the control plane's members, by name."""
        self.renewal: tuple[bool, float] = (False, 0.0)
        """Whether certificates are due, and until when that counts."""
        self.held: dict[str, keys.Held] = {}
        """This machine's keys, by ring; none before the first look."""
        self.home = run.path(str(loader.HOME))
        self.actions = {"take": self.take, "switch": self.switch, "start": self.start, "give": self.give}
        self.actions |= {"snapshot": self.snapshot, "renew": self.renew, "rekey": self.rekey}

    def step(self, api: Api | None, pointer: dict[str, Any] | None) -> str:
        """Look, decide, and do one thing; what is waited for, or empty.

        api: None while it does not answer. pointer: the newest that counts; None while there is none.
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
        """What there is. Without an API only a turn that this machine has can go on."""
        turn, result = self.note(), self.result()
        current = self.current()
        holder = self.memory.values.get("turn", "") if self.memory else (self.me if turn else UNKNOWN)
        if self.memory and self.controllers and holder not in (*self.controllers, self.me):
            holder = ""
        if turn and holder != self.me:
            self.run.path(TURN).unlink()  # given back, and cut off before this file went
            turn = None
        changed = self.pointer is not None and self.pointer["sha256"] != current
        applied = stamp(self.run) in ("", self.told["digest"])
        renewal, rekey = self.expiring(), bool(self.keys_due())
        ended = result.get("bundle") == current and (turn or {}).get("before") != result.get("started")
        failed = ended and result.get("state") == "failed"
        trouble = f"{result.get('step')}: {result.get('message')}" if failed else ""
        return Sight(
            self.me,
            refused=self.refused(turn),
            changed=changed,
            applied=applied,
            renewal=renewal,
            rekey=rekey,
            holder=holder,
            turn=turn,
            done=ended and result.get("state") == "done",
            trouble=trouble,
            unhealthy=self.unhealthy(api) if changed or turn or not applied or renewal or rekey else "",
        )

    def current(self) -> str:
        """Digest of the current bundle."""
        return (self.home / "current").resolve().name

    def note(self) -> dict[str, Any] | None:
        """The note of this machine's turn."""
        place = self.run.path(TURN)
        return json.loads(place.read_text()) if place.exists() else None

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
        """The executor's last word; nothing while there is none."""
        try:
            return json.loads(self.run.path(f"{STATE}/result.json").read_text())
        except (OSError, ValueError):
            return {}

    def refused(self, turn: dict[str, Any] | None) -> str:
        """Why the pointer cannot be followed from what this machine has."""
        if self.pointer is None:
            return ""
        if turn and self.pointer["serial"] < turn["serial"]:
            return f"its serial {self.pointer['serial']} is older than {turn['serial']}"
        have = self.run.remember().get("kubernetes")
        return hop(have, self.pointer["kubernetes"]) if have else ""

    def expiring(self) -> bool:
        """Whether certificates of this machine are due; looked at once an hour."""
        if time.monotonic() >= self.renewal[1]:
            self.renewal = (certificates.due(self.run, self.told), time.monotonic() + 3600)
        return self.renewal[0]

    def look_at_keys(self) -> None:
        """See which keys this machine has."""
        self.held = keys.look(self.run, self.told)

    def keys_due(self) -> dict[str, int]:
        """Keys that this machine shall use from its API server's next start on, by ring, where these are others."""
        return keys.due(self.held, self.memory, {*self.controllers} - {self.me}) if self.held and self.memory else {}

    def tell(self) -> None:
        """Say which keys the API server that runs has: others go by it."""
        if self.held and self.memory:
            self.memory.write(**keys.said(self.held, self.me))

    def unhealthy(self, api: Api | None) -> str:
        """The first API server of the control plane that is not ready, its etcd with it; empty where all are."""
        if api is None:
            return "the API does not answer"
        for name, address in self.controllers.items():
            try:
                api.at(address).call("GET", "/readyz")
            except (Unreachable, Refused) as error:
                return f"{name} is not ready: {error}"
        return ""

    def take(self) -> None:
        """From now on this machine may change itself, unless another was faster."""
        if self.memory and self.memory.write(turn=self.me):
            self.write()

    def snapshot(self) -> None:
        """What there was before."""
        serial = self.pointer["serial"] if self.pointer else "timer"
        self.write(snapshot=snapshots.make(self.run, self.told, f"{serial}", time.time()))

    def switch(self) -> None:
        """Unpack the pointer's bundle beside the current one, make it current, and run it.

        At once, because the next round is that bundle's own agent, whose configuration the executor has yet to write.
        """
        pointer = self.pointer or {}
        url, digest = pointer["bundle"], pointer["sha256"]
        try:
            loader.unpack(self.run.ask("store", url), digest, self.home)
        except loader.Refused as error:
            raise Failure("digest-mismatch", f"{url}: {error}") from None
        except OSError as error:
            raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
        self.write(serial=pointer["serial"], started=False, before=self.result().get("started"))
        loader.switch(digest, self.home)
        self.start()

    def renew(self) -> None:
        """New certificates; the executor's run after it finds everything as it shall be."""
        certificates.renew(self.run, self.told)
        self.renewal = (False, 0.0)

    def rekey(self) -> None:
        """Other keys for the API server; the executor's run after it finds everything as it shall be."""
        keys.renew(self.run, self.told, self.keys_due())
        self.look_at_keys()

    def start(self) -> None:
        """Have systemd run the executor; not as a child, because it may start this agent anew."""
        self.run.command("systemctl", "restart", "--no-block", UNIT)
        self.write(started=True)

    def give(self) -> None:
        """The next machine may."""
        self.renewal = (False, 0.0)  # looked at again
        if self.memory and self.memory.write(turn=""):
            self.run.path(TURN).unlink()
