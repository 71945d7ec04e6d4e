"""A Windows node: a machine that boots, runs the product's own plan, loses its power, and boots again."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.node.plan import canonical
from sandbox.boot.windows.losses import reboot
from sandbox.boot.windows.registry import CURRENT_VERSION, SYSTEM, add
from sandbox.boot.windows.winpwsh import BOOKS, FOLDER, MULLION, Machine, inside, new_machine
from tests.conformance.on_windows import STATUS, install
from tests.conformance.windows_machine import Driver, PowerGone
from tests.windows_plans.combinations import Rendered
from tests.windows_plans.site import API_HOST, ROUTER, NodeNetwork

FRESH = "ec2amaz-1"
"""The name that Windows gives itself before anyone names it."""
BOOTS = 8
LONGEST = 600
"""Seconds of one run of a whole plan; five on a machine that does nothing else."""
DATA = r"C:\ProgramData\mullion"


@dataclass
class Node:
    """One machine in its own network namespace."""

    node_network: NodeNetwork
    machine: Machine
    name: str
    address: str
    space: str
    made: Rendered
    driver: Driver = field(init=False)
    last: dict[str, Any] = field(default_factory=dict[str, Any])
    """The books when the machine went down."""

    def __post_init__(self) -> None:
        """Put the executor there."""
        install(self.machine, self.node_network.cloud)
        facts = self.node_network.facts()
        planned = self.made.machine(self.name, self.address)
        told = {"bundle": {"url": "", "sha256": ""}, "facts": facts, "machine": planned}
        self.machine.path(rf"{MULLION}\machine.json").write_text(json.dumps(told))
        if "pod_cidr" in planned:
            self.node_network.api.ranges[self.name] = planned["pod_cidr"]
        self.take(self.made.plan.document())
        self.driver = Driver(self.machine, longest=LONGEST)

    def take(self, plan: dict[str, Any]) -> None:
        """Let this be its plan."""
        self.machine.path(rf"{FOLDER}\plan.json").write_bytes(canonical(plan))

    @property
    def books(self) -> Path:
        """What the stand-ins of Windows' modules keep."""
        return self.machine.path(BOOKS)

    def book(self, name: str) -> Any:
        """One of the books."""
        place = self.books / f"{name}.json"
        return json.loads(place.read_text()) if place.exists() else {}

    def change(self, name: str, kept: Any) -> None:
        """Write a book anew."""
        (self.books / f"{name}.json").write_text(json.dumps(kept))

    def lines(self, name: str) -> list[Any]:
        """Lines of a book that grows."""
        place = self.books / f"{name}.jsonl"
        return [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []

    def boot(self) -> None:
        """A new boot, with the name that was asked for, and the services that start by themselves."""
        asked = self.books / "name.txt"
        etc = self.machine.folder / "etc"
        etc.mkdir(exist_ok=True)
        name = asked.read_text() if asked.exists() else FRESH
        # its own name stands there too: a name server that nobody reaches makes each start of Wine wait for it
        (etc / "hosts").write_text(f"127.0.0.1 localhost\n{self.address} {name}\n{ROUTER} {API_HOST}\n")
        self.machine.entry = inside(self.space, name, etc)
        self.driver.call("arrange", fakes=BOOKS, values=[], variables={}, services={}, boot=True)

    def run(self, **cut: Any) -> dict[str, Any] | None:
        """The boot task: result.json of a run of the executor, None where power went."""
        place = self.machine.path(rf"{DATA}\result.json")
        place.unlink(missing_ok=True)
        try:
            self.driver.call("run", fakes=BOOKS, check=False, **cut)
        except PowerGone:
            return None
        return json.loads(place.read_text())

    @property
    def is_on(self) -> bool:
        """Whether it was booted and not cut since."""
        return self.driver.process is not None and self.driver.process.poll() is None

    def off(self) -> None:
        """The power goes, and with it what Windows keeps in memory alone."""
        self.driver.kill()
        self.last = {file.stem: json.loads(file.read_text()) for file in self.books.glob("*.json")}
        reboot(self.books)

    def power_on(self, **cut: Any) -> dict[str, Any] | None:
        """Boot and run, as often as the machine restarts itself."""
        for _ in range(BOOTS):
            self.boot()
            found = self.run(**cut)
            if found is None or found["state"] != "reboot":
                return found
            self.off()
        raise AssertionError("it restarts for ever")

    def set_version(self, **values: Any) -> None:
        """Change values of CurrentVersion while the machine is on."""
        kinds: dict[type, str] = {str: "String", int: "DWord"}
        rows = [
            {
                "key": f"HKEY_LOCAL_MACHINE\\{CURRENT_VERSION}",
                "name": name,
                "value": {"type": kinds[type(data)], "data": data},
            }
            for name, data in values.items()
        ]
        self.driver.call("arrange", fakes=BOOKS, values=rows, variables={}, services={})

    def recover(self) -> None:
        """Nothing is wrong any more with programs and Windows; the plan is the product's own again."""
        build, revision = self.made.build
        self.change("flanneld", {})
        self.change("faults", {})
        self.set_version(CurrentBuildNumber=str(build), UBR=revision)
        self.take(self.made.plan.document())

    def status(self) -> dict[str, Any]:
        """The machine's status record."""
        return json.loads(self.node_network.cloud.objects[STATUS])

    def log(self) -> str:
        """The end of what the executor said, and what stand-in programs refused."""
        log = self.machine.path(rf"{DATA}\node.log")
        text = log.read_text(errors="replace")[-3000:] if log.exists() else ""
        return f"{text}\nfailures: {self.lines('failures')}\nrefused: {self.node_network.api.refused}"


def outcomes(result: dict[str, Any]) -> dict[str, str]:
    """held or set, by step."""
    return {step["name"]: step["outcome"] for phase in result["phases"] for step in phase["steps"]}


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All steps of a plan."""
    return (step for phase in plan["phases"] for step in phase["steps"])


def installed(tool: str, folder: Path, build: int, revision: int) -> Machine:
    """A machine of a stock image: what Windows Server brings."""
    machine = new_machine(tool, folder)
    add(folder, {**SYSTEM, CURRENT_VERSION: {"CurrentBuildNumber": str(build), "UBR": f"dword:{revision:08x}"}})
    return machine


def copied(tool: str, image: Path, folder: Path) -> Machine:
    """A machine whose disk is a copy of another's, which is off; Windows' own files are links to the same."""

    def place(source: str, target: str) -> str:
        own = "/drive_c/windows/" in source
        return shutil.copy2(source, target, follow_symlinks=False) if not own else link(source, target)

    def link(source: str, target: str) -> str:
        os.link(source, target, follow_symlinks=False)
        return target

    shutil.copytree(image, folder, symlinks=True, copy_function=place)
    return Machine(tool, folder)


@contextmanager
def node(
    tool: str, node_network: NodeNetwork, folder: Path, made: Rendered, name: str = "web-0", address: str = "10.20.1.4",
    image: Path | None = None,
) -> Iterator[Node]:  # fmt: skip
    """A machine with a new disk, or a copy of an image; it ends with the test."""
    machine = copied(tool, image, folder) if image else installed(tool, folder, *made.build)
    space = node_network.space(f"{name}{folder.name}", address)
    here = Node(node_network, machine, name, address, space, made)
    try:
        yield here
    finally:
        here.driver.kill()
        node_network.leave(space)


def restarts(here: Node) -> int:
    """How often the machine asked for a restart."""
    return sum(one["name"] == "Restart-Computer" for one in here.lines("asked"))
