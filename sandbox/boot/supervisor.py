"""The supervisor: the process that boots machines that `up` creates, and stops machines that `down` or `up` deletes."""

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
from sandbox.boot.cloud_services import CloudServices
from sandbox.boot.host_lock import lock_host
from sandbox.boot.machine_status import DesiredPower, MachineStatus
from sandbox.boot.network import BootedCluster, booted_cluster
from sandbox.cloud_changes import Changes
from sandbox.cloud_state import CloudState, now
from sandbox.records import Record

PAUSE = 0.3
"""Seconds between two reads of the cloud state."""
NO_DOCUMENT = "its user-data holds no document of Mullion"


class Supervisor:
    """Runs the machines of one cluster."""

    def __init__(self, cluster: BootedCluster) -> None:
        self.cluster = cluster
        self.statuses: dict[str, MachineStatus] = {}
        self._boots = ThreadPoolExecutor(max_workers=4)
        self._booting: dict[str, Future[None]] = {}
        self._firewalls: dict[str, str] = {}
        self._written: dict[str, MachineStatus] = {}
        self._changes = Changes(cluster.cloud_state)

    def look(self) -> None:
        """Reconcile if the cloud state has changed, or if a boot has ended: a look at nothing new costs no time."""
        if self._changes.any() or any(boot.done() for boot in self._booting.values()):
            self.reconcile()

    def reconcile(self) -> None:
        """Start and stop machines as the cloud state and the desired power now say."""
        records = {self._name(record): record for record in self._services.records(self.cluster.cloud_state)}
        instances = {name: self._services.machines.instance(record) for name, record in records.items()}
        for name in [name for name, status in self.statuses.items() if instances.get(name) != status.instance]:
            self._remove(name)
        for name in records.keys() - self.statuses.keys():
            self._add(name, records[name])
        desired = machine_status.desired_power(self.cluster.cloud_state)
        for name in list(self.statuses):
            self._record_finished_boot(name)
            self._apply_power(name, desired.get(name, DesiredPower()))
        self._apply_firewalls(records)
        if self.statuses != self._written:
            self._written = dict(self.statuses)
            machine_status.write_statuses(self.cluster.cloud_state, self._written)

    def finish_boots(self) -> None:
        """Wait for boots that have begun, and cancel the others."""
        self._boots.shutdown(wait=True, cancel_futures=True)

    @property
    def _services(self) -> CloudServices:
        return self.cluster.cloud_services

    def _name(self, record: Record) -> str:
        document = self._services.machines.document(record.inputs)
        return document["machine"]["name"] if document else record.id

    def _add(self, name: str, record: Record) -> None:
        """Add a machine that is new in the cloud state; it is off."""
        instance = self._services.machines.instance(record)
        address = self._services.address(self.cluster.cloud_state, record)
        status = MachineStatus(instance, address, "off", "", DesiredPower(on=False))
        document = self._services.machines.document(record.inputs)
        if why := NO_DOCUMENT if document is None else self.cluster.not_bootable(record):
            self.statuses[name] = replace(status, state="not booted", why=why)
            return
        self.cluster.machine(name)
        self.statuses[name] = status

    def _remove(self, name: str) -> None:
        """Stop and forget a machine that is deleted from the cloud state."""
        status = self.statuses.pop(name)
        print(f"{name}: {status.instance} is deleted", flush=True)
        self._firewalls.pop(name, None)
        machine_status.clear_desired_power(self.cluster.cloud_state, name)
        if name in self.cluster.machines:
            self.cluster.machines[name].cut()  # also ends a boot in progress
            if name in self._booting:
                with suppress(Exception):
                    self._booting.pop(name).result()
            self.cluster.remove(name)

    def _record_finished_boot(self, name: str) -> None:
        """Set the machine's state to on or failed if its boot has ended."""
        if name in self._booting and self._booting[name].done():
            error = self._booting.pop(name).exception()
            state, why = ("failed", str(error)) if error else ("on", "")
            print(f"{name}: {state} {why}".rstrip(), flush=True)
            self.statuses[name] = replace(self.statuses[name], state=state, why=why)

    def _apply_power(self, name: str, desired: DesiredPower) -> None:
        """Apply changes of a machine's desired power, unless the machine boots."""
        status = self.statuses[name]
        before = status.desired
        if desired == before or name in self._booting or name not in self.cluster.machines:
            return
        machine, net = self.cluster.machines[name], self.cluster.net
        if desired.connected is not before.connected:
            network.connect(net, status.instance, connected=desired.connected)
        if desired.rate != before.rate:
            network.throttle(net, status.instance, desired.rate)
        reboots = desired.boots != before.boots
        if before.on and (reboots or not desired.on):
            machine.cut()
        state, since = status.state if desired.on and before.on else "off", status.since
        if desired.on and (reboots or not before.on):
            state, since = "boots", now()
            self._booting[name] = self._boots.submit(machine.boot)
        print(f"{name}: {desired}", flush=True)
        self.statuses[name] = replace(status, state=state, why="", desired=desired, since=since)

    def _apply_firewalls(self, records: dict[str, Record]) -> None:
        """Load the nftables rules of each machine whose rules changed."""
        for name, machine in self.cluster.machines.items():
            rules = self.cluster.firewall(records[name])
            if self._firewalls.get(name) != rules:
                firewalls.apply(machine.space, rules)
                self._firewalls[name] = rules


def supervise(folder: Path) -> None:
    """Run the machines of a sandbox's folder until SIGTERM."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # while it waits for the host's lock
    with supervision.supervisor_lock(folder), lock_host(lambda: print(supervision.HOST_IN_USE, flush=True)):
        signal.signal(signal.SIGTERM, lambda *_: stopped.set())
        cloud_state = CloudState(supervision.cloud_state_file(folder))
        net, disks = supervision.namespace(folder), supervision.disks(folder)
        try:
            with booted_cluster(cloud_state, net, disks, programs.built(programs.LINUX)) as cluster:
                machine_status.record_start(cloud_state, net=net, api=cluster.api, gateway=cluster.gateway)
                supervisor = Supervisor(cluster)
                try:
                    while not stopped.is_set():
                        supervisor.look()
                        stopped.wait(PAUSE)
                finally:
                    supervisor.finish_boots()
        finally:
            machine_status.record_stop(cloud_state)
            cloud_state.close()


if __name__ == "__main__":
    supervise(Path(sys.argv[1]))
