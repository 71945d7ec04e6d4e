"""`mullion verify`: check whether a stack's cluster works, from its pods and nodes."""

import sys
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from components.node.gmsa import texts
from components.plan import ClusterPlan, plan_cluster
from components.rollout.kubernetes_api import KubernetesApi, Refused, Unreachable, Unresolved
from components.spec.choices import Gate, NetworkMode
from components.spec.quantities import duration_seconds
from operations.commands import reached_api, reboot_all
from operations.console.exits import Exit, Stop
from operations.stacks import boot_site, stack_files
from operations.stacks.target import cloud_state_file
from operations.verification import upstream
from operations.verification.cluster import Cluster
from operations.verification.run import VerifyRequest, verify
from operations.verification.upstream import Suite
from operations.verification.verdicts import Row, as_json, as_junit, failed, shown

LAB_IMAGE = "ghcr.io/flannel-io/flannel:v0.28.9"
"""The only image with busybox that a booted sandbox can pull."""
WITHOUT_CONTAINERS = "registered as planned; Windows machines of a sandbox run no containers"
OUTSIDE = ("one.one.one.one:443", "1.1.1.1:443")
"""A name and an address on the internet that answer on TCP."""


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
    checks: frozenset[str] = frozenset(),
) -> None:
    """Print the result of each check.

    checks: ids of the checks to print; all if empty. Raises Stop if one failed, or if the API does not answer.
    """
    seconds = _seconds(timeout, outside)
    plan = plan_cluster(name, stack_files.load(name).spec)
    request = _request(name, plan, tuple(outside), seconds)
    specs = texts(plan.spec.gmsa.credential_specs)
    request = replace(request, image=image or request.image, checks=checks, credential_specs=specs)
    began = time.monotonic()
    with reached_api.administrator(name, kubeconfig) as text:
        if not as_json_text:
            print(f"mullion: verifying {name} at {_server(text)}", file=sys.stderr, flush=True)
        rows = _all_rows(name, text, request, suite, reboot=reboot)
    if junit:
        junit.write_text(as_junit(name, rows), "utf-8")
    print(as_json(rows) if as_json_text else shown(rows), flush=True)
    if failing := failed(rows):
        raise Stop(Exit.FAILED, f"{len(failing)} of {len(rows)} rows failed")
    if not as_json_text:
        print(f"\n{name} works: {len(rows)} rows in {time.monotonic() - began:.0f} s")


def _all_rows(name: str, text: str, request: VerifyRequest, suite: Suite | None, *, reboot: bool) -> list[Row]:
    """Return the rows of a run, with those of Kubernetes' own tests. Raises Stop if the API does not answer."""
    api, server = reached_api.client(text), _server(text)
    try:
        rows = _rows(name, api, request, reboot=reboot)
        if suite:
            rows = [row for row in rows if row.check != upstream.CHECK]
            with reached_api.kept(name, text) as own:
                rows.append(upstream.run(suite, own, Cluster(api, "").nodes(), own.with_name("e2e")))
    except Unresolved as error:
        raise Stop(
            Exit.FAILED,
            f"{urlsplit(f'//{server}').hostname} has no address on this host ({error}). The name of a private API "
            "resolves in the cluster's network only: run this there, or set access: session or api.allow",
        ) from error
    except (Unreachable, Refused) as error:
        raise Stop(Exit.FAILED, f"the API of {name} at {server} failed: {error}") from error
    return rows


def _seconds(timeout: str, outside: list[str]) -> float:
    """Return the timeout in seconds. Raises Stop if it is not a duration, or a place outside is not name:port."""
    try:
        seconds = duration_seconds(timeout)
    except ValueError as error:
        raise Stop(Exit.USAGE, f"--timeout {error}") from error
    for place in outside:
        if not place.rpartition(":")[2].isdigit() or not place.rpartition(":")[0]:
            raise Stop(Exit.USAGE, f"--outside {place} is not name:port, such as {OUTSIDE[0]}")
    return seconds


def _rows(name: str, api: KubernetesApi, request: VerifyRequest, *, reboot: bool) -> list[Row]:
    """Return the rows of a run; with reboot also those of a second run, after a reboot of each machine."""
    try:
        api.ask("GET", "/version")
    except Unresolved:
        raise
    except Unreachable as error:  # it may still start: the wait for Nodes asks again, until --timeout
        print(f"mullion: {error}; trying again", file=sys.stderr, flush=True)
    rows = verify(api, request)
    if reboot:
        reboot_all.reboot_all(name)
        rows += [replace(row, where=f"{row.where}, rebooted") for row in verify(api, request)]
    return rows


def _server(kubeconfig: str) -> str:
    return urlsplit(yaml.safe_load(kubeconfig)["clusters"][0]["cluster"]["server"]).netloc


def _request(name: str, plan: ClusterPlan, outside: tuple[str, ...], seconds: float) -> VerifyRequest:
    """Return what to check. In a booted sandbox, its mirror stands for the internet, and some machines cannot boot."""
    expected, domain = tuple(machine.name for machine in plan.machines), plan.spec.network.domain
    overlay = plan.spec.network.mode is NetworkMode.OVERLAY
    if not boot_site.api(name):
        return VerifyRequest(expected, {}, outside or OUTSIDE, seconds, domain=domain, overlay=overlay)
    from sandbox.boot import machine_status, mirror, name_server
    from sandbox.cloud_state import CloudState

    cloud_state = CloudState(cloud_state_file(name))
    machines = machine_status.statuses(cloud_state)
    excused = {machine: status.why for machine, status in machines.items() if status.state == "not booted"}
    registered = {
        machine.name: WITHOUT_CONTAINERS
        for group in plan.machine_groups
        if not group.is_control_plane and plan.spec.pools[group.name].rollout.gate is Gate.REGISTERED
        for machine in group.machines
        if machine.name not in excused
    }
    mirrors = (f"{name_server.MIRROR}:{mirror.PORT}", f"{machine_status.network(cloud_state)['gateway']}:{mirror.PORT}")
    cloud_state.close()
    return VerifyRequest(expected, excused, outside or mirrors, seconds, LAB_IMAGE, registered, domain, overlay)
