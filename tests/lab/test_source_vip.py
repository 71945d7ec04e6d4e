"""The real host-local.exe stores reservations as the executor reads them: addresses of kube-proxy and of pods."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from lab.hns.service import BUILDS, Service
from sandbox.boot.windows.winpwsh import networking, new_machine
from tests.cloud_init.cloud import serving
from tests.conformance import on_windows
from tests.conformance.case import read
from tests.conformance.downloads import serving as serving_downloads
from tests.conformance.windows_machine import Driver
from tests.lab.conftest import WINPWSH, Find

pytestmark = pytest.mark.lab

PLUGIN = r"C:\lab\host-local.exe"
NETWORK = "flannel.4096"


def _pod(subnet: str) -> dict[str, Any]:
    """Return a call that reserves a pod's address, as flannel's CNI plugin makes it."""
    environment = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": "pod", "CNI_NETNS": "x", "CNI_IFNAME": "eth0"}
    ipam = {"type": "host-local", "subnet": subnet, "dataDir": "$root/cni"}
    conf = {"cniVersion": "1.0.0", "name": NETWORK, "ipam": ipam}
    return {"command": "pod", "argv": [PLUGIN], "environment": environment | {"CNI_PATH": r"C:\lab"}, "input": conf}


def _plan(subnet: str, *more: dict[str, Any]) -> list[dict[str, Any]]:
    books = {"network": NETWORK, "subnet": subnet, "data_directory": "$root/cni"}
    return [
        {"stale-network": "stale", **books, "services": []},
        {"source-vip": "vip", **books, "plugin": PLUGIN},
        *more,
    ]


HERE, THERE = "10.244.3.0/24", "10.244.7.0/24"
VIP, POD, NEW_VIP = "10.244.3.2", "10.244.3.3", "10.244.7.2"
"""host-local assigns the addresses of a range in order after the gateway's."""
MOVED = {"plan": _plan(THERE), "outcomes": {"stale": "set", "vip": "set"}}


def _kept(*files: str) -> dict[str, list[str]]:
    """Return the expected files of host-local's folder with these addresses."""
    return {f"$root/cni/{NETWORK}": [*files, "last_reserved_ip.0", "lock"]}


LIVES: dict[str, tuple[list[dict[str, Any]], dict[str, list[str]]]] = {
    "a second run keeps both": (
        [{"all": "set"}, {"plan": _plan(HERE), "outcomes": {"stale": "held", "vip": "held"}}],
        _kept(VIP, POD),
    ),
    "a boot frees the pod's, not kube-proxy's": (
        [{"all": "set"}, {"rebooted": True, "plan": _plan(HERE), "outcomes": {"stale": "set", "vip": "held"}}],
        _kept(VIP),
    ),
    "another range frees kube-proxy's, which gets an address of it; the network watch finds the pod by its own": (
        [{"all": "set"}, MOVED],
        _kept(POD, NEW_VIP),
    ),
    "the next boot frees the pod's of the old range": (
        [
            {"all": "set"},
            MOVED,
            {"rebooted": True, "plan": _plan(THERE), "outcomes": {"stale": "set", "vip": "held"}},
        ],
        _kept(NEW_VIP),
    ),
}
"""Runs after kube-proxy and a pod have addresses, and the reservations afterwards."""


def test_ops_04_srv_11_the_reservations_of_the_real_host_local_over_runs_boots_and_ranges(
    program: Find, tmp_path: Path, missing: Callable[[str, str], NoReturn]
) -> None:
    if not WINPWSH:
        missing("winpwsh", "MULLION_WINPWSH names no winpwsh, which runs Windows programs")
    with serving(tmp_path) as cloud, serving_downloads() as downloads:
        machine = new_machine(WINPWSH, tmp_path / "machine")
        on_windows.install(machine, cloud)
        place = machine.path(PLUGIN)
        place.parent.mkdir(parents=True)
        place.symlink_to(program("host-local", "windows"))
        driver = Driver(machine)
        failures: dict[str, list[str]] = {}
        with networking(machine, Service(BUILDS["windows-2019"], {"Ethernet": "10.20.1.4"})):
            for number, (name, (runs, kept)) in enumerate(LIVES.items()):
                plan = _plan(HERE, _pod(HERE))
                case = read(name, {"systems": ["windows"], "plan": plan, "runs": runs, "end": {"only": kept}})
                failures[name] = on_windows.play(case, driver, downloads, cloud, number)
            driver.kill()
    assert {name: problems for name, problems in failures.items() if problems} == {}
