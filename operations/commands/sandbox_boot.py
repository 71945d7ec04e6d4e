"""`mullion sandbox boot`, and the commands for booted machines: ls, cut, reboot, isolate, throttle, stop."""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from components.naming import CONTROL_PLANE
from components.plan import ClusterPlan, plan_cluster
from components.rollout.plain_text import plain
from components.spec.choices import CloudController, Gate
from components.spec.models import ClusterSpec
from components.spec.quantities import duration_seconds
from lab import cluster as programs
from lab.linuxnode import machine as linuxnode
from lab.linuxnode.image import lacking
from operations.commands import kubeconfig, report, wait
from operations.commands.wait import ExpectedMachine, MachineReport
from operations.console.exits import Exit, Stop
from operations.console.heartbeat import Heartbeat
from operations.console.table import table
from operations.stacks import boot_overlay, boot_site, stack_files
from operations.stacks.target import cloud_state_file, sandbox_folder
from sandbox.boot import machine_status, supervision
from sandbox.boot.cloud_services import services_of
from sandbox.boot.machine import KUBECTL
from sandbox.boot.machine_status import DesiredPower, MachineStatus
from sandbox.boot.windows import hosts
from sandbox.cloud_changes import Changes
from sandbox.cloud_state import CloudState

POLL_SECONDS = 0.5
"""Seconds between two checks."""
READY = ("Ready", "True")
NODES_SECONDS = 60
"""Longest wait for Ready Nodes once all status records are ready."""
CHANGE_SECONDS = 300
"""Longest wait for the supervisor to apply a desired state; it may first have to finish a boot."""
REAL = (
    "systemd, cloud-init, kubeadm, kubelet, etcd, containerd, CoreDNS and the API, on Windows PowerShell, kubelet.exe "
    "and host-local.exe: the programs themselves, started by each machine's own user-data; addresses, names, load "
    "balancers, security groups, identities and stores as planned"
)


def boot(name: str, timeout: str, *, pods_only: bool = False) -> None:
    """Boot every machine of a stack's sandbox, print their progress, and show the cluster once all are ready.

    pods_only: return as soon as the machines that run pods are ready; the others go on in the background.
    """
    try:
        seconds = duration_seconds(timeout)
    except ValueError as error:
        raise Stop(Exit.USAGE, f"--timeout {error}") from error
    plan = plan_cluster(name, stack_files.load(name).spec)
    if not boot_overlay.is_chosen(name) or not cloud_state_file(name).exists():
        raise Stop(
            Exit.USAGE,
            f"the machines of {name} were not created bootable; run: mullion up {name} --sandbox --bootable",
        )
    servers = refuse(name, plan.spec)
    began = time.monotonic()
    boot_site.start(name)
    with _cloud_state(name) as cloud_state:
        reports = _watch(name, cloud_state, plan, seconds, pods_only=pods_only)
        disk = _control_plane_disk(name, cloud_state)
    missing = wait.problems(reports)
    if missing or not pods_only:
        print(f"\n{wait.table_of(reports)}\n")
    if missing:
        head = f"after {timeout}, {len(missing)} of {len(reports)} machines are not ready:"
        raise Stop(Exit.FAILED, "\n".join([head, *missing]))
    ready = {report.expected.name for report in reports if report.record.get("state") == Gate.READY.value}
    _wait_for_nodes(disk, ready)
    if pods_only:
        return
    print(_kubectl(disk, "get", "nodes", "--output", "wide"))
    print(f"Booted in {time.monotonic() - began:.0f} s. Kubeconfig  {_kubeconfig(name)}\n")
    print("\n".join([f"Real: {REAL}.\nImitated:", *(f"  {what}: {how}" for what, how in programs.IMITATED.items())]))
    if own := sorted(servers & {report.expected.name for report in reports}):
        print(f"These machines run on a real Windows Server: {', '.join(own)}")
    print(f"To end it: mullion sandbox stop {name} (keeps disks), or mullion down {name} --sandbox")


def refuse(name: str, spec: ClusterSpec) -> set[str]:
    """Raise Stop if no machine can boot on this host, or if the cluster would not become ready.

    Return the names of the machines that run on real Windows Servers.
    """
    if why := lacking():
        raise Stop(Exit.FAILED, f"no machine can boot here: {why}")
    try:
        servers = set(hosts.hosts())
    except ValueError as error:
        raise Stop(Exit.USAGE, str(error)) from error
    external = spec.cloud_controller is CloudController.EXTERNAL
    option = "cloud_controller: external" if external else "csi" if spec.csi else ""
    lacks = "cloud controller that could initialise its Nodes" if external else "images of storage drivers for its pods"
    if option:
        raise Stop(Exit.USAGE, f"{name} has {option}, and the sandbox has no {lacks}; remove the option to boot it")
    return servers


def _watch(
    name: str, cloud_state: CloudState, plan: ClusterPlan, seconds: float, *, pods_only: bool
) -> list[MachineReport]:
    """Wait until no machine has a problem, for at most `seconds`, and return the reports. Prints each change.

    pods_only: machines that need only register are left out. Raises Stop if the supervisor has ended.
    """
    end, printed, heart, changes = time.monotonic() + seconds, dict[str, str](), Heartbeat(), Changes(cloud_state)
    reports = list[MachineReport]()
    while True:
        if changes.any():
            statuses, reports = machine_status.statuses(cloud_state), list[MachineReport]()
            for machine in _expected_machines(cloud_state, plan):
                report, line = _report(machine, statuses.get(machine.name), record(cloud_state, machine.instance))
                _print_change(printed, machine.name, line)
                if not pods_only or Gate.REGISTERED.value not in machine.enough:
                    reports.append(report)
        if not any(report.problem for report in reports) or time.monotonic() > end:
            return reports
        if supervision.supervisor_pid(sandbox_folder(name)) is None:
            log = supervision.log(sandbox_folder(name)).read_text("utf-8", errors="replace")
            raise Stop(Exit.FAILED, f"the process that runs the machines of {name} ended:\n{log[-2000:]}")
        heart.beat("; ".join(wait.problems(reports)))
        time.sleep(POLL_SECONDS)


def _report(
    machine: ExpectedMachine, status: MachineStatus | None, record: Mapping[str, Any]
) -> tuple[MachineReport, str]:
    """Return a machine's report, and its progress on one line. A machine that cannot boot here has no problem."""
    if status and status.state in ("not booted", "failed"):
        problem = "" if status.state == "not booted" else f"it failed to boot: {status.why}"
        return MachineReport(machine, {}, None, problem), f"{status.state}: {status.why}"
    report = wait.judge(machine, record, None)
    state = record["state"] if record["state"] != "absent" or status is None else status.state
    return report, f"{state} {report.where}".rstrip()


def _print_change(printed: dict[str, str], name: str, line: str) -> None:
    if printed.get(name) != line:
        printed[name] = line
        print(f"{time.strftime('%H:%M:%S')}  {name}: {plain(line)}", flush=True)


def _expected_machines(cloud_state: CloudState, plan: ClusterPlan) -> list[ExpectedMachine]:
    """Return the plan's machines that exist in the sandbox."""
    cloud_services = services_of(cloud_state)
    instances = {
        document["machine"]["name"]: cloud_services.machines.instance(resource)
        for resource in cloud_services.records(cloud_state)
        if (document := cloud_services.machines.document(resource.inputs))
    }
    return [machine for machine in wait.planned(plan, instances) if machine.instance]


def record(cloud_state: CloudState, instance: str) -> Mapping[str, Any]:
    """Return the status record of an instance; state absent if there is none yet."""
    cloud_services = services_of(cloud_state)
    resource = cloud_services.find(cloud_state, instance)
    place = cloud_services.status(resource) if resource else None
    stored = cloud_state.object(*place) if place else None
    return json.loads(stored.content) if stored else {"state": "absent"}


def _control_plane_disk(name: str, cloud_state: CloudState) -> Path:
    """Return the disk of a control plane machine that is on. Raises Stop if none is."""
    cloud_services = services_of(cloud_state)
    for machine, status in machine_status.statuses(cloud_state).items():
        resource = cloud_services.find(cloud_state, status.instance)
        document = cloud_services.machines.document(resource.inputs) if resource else None
        if document and document["machine"]["pool"] == CONTROL_PLANE and status.state == "on":
            return supervision.disks(sandbox_folder(name)) / f"{machine}-{status.instance}"
    raise Stop(Exit.FAILED, f"no control plane of {name} is on; see: mullion sandbox ls {name}")


def _kubectl(disk: Path, *words: str) -> str:
    """Run kubectl on a control plane, and return its output. Raises Stop with its error."""
    argv = linuxnode.command(disk, [*KUBECTL, *words])
    ran = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    if ran.returncode:
        raise Stop(Exit.FAILED, f"kubectl {' '.join(words)}: {ran.stderr.strip()}")
    return ran.stdout


def _wait_for_nodes(disk: Path, names: set[str]) -> None:
    """Wait up to 60 s for these Nodes to be Ready, because a kubelet reports it later than its machine's record."""
    end, heart = time.monotonic() + NODES_SECONDS, Heartbeat()
    while time.monotonic() < end:
        with suppress(Stop):  # an API that has just started does not know its roles yet
            nodes = json.loads(_kubectl(disk, "get", "nodes", "--output", "json"))["items"]
            if names <= {node["metadata"]["name"] for node in nodes if READY in _conditions(node)}:
                return
        heart.beat(f"Nodes {', '.join(sorted(names))} to be Ready")
        time.sleep(POLL_SECONDS)


def _conditions(node: dict[str, Any]) -> set[tuple[str, str]]:
    return {(condition["type"], condition["status"]) for condition in node["status"].get("conditions") or []}


def _kubeconfig(name: str) -> str:
    with kubeconfig.built(name) as run:
        return str(report.kubeconfig(name, kubeconfig.current(name, run.outputs()["kubeconfig"].value, run)))


@contextmanager
def _cloud_state(name: str) -> Iterator[CloudState]:
    cloud_state = CloudState(cloud_state_file(name))
    try:
        yield cloud_state
    finally:
        cloud_state.close()


@contextmanager
def _booted(name: str) -> Iterator[CloudState]:
    """Yield the cloud state of a booted stack. Raises Stop if it is not booted."""
    if not cloud_state_file(name).exists() or supervision.supervisor_pid(sandbox_folder(name)) is None:
        boot_site.stop(name)  # clears up after a killed supervisor
        raise Stop(Exit.USAGE, boot_site.not_booted(name))
    with _cloud_state(name) as cloud_state:
        yield cloud_state


def stop(name: str) -> None:
    """Cut the power of every machine; disks are kept for the next boot."""
    stack_files.file(name)
    stopped = boot_site.stop(name)
    print(f"the machines of {name} are off" if stopped else f"the sandbox of {name} was not booted")


def ls(name: str, *, as_json: bool) -> None:
    """Print power, network and progress of each booted machine."""
    with _booted(name) as cloud_state:
        rows, network = machines(cloud_state), machine_status.network(cloud_state)
    if as_json:
        print(json.dumps({"api": network.get("api"), "machines": rows}))
        return
    cells = [[machine, *row.values()] for machine, row in sorted(rows.items())]
    print(table(["machine", "instance", "address", "power", "network", "record", "phase/step"], cells))


def machines(cloud_state: CloudState) -> dict[str, dict[str, str]]:
    """Return each machine's row of `ls`, by name."""
    statuses = existing_machines(cloud_state)
    return {name: _row(status, record(cloud_state, status.instance)) for name, status in statuses.items()}


def existing_machines(cloud_state: CloudState) -> dict[str, MachineStatus]:
    """Return the status of each booted machine whose instance exists, by name.

    A machine that `up` has just deleted stays on until the supervisor cuts its power.
    """
    cloud_services = services_of(cloud_state)
    existing = {cloud_services.machines.instance(resource) for resource in cloud_services.records(cloud_state)}
    statuses = machine_status.statuses(cloud_state)
    return {name: status for name, status in statuses.items() if status.instance in existing}


def _network(desired: DesiredPower) -> str:
    return (desired.rate or "open") if desired.connected else "isolated"


def _row(status: MachineStatus, record: Mapping[str, Any]) -> dict[str, str]:
    if str(record.get("time", "")) <= status.since:
        record = {"state": "absent"}  # the machine wrote it before its power was cut
    where = "/".join(plain(record[key]) for key in ("phase", "step") if record.get(key))
    state = plain(record.get("state"))
    return {
        "instance": status.instance, "address": status.address, "power": f"{status.state} {status.why}".rstrip(),
        "network": _network(status.desired), "record": state, "step": where,
    }  # fmt: skip


def change(name: str, machine: str, *, quiet: bool = False, **changes: Any) -> None:
    """Change the desired power or network of a booted machine, and wait until the supervisor has applied it."""
    with _booted(name) as cloud_state:
        statuses, heart = existing_machines(cloud_state), Heartbeat()
        if machine not in statuses:
            raise Stop(Exit.USAGE, f"stack {name} has no machine {machine!r}; it has {', '.join(sorted(statuses))}")
        if statuses[machine].state == "not booted":
            raise Stop(Exit.USAGE, f"{machine} is not booted: {statuses[machine].why}")
        desired = machine_status.set_desired_power(cloud_state, machine, **changes)
        end = time.monotonic() + CHANGE_SECONDS
        while (status := existing_machines(cloud_state).get(machine)) and status.desired != desired:
            if time.monotonic() > end:
                log = supervision.log(sandbox_folder(name))
                raise Stop(Exit.FAILED, f"{machine} did not change within {CHANGE_SECONDS} s; see {log}")
            heart.beat(f"{machine} to change")
            time.sleep(0.1)
        if status is None:
            raise Stop(Exit.FAILED, f"{machine} no longer exists: it was deleted or replaced meanwhile")
    if not quiet:
        print(f"{machine}: power {status.state}, network {_network(desired)}")
