"""Benchmark of node.ps1 under PowerShell for Windows (MULLION_WINPWSH): seconds of a run that sets nothing.

Measures a plan of a hundred steps, then whole nodes of this repository's stacks: steps, restarts and downloaded bytes,
from a stock disk and from a baked image.

Stand-ins replace modules that the machine lacks, such as access lists; their time is included.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from lab import build
from lab.cluster import IMITATED
from lab.linuxnode.image import lacking
from lab.programs import STAND_IN
from sandbox.boot.windows.winpwsh import Machine, new_machine
from tests.cloud_init.cloud import serving
from tests.cloud_init.windows import place
from tests.windows_plans.combinations import FOUR, Rendered, rendered
from tests.windows_plans.imaging import bake
from tests.windows_plans.server import Node, node, outcomes, restarts
from tests.windows_plans.server import steps as planned
from tests.windows_plans.site import NodeNetwork, node_network
from tools.bench.measure import best, show

GOAL = 3.0
RUNS = 7
KEY = r"HKLM\SOFTWARE\Bench"
PROGRAMS = ("api-version", "container-image", "node-object", "pod-range", "port-range", "probe")
"""Kinds whose test runs a program: kubectl, crictl or docker, netsh, reg."""


def steps() -> list[dict[str, Any]]:
    """Return a hundred steps, with small files."""
    folders = [{"kind": "directory", "name": f"folder-{n}", "path": rf"C:\bench\{n}"} for n in range(20)]
    files = [
        {"kind": "file", "name": f"file-{n}", "path": rf"C:\bench\{n % 20}\f{n}", "content": "a line\n" * 50}
        for n in range(60)
    ]
    values = [
        {"kind": "registry", "name": f"value-{n}", "key": KEY, "value": f"v{n}", "type": "DWord", "data": n}
        for n in range(10)
    ]
    services = [
        {"kind": "service", "name": f"service-{n}", "service": f"bench-{n}", "command": [r"C:\bench\s.exe"],
         "start": "boot"} for n in range(5)
    ]  # fmt: skip
    variables = [{"kind": "environment", "name": f"BENCH{n}", "variable": f"BENCH{n}", "value": "x"} for n in range(5)]
    return [*folders, *files, *values, *services, *variables]


def bare(machine: Machine) -> None:
    """Start a PowerShell that does nothing."""
    words = [
        *machine.entry,
        machine.tool,
        "pwsh",
        str(machine.folder),
        "-NoProfile",
        "-NonInteractive",
        "-Command",
        "exit 0",
    ]
    subprocess.run(words, check=True, capture_output=True, timeout=60)


def windows() -> None:
    """Print the time of the second run and of a bare start of PowerShell."""
    tool = os.environ.get("MULLION_WINPWSH")
    if not tool:
        print("node.ps1: MULLION_WINPWSH names no program that makes Windows machines with PowerShell", flush=True)
        return
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as cloud:
        machine = new_machine(tool, Path(folder) / "machine")
        place(machine, cloud, steps())
        if machine.node()[0] != 0:
            raise SystemExit(f"node.ps1: {machine.result()}")
        ours, other = best(RUNS, machine.node, lambda: bare(machine))
        if (found := {*outcomes(machine.result()).values()}) != {"held"}:
            raise SystemExit(f"node.ps1: a second run set something: {found}")
        machine.cut()
    show("node.ps1, 100 steps, second run / bare PowerShell", ours, other, GOAL)
    if why := lacking():
        print(f"whole Windows nodes: {why}", flush=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "site").mkdir()
        with node_network(Path(folder) / "site") as where:
            for what, how in IMITATED.items():
                print(f"imitated: {what}: {how}")
            for name in FOUR:
                whole(name, tool, where, Path(folder) / name)
                baked(name, tool, where, Path(folder) / f"{name}-image")


def whole(name: str, tool: str, where: NodeNetwork, folder: Path) -> None:
    """Measure a combination from a fresh disk to ready, then its second run, as a process."""
    made = _published(name, where)
    with node(tool, where, folder, made) as here:
        started = time.monotonic()
        result = _ready(here)
        first = time.monotonic() - started
        fetched = _seconds(here, ("artifact",))
        print(
            f"node.ps1, {name}, first boot: {first:.1f} s with its restart, without downloads {first - fetched:.1f} s"
        )
        ours, other = best(RUNS, here.machine.node, lambda: bare(here.machine))
        if {*outcomes(here.machine.result()).values()} != {"held"}:
            raise SystemExit(f"{name}: a second run set something: {here.machine.result()}")
        show(f"node.ps1, {name}, second run / bare", ours, other, GOAL, parts(here))
        counts(f"{name}, stock", here, result, goal=1)
    shutil.rmtree(folder)


def parts(here: Node) -> str:
    """Return the part of the last run's time that depends on the machine and on the sizes of downloads."""
    digests, programs = _seconds(here, ("artifact",)), _seconds(here, PROGRAMS)
    slowest = sorted(_steps(here), key=lambda step: -step[1])[:5]
    named = ", ".join(f"{name} {seconds:.2f}" for name, seconds, _ in slowest)
    return f"digests of downloads {digests:.2f} s, steps that start programs {programs:.2f} s; slowest: {named}"


def _steps(here: Node) -> list[tuple[str, float, str]]:
    """Return name, seconds and kind of each step of the last run."""
    kinds = {step["name"]: step["kind"] for step in planned(here.made.plan.document())}
    done = [step for phase in here.machine.result()["phases"] for step in phase["steps"]]
    return [(step["name"], step["seconds"], kinds[step["name"]]) for step in done]


def _seconds(here: Node, kinds: Collection[str]) -> float:
    """Return the seconds that the last run spent in steps of these kinds."""
    return sum(seconds for _, seconds, kind in _steps(here) if kind in kinds)


def baked(name: str, tool: str, where: NodeNetwork, folder: Path) -> None:
    """Measure the first boot of a clone of a baked image."""
    made = _published(name, where)
    with node(tool, where, folder, made, "baker-0", "10.20.1.9") as here:
        bake(here)
    where.downloads.forget()
    clone = folder.with_name(f"{name}-clone")
    with node(tool, where, clone, made, image=folder) as here:
        counts(f"{name}, baked", here, _ready(here), goal=0)
    for each in (folder, clone):
        shutil.rmtree(each)


def counts(what: str, here: Node, result: dict[str, Any], goal: int) -> None:
    """Print steps, steps that were set, restarts and downloads in one line. Bytes are those of the tests' stand-ins."""
    found, asked = outcomes(result), here.node_network.downloads.asked
    fetched = sum(len(here.made.files[each.name]) for each in asked) / 1e6
    steps = f"{len(found)} steps, {sum(each == 'set' for each in found.values())} set by the last boot"
    print(f"{what:<44} {steps}; restarts {restarts(here)} (goal {goal}); {len(asked)} downloads, {fetched:.1f} MB")


def _published(name: str, where: NodeNetwork) -> Rendered:
    made = rendered(name, where.mirror, build.build(STAND_IN, build.say))
    where.publish(made)
    return made


def _ready(here: Node) -> dict[str, Any]:
    result = here.power_on()
    if not result or result["state"] != "done":
        raise SystemExit(f"{here.made.group.name}: {result}\n{here.log()}")
    return result


if __name__ == "__main__":
    windows()
