"""The process that keeps machines as their world has them: what `up` makes is booted, what it deletes is cut."""

import signal
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from lab import cluster as programs
from lab.linuxnode import network
from sandbox.boot import firewalls, machine_status, supervision
from sandbox.boot.host_lock import alone
from sandbox.boot.machine_status import Standing, Wish
from sandbox.boot.network import Site, site
from sandbox.cloud_state import CloudState, now
from sandbox.records import Record

PAUSE = 0.3
"""Seconds between two looks at the world."""
NO_DOCUMENT = "its user-data holds no document of Mullion"


class Keeper:
    """Keeps one site."""

    def __init__(self, here: Site) -> None:
        self.site = here
        self.standing: dict[str, Standing] = {}
        self._boots = ThreadPoolExecutor(max_workers=4)
        self._booting: dict[str, Future[None]] = {}
        self._firewalls: dict[str, str] = {}
        self._told: dict[str, Standing] = {}

    def look(self) -> None:
        """Make machines what the world and the wishes say now."""
        around = self.site.around
        planned = {self._name(each): each for each in around.records(self.site.cloud_state)}
        there = {name: around.machines.instance(each) for name, each in planned.items()}
        for name in [one for one, each in self.standing.items() if there.get(one) != each.instance]:
            self._leave(name)
        for name in planned.keys() - self.standing.keys():
            self._join(name, planned[name])
        wanted = machine_status.wishes(self.site.cloud_state)
        for name in list(self.standing):
            self._settle(name)
            self._grant(name, wanted.get(name, Wish()))
        self._protect(planned)
        if self.standing != self._told:
            self._told = dict(self.standing)
            machine_status.tell(self.site.cloud_state, self._told)

    def end(self) -> None:
        """Let boots end that have begun."""
        self._boots.shutdown(wait=True, cancel_futures=True)

    def _name(self, record: Record) -> str:
        found = self.site.around.machines.document(record.inputs)
        return found["machine"]["name"] if found else record.id

    def _join(self, name: str, record: Record) -> None:
        """A machine that is new in the world."""
        around = self.site.around
        about = Standing(
            around.machines.instance(record), around.address(self.site.cloud_state, record), "off", "", Wish(on=False)
        )
        why = NO_DOCUMENT if around.machines.document(record.inputs) is None else self.site.not_bootable(record)
        if why:
            self.standing[name] = replace(about, state="not booted", why=why)
            return
        self.site.machine(name)
        self.standing[name] = about

    def _leave(self, name: str) -> None:
        """A machine that the world has no more."""
        before = self.standing.pop(name)
        print(f"{name}: {before.instance} is gone", flush=True)
        self._firewalls.pop(name, None)
        machine_status.forget(self.site.cloud_state, name)
        if name in self.site.machines:
            self.site.machines[name].cut()  # which ends a boot that is under way
            if name in self._booting:
                with suppress(Exception):
                    self._booting.pop(name).result()
            self.site.forget(name)

    def _settle(self, name: str) -> None:
        """What came of a boot."""
        if name in self._booting and self._booting[name].done():
            error = self._booting.pop(name).exception()
            state, why = ("failed", str(error)) if error else ("on", "")
            print(f"{name}: {state} {why}".rstrip(), flush=True)
            self.standing[name] = replace(self.standing[name], state=state, why=why)

    def _grant(self, name: str, wish: Wish) -> None:
        """Do what is wanted of a machine, once it is at nothing else."""
        before = self.standing[name]
        if wish == before.wish or name in self._booting or name not in self.site.machines:
            return
        machine, net = self.site.machines[name], self.site.net
        if wish.connected is not before.wish.connected:
            network.connect(net, before.instance, connected=wish.connected)
        if wish.rate != before.wish.rate:
            network.throttle(net, before.instance, wish.rate)
        again = wish.boots != before.wish.boots
        if before.wish.on and (again or not wish.on):
            machine.cut()
        state, since = before.state if wish.on and before.wish.on else "off", before.since
        if wish.on and (again or not before.wish.on):
            state, since = "boots", now()
            self._booting[name] = self._boots.submit(machine.boot)
        print(f"{name}: {wish}", flush=True)
        self.standing[name] = replace(before, state=state, why="", wish=wish, since=since)

    def _protect(self, planned: dict[str, Record]) -> None:
        """Keep the firewalls as the world's rules are."""
        for name, machine in self.site.machines.items():
            text = self.site.firewall(planned[name])
            if self._firewalls.get(name) != text:
                firewalls.apply(machine.space, text)
                self._firewalls[name] = text


def keep(folder: Path) -> None:
    """Keep the machines of a sandbox's folder until a signal comes."""
    ends = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # while it waits for its turn
    with supervision.held(folder), alone(lambda: print(supervision.WAITS, flush=True)):
        signal.signal(signal.SIGTERM, lambda *_: ends.set())
        cloud_state = CloudState(supervision.cloud_state(folder))
        net, disks = supervision.net(folder), supervision.disks(folder)
        try:
            with site(cloud_state, net, disks, programs.built(programs.LINUX)) as here:
                machine_status.open_site(cloud_state, net=net, api=here.api, gateway=here.gateway)
                keeper = Keeper(here)
                try:
                    while not ends.is_set():
                        keeper.look()
                        ends.wait(PAUSE)
                finally:
                    keeper.end()
        finally:
            machine_status.close_site(cloud_state)
            cloud_state.close()


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
