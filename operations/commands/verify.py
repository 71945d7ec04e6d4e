"""`mullion verify`: whether a stack's cluster works, seen from its pods and nodes."""

import sys
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from components.plan import ClusterPlan, plan_cluster
from components.spec.choices import Gate
from components.spec.quantities import duration_seconds
from operations.commands import kubeconfig as kubeconfigs
from operations.commands import reboot_all, report, wait
from operations.console.exits import Exit, Stop
from operations.stacks import boot_site, stack_files
from operations.stacks.target import world_file
from operations.verification import upstream
from operations.verification.cluster import Cluster
from operations.verification.run import Wanted, verify
from operations.verification.upstream import Suite
from operations.verification.verdicts import as_json, as_junit, failed, shown

IN_THE_LAB = "ghcr.io/flannel-io/flannel:v0.28.9"
"""The image of the lab's that has busybox; no other can be pulled there."""
WITHOUT_CONTAINERS = "registered as planned; no container runs on Windows machines here"
OUTSIDE = ("one.one.one.one:443", "1.1.1.1:443")
"""A name and an address beyond any cluster that answer on TCP."""


def run(
    name: str,
    *,
    kubeconfig: Path | None,
    outside: list[str],
    image: str | None,
    timeout: str,
    as_json_text: bool,
    junit: Path | None,
    suite: Suite | None,
    reboot: bool,
) -> None:
    """Print every check's verdict; Stop where one failed."""
    try:
        seconds = duration_seconds(timeout)
    except ValueError as error:
        raise Stop(Exit.USAGE, f"--timeout {error}") from error
    for each in outside:
        if not each.rpartition(":")[2].isdigit() or not each.rpartition(":")[0]:
            raise Stop(Exit.USAGE, f"--outside {each} is not name:port, such as {OUTSIDE[0]}")
    plan = plan_cluster(name, stack_files.load(name).spec)
    text = kubeconfig.read_text("utf-8") if kubeconfig else _own(name)
    began = time.monotonic()
    if not as_json_text:
        print(f"mullion: verifying {name} at {_server(text)}", file=sys.stderr, flush=True)
    wanted = _wanted(name, plan, tuple(outside), seconds)
    wanted = replace(wanted, image=image) if image else wanted
    api = wait.api(text)
    rows = verify(api, wanted)
    if reboot:
        reboot_all.reboot_all(name)
        rows += [replace(each, where=f"{each.where}, rebooted") for each in verify(api, wanted)]
    if suite:
        own = report.kubeconfig(name, text)
        rows = [each for each in rows if each.check != upstream.CHECK]
        rows.append(upstream.run(suite, own, Cluster(api, "").nodes(), own.with_name("e2e")))
    if junit:
        junit.write_text(as_junit(name, rows), "utf-8")
    print(as_json(rows) if as_json_text else shown(rows), flush=True)
    wrong = failed(rows)
    if wrong:
        raise Stop(Exit.FAILED, f"{len(wrong)} of {len(rows)} rows failed")
    if not as_json_text:
        print(f"\n{name} works: {len(rows)} rows in {time.monotonic() - began:.0f} s")


def _own(name: str) -> str:
    with kubeconfigs.built(name) as run:
        found = run.outputs().get("kubeconfig")
        if found is None:
            raise Stop(Exit.FAILED, f"stack {name} has no kubeconfig yet; `mullion up {name}` makes it")
        return kubeconfigs.current(name, found.value, run)


def _server(kubeconfig: str) -> str:
    return urlsplit(yaml.safe_load(kubeconfig)["clusters"][0]["cluster"]["server"]).netloc


def _wanted(name: str, plan: ClusterPlan, outside: tuple[str, ...], seconds: float) -> Wanted:
    """What to look for; a booted sandbox has no way out but to its mirror, and says which machines it cannot boot."""
    expected = tuple(each.name for each in plan.machines)
    if not boot_site.api(name):
        return Wanted(expected, {}, outside or OUTSIDE, seconds)
    from sandbox.boot import machine_status, mirror, name_server
    from sandbox.cloud_state import CloudState

    cloud_state = CloudState(world_file(name))
    machines = machine_status.statuses(cloud_state)
    excused = {one: each.why for one, each in machines.items() if each.state == "not booted"}
    registered = {
        each.name: WITHOUT_CONTAINERS
        for group in plan.machine_groups
        if not group.is_control_plane and plan.spec.pools[group.name].rollout.gate is Gate.REGISTERED
        for each in group.machines
        if each.name not in excused
    }
    here = (f"{name_server.MIRROR}:{mirror.PORT}", f"{machine_status.network(cloud_state)['gateway']}:{mirror.PORT}")
    cloud_state.close()
    return Wanted(expected, excused, outside or here, seconds, IN_THE_LAB, registered)
