"""`mullion sandbox boot` and what one does to machines that it booted: see, cut, reboot, isolate, throttle, stop."""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from components.naming import CONTROL_PLANE
from components.plan import ClusterPlan, plan_cluster
from components.spec.choices import Gate
from components.spec.quantities import duration_seconds
from lab import cluster as programs
from lab.linuxnode import machine as linuxnode
from lab.linuxnode.image import lacking
from operations.commands import kubeconfig, report, wait
from operations.commands.wait import Awaited, Seen
from operations.console.exits import Exit, Stop
from operations.console.table import table
from operations.stacks import boot_overlay, boot_site, stack_files
from operations.stacks.target import sandbox_folder, world_file
from sandbox.boot import machine_status, supervision
from sandbox.boot.cloud_services import services_of
from sandbox.boot.machine import KUBECTL
from sandbox.boot.machine_status import DesiredPower, MachineStatus
from sandbox.boot.windows import hosts
from sandbox.cloud_state import CloudState

POLL_SECONDS = 0.5
"""Seconds between two looks."""
READY = ("Ready", "True")
NODES = 60
"""Seconds for Nodes to be Ready after the records are."""
DONE = 300
"""Seconds for the keeper to do what is wished for, after a boot that is under way: far above what it takes."""
REAL = (
    "systemd, cloud-init, kubeadm, kubelet, etcd, containerd, CoreDNS and the API, on Windows PowerShell, kubelet.exe "
    "and host-local.exe: the programs themselves, started by each machine's own user-data; addresses, names, load "
    "balancers, security groups, identities and stores as planned"
)


def boot(name: str, timeout: str) -> None:
    """Boot every machine of a stack's sandbox, tell how far each is, and show the cluster once all are there."""
    try:
        seconds = duration_seconds(timeout)
    except ValueError as error:
        raise Stop(Exit.USAGE, f"--timeout {error}") from error
    plan = plan_cluster(name, stack_files.load(name).spec)
    if not boot_overlay.is_chosen(name) or not world_file(name).exists():
        raise Stop(
            Exit.USAGE, f"machines of {name} are not made to boot; do that: mullion up {name} --sandbox --bootable"
        )
    if why := lacking():
        raise Stop(Exit.FAILED, f"no machine can boot here: {why}")
    try:
        servers = set(hosts.hosts())
    except ValueError as error:
        raise Stop(Exit.USAGE, str(error)) from error
    began = time.monotonic()
    boot_site.start(name)
    with _world(name) as cloud_state:
        last = _watch(name, cloud_state, plan, seconds)
        head = _head(name, cloud_state)
    print(f"\n{wait.shown(last)}\n")
    if missing := wait.lacking(last):
        raise Stop(Exit.FAILED, "\n".join([f"after {timeout} {len(missing)} of {len(last)} are not there:", *missing]))
    _nodes_come(head, {each.awaited.name for each in last if each.record.get("state") == Gate.READY.value})
    print(_kubectl(head, "get", "nodes", "--output", "wide"))
    print(f"Booted in {time.monotonic() - began:.0f} s. Kubeconfig  {_kubeconfig(name)}\n")
    print(f"Real: {REAL}.\nImitated:")
    print("\n".join(f"  {what}: {how}" for what, how in programs.IMITATED.items()))
    if own := sorted(servers & {each.awaited.name for each in last}):
        print(f"Windows itself is real where it has a Windows Server of its own: {', '.join(own)}")
    print(f"To end it: mullion sandbox stop {name} (disks stay), or mullion down {name} --sandbox")


def _watch(name: str, cloud_state: CloudState, plan: ClusterPlan, seconds: float) -> list[Seen]:
    """Every machine as it is once nothing is lacking, or after so many seconds; each change is printed."""
    end, told = time.monotonic() + seconds, dict[str, str]()
    while True:
        known, last = machine_status.statuses(cloud_state), list[Seen]()
        for each in _awaited(cloud_state, plan):
            here = known.get(each.name)
            if here and here.state in ("not booted", "failed"):
                _tell(told, each.name, f"{here.state}: {here.why}")
                last += [Seen(each, {}, None, "" if here.state == "not booted" else f"it failed to boot: {here.why}")]
                continue
            found = record(cloud_state, each.instance)
            now = wait.seen(each, found, None)
            state = found["state"] if found["state"] != "absent" or here is None else here.state
            _tell(told, each.name, f"{state} {now.where}".rstrip())
            last.append(now)
        if not any(each.lacks for each in last) or time.monotonic() > end:
            return last
        if supervision.supervisor_pid(sandbox_folder(name)) is None:
            said = supervision.log(sandbox_folder(name)).read_text("utf-8", errors="replace")
            raise Stop(Exit.FAILED, f"what kept the machines of {name} ended:\n{said[-2000:]}")
        time.sleep(POLL_SECONDS)


def _tell(told: dict[str, str], name: str, now: str) -> None:
    if told.get(name) != now:
        told[name] = now
        print(f"{time.strftime('%H:%M:%S')}  {name}: {wait.plain(now)}", flush=True)


def _awaited(cloud_state: CloudState, plan: ClusterPlan) -> list[Awaited]:
    """The plan's machines that the world has."""
    cloud_services = services_of(cloud_state)
    made = {
        found["machine"]["name"]: cloud_services.machines.instance(each)
        for each in cloud_services.records(cloud_state)
        if (found := cloud_services.machines.document(each.inputs))
    }
    return [each for each in wait.planned(plan, made) if each.instance]


def record(cloud_state: CloudState, instance: str) -> Mapping[str, Any]:
    """The status record of an instance; absent where there is none yet."""
    cloud_services = services_of(cloud_state)
    record = cloud_services.find(cloud_state, instance)
    place = cloud_services.status(record) if record else None
    stored = cloud_state.object(*place) if place else None
    return json.loads(stored.content) if stored else {"state": "absent"}


def _head(name: str, cloud_state: CloudState) -> Path:
    """The disk of a control plane that is on."""
    cloud_services = services_of(cloud_state)
    for one, each in machine_status.statuses(cloud_state).items():
        found = cloud_services.find(cloud_state, each.instance)
        told = cloud_services.machines.document(found.inputs) if found else None
        if told and told["machine"]["pool"] == CONTROL_PLANE and each.state == "on":
            return supervision.disks(sandbox_folder(name)) / f"{one}-{each.instance}"
    raise Stop(Exit.FAILED, f"no control plane of {name} is on; see: mullion sandbox ls {name}")


def _kubectl(disk: Path, *words: str) -> str:
    """What kubectl says on a control plane; Stop with its reason where it fails."""
    argv = linuxnode.command(disk, [*KUBECTL, *words])
    ran = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    if ran.returncode:
        raise Stop(Exit.FAILED, f"kubectl {' '.join(words)}: {ran.stderr.strip()}")
    return ran.stdout


def _nodes_come(head: Path, names: set[str]) -> None:
    """Wait a moment for Nodes to be Ready: a kubelet tells that after its machine's record. verify judges."""
    end = time.monotonic() + NODES
    while time.monotonic() < end:
        with suppress(Stop):  # an API that has just started does not know its roles yet
            found = json.loads(_kubectl(head, "get", "nodes", "--output", "json"))["items"]
            if names <= {each["metadata"]["name"] for each in found if READY in _conditions(each)}:
                return
        time.sleep(POLL_SECONDS)


def _conditions(node: dict[str, Any]) -> set[tuple[str, str]]:
    return {(each["type"], each["status"]) for each in node["status"].get("conditions") or []}


def _kubeconfig(name: str) -> str:
    with kubeconfig.built(name) as run:
        return str(report.kubeconfig(name, kubeconfig.current(name, run.outputs()["kubeconfig"].value, run)))


@contextmanager
def _world(name: str) -> Iterator[CloudState]:
    cloud_state = CloudState(world_file(name))
    try:
        yield cloud_state
    finally:
        cloud_state.close()


@contextmanager
def _kept(name: str) -> Iterator[CloudState]:
    """The world of a stack that is booted; Stop where it is not."""
    if supervision.supervisor_pid(sandbox_folder(name)) is None:
        boot_site.stop(name)  # what a killed keeper left
        raise Stop(Exit.USAGE, f"the sandbox of {name} is not booted; do that: mullion sandbox boot {name}")
    with _world(name) as cloud_state:
        yield cloud_state


def stop(name: str) -> None:
    """Cut every machine; their disks stay for another boot."""
    stack_files.file(name)
    was = boot_site.stop(name)
    print(f"the machines of {name} are off" if was else f"the sandbox of {name} was not booted")


def ls(name: str, *, as_json: bool) -> None:
    """Show how each machine is."""
    with _kept(name) as cloud_state:
        shown, about = machines(cloud_state), machine_status.network(cloud_state)
    if as_json:
        print(json.dumps({"api": about.get("api"), "machines": shown}))
        return
    rows = [[one, *each.values()] for one, each in sorted(shown.items())]
    print(table(["machine", "instance", "address", "power", "network", "record", "phase/step"], rows))


def machines(cloud_state: CloudState) -> dict[str, dict[str, str]]:
    """Each machine as `ls` shows it, by name."""
    return {one: _told(each, record(cloud_state, each.instance)) for one, each in standing(cloud_state).items()}


def standing(cloud_state: CloudState) -> dict[str, MachineStatus]:
    """Booted machines that the world has. What `up` has just deleted is on a moment longer: its keeper cuts it."""
    cloud_services = services_of(cloud_state)
    there = {cloud_services.machines.instance(each) for each in cloud_services.records(cloud_state)}
    return {name: each for name, each in machine_status.statuses(cloud_state).items() if each.instance in there}


def _cable(desired: DesiredPower) -> str:
    return (desired.rate or "open") if desired.connected else "isolated"


def _told(each: MachineStatus, record: Mapping[str, Any]) -> dict[str, str]:
    if str(record.get("time", "")) <= each.since:
        record = {"state": "absent"}  # it is what the machine said before its power went
    where = "/".join(wait.plain(record[one]) for one in ("phase", "step") if record.get(one))
    state = wait.plain(record.get("state"))
    return {
        "instance": each.instance, "address": each.address, "power": f"{each.state} {each.why}".rstrip(),
        "network": _cable(each.desired), "record": state, "step": where,
    }  # fmt: skip


def change(name: str, machine: str, *, quiet: bool = False, **changes: Any) -> None:
    """Do something to a machine: what the keeper does for a wish. It is done when this returns."""
    with _kept(name) as cloud_state:
        known = standing(cloud_state)
        if machine not in known:
            raise Stop(Exit.USAGE, f"stack {name} has no machine {machine!r}; it has {', '.join(sorted(known))}")
        if known[machine].state == "not booted":
            raise Stop(Exit.USAGE, f"{machine} is not booted: {known[machine].why}")
        wanted = machine_status.set_desired_power(cloud_state, machine, **changes)
        end = time.monotonic() + DONE
        while (now := standing(cloud_state).get(machine)) and now.desired != wanted:
            if time.monotonic() > end:
                raise Stop(
                    Exit.FAILED, f"{machine} is not so after {DONE} s; see {supervision.log(sandbox_folder(name))}"
                )
            time.sleep(0.1)
        if now is None:
            raise Stop(Exit.FAILED, f"{machine} is gone: it was deleted or replaced meanwhile")
    if not quiet:
        print(f"{machine}: power {now.state}, network {_cable(wanted)}")
