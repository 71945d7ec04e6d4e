"""A Windows node: a machine that boots, runs a plan that the product rendered, loses power, and boots again."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.node.plan import canonical
from lab.hns import first_api
from lab.hns.service import BUILDS, Object, Service
from sandbox.boot.windows.losses import reboot
from sandbox.boot.windows.registry import CURRENT_VERSION, SYSTEM, add
from sandbox.boot.windows.winpwsh import BOOKS, FOLDER, MULLION, Machine, inside, networking, new_machine
from tests.conformance.on_windows import STATUS, install
from tests.conformance.windows_machine import Driver, PowerGone
from tests.windows_plans.combinations import Rendered
from tests.windows_plans.site import API_HOST, ROUTER, NodeNetwork

FRESH = "ec2amaz-1"
"""The host name that Windows chooses before the plan sets one."""
BOOTS = 8
HOLD_SECONDS = 2
"""Seconds for which metadata routes must hold in these tests, instead of a minute."""
LONGEST = 600
"""Time limit of a run of a whole plan, seconds; it takes about five on an idle host."""
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
    """State of the stand-ins when the machine was last switched off."""

    def __post_init__(self) -> None:
        """Install the executor."""
        install(self.machine, self.node_network.cloud)
        facts = self.node_network.facts()
        planned = self.made.machine(self.name, self.address)
        document = {"bundle": {"url": "", "sha256": ""}, "facts": facts, "machine": planned}
        self.machine.path(rf"{MULLION}\machine.json").write_text(json.dumps(document))
        if "pod_cidr" in planned:
            self.node_network.api.ranges[self.name] = planned["pod_cidr"]
        self.take(self.made.plan.document())
        self.driver = Driver(self.machine, longest=LONGEST)

    def take(self, plan: dict[str, Any]) -> None:
        """Write the plan that the machine runs; its metadata routes need not hold for a whole minute."""
        for step in steps(plan):
            if "hold_seconds" in step:
                step["hold_seconds"] = HOLD_SECONDS
        self.machine.path(rf"{FOLDER}\plan.json").write_bytes(canonical(plan))

    @property
    def books(self) -> Path:
        """Return the folder of the state of Windows' stand-in modules."""
        return self.machine.path(BOOKS)

    def book(self, name: str) -> Any:
        """Return one state file."""
        place = self.books / f"{name}.json"
        return json.loads(place.read_text()) if place.exists() else {}

    def change(self, name: str, kept: Any) -> None:
        """Write a state file."""
        (self.books / f"{name}.json").write_text(json.dumps(kept))

    def lines(self, name: str) -> list[Any]:
        """Return the lines of a log of the stand-ins."""
        place = self.books / f"{name}.jsonl"
        return [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []

    def boot(self) -> None:
        """Boot with the name that was set, and with the services that start at boot."""
        asked = self.books / "name.txt"
        etc = self.machine.folder / "etc"
        etc.mkdir(exist_ok=True)
        name = asked.read_text() if asked.exists() else FRESH
        # the machine's own name must resolve: otherwise each start of Wine waits for the unreachable name server
        (etc / "hosts").write_text(f"127.0.0.1 localhost\n{self.address} {name}\n{ROUTER} {API_HOST}\n")
        self.machine.entry = inside(self.space, name, etc)
        self.driver.call("arrange", fakes=BOOKS, values=[], variables={}, services={}, boot=True)

    def run(self, **cut: Any) -> dict[str, Any] | None:
        """Run the boot task: return result.json of the executor's run, or None if power was cut."""
        place = self.machine.path(rf"{DATA}\result.json")
        place.unlink(missing_ok=True)
        try:
            self.driver.call("run", fakes=BOOKS, check=False, **cut)
        except PowerGone:
            return None
        return json.loads(place.read_text())

    @property
    def is_on(self) -> bool:
        """Return whether it has booted and was not cut since."""
        return self.driver.process is not None and self.driver.process.poll() is None

    @property
    def hns(self) -> Service:
        """Return the machine's Host Networking Service."""
        assert self.machine.hns
        return self.machine.hns

    def listed(self, kind: str) -> list[Object]:
        """Return what the first API of HNS lists: `kind` is networks, endpoints or policylists."""
        return first_api.listing(self.hns, kind)

    def ask(self, method: str, path: str, body: Any = None) -> None:
        """Send a request to HNS. Raises AssertionError if HNS refuses it."""
        answer = json.loads(first_api.call(self.hns, method, path, json.dumps(body) if body else ""))
        assert answer["Success"], self.hns.refusals
        self.hns.changed()

    def off(self) -> None:
        """Cut the power; state that Windows keeps in memory is lost."""
        self.driver.kill()
        self.last = {file.stem: json.loads(file.read_text()) for file in self.books.glob("*.json")}
        self.last |= {kind: self.listed(kind) for kind in first_api.FORMS}
        reboot(self.books)
        self.hns.reboot()

    def power_on(self, **cut: Any) -> dict[str, Any] | None:
        """Boot and run, again after each restart that the machine requests."""
        for _ in range(BOOTS):
            self.boot()
            result = self.run(**cut)
            if result is None or result["state"] != "reboot":
                return result
            self.off()
        raise AssertionError("the machine restarts without end")

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
        """Repair programs and Windows, remove other programs' networks, and restore the product's own plan."""
        for each in self.listed("networks"):
            if each["Type"] == "NAT":
                self.ask("DELETE", f"/networks/{each['ID']}")
        build, revision = self.made.build
        self.change("flanneld", {})
        self.change("faults", {})
        self.set_version(CurrentBuildNumber=str(build), UBR=revision)
        self.take(self.made.plan.document())

    def status(self) -> dict[str, Any]:
        """Return the machine's status record."""
        return json.loads(self.node_network.cloud.objects[STATUS])

    def log(self) -> str:
        """Return the end of the executor's output, and calls that stand-ins refused."""
        log = self.machine.path(rf"{DATA}\node.log")
        text = log.read_text(errors="replace")[-3000:] if log.exists() else ""
        refused = [*self.node_network.api.refused, *self.hns.refusals]
        return f"{text}\nfailures: {self.lines('failures')}\nrefused: {refused}"


def outcomes(result: dict[str, Any]) -> dict[str, str]:
    """Return held or set, by step."""
    return {step["name"]: step["outcome"] for phase in result["phases"] for step in phase["steps"]}


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all steps of a plan."""
    return (step for phase in plan["phases"] for step in phase["steps"])


def installed(tool: str, folder: Path, build: int, revision: int) -> Machine:
    """Return a machine with the parts of a stock Windows Server image."""
    machine = new_machine(tool, folder)
    add(folder, {**SYSTEM, CURRENT_VERSION: {"CurrentBuildNumber": str(build), "UBR": f"dword:{revision:08x}"}})
    return machine


def copied(tool: str, image: Path, folder: Path) -> Machine:
    """Return a machine whose disk is a copy of another's, which is off; Windows' own files are hard links."""

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
    """Create a machine with a new disk, or a copy of an image; it is removed at the end."""
    machine = copied(tool, image, folder) if image else installed(tool, folder, *made.build)
    space = node_network.space(f"{name}{folder.name}", address)
    worker = Node(node_network, machine, name, address, space, made)
    build = next(each for each in BUILDS.values() if each.number == made.build[0] and each.dsr)
    try:
        with networking(machine, Service(build, {"Ethernet": address}), space):
            yield worker
            worker.driver.kill()
    finally:
        worker.driver.kill()
        node_network.leave(space)


def restarts(worker: Node) -> int:
    """Return how often the machine requested a restart."""
    return sum(one["name"] == "shutdown.exe" for one in worker.lines("asked"))
