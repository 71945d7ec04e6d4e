"""One case on a Windows machine: its folders, how its state is set up and read."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.hns.service import Service
from sandbox.boot.windows.winpwsh import Machine
from tests.cloud_init.cloud import INSTANCE, FakeCloud
from tests.conformance import authority, windows_areas, windows_hns, windows_programs
from tests.conformance.case import Case, placed
from tests.conformance.downloads import Downloads
from tests.conformance.state import State
from tests.conformance.windows_access import access_of, sddl
from tests.conformance.windows_machine import Driver


@dataclass
class WindowsCase:
    """A case, and the machine that it shares with other cases."""

    case: Case
    driver: Driver
    downloads: Downloads
    cloud: FakeCloud
    number: int
    starts: dict[str, int] = field(default_factory=dict[str, int])
    """How often a step started each service."""
    found: dict[str, Any] = field(default_factory=dict[str, Any])
    wanted: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def machine(self) -> Machine:
        """Return the machine that it shares with other cases."""
        return self.driver.machine

    @property
    def home(self) -> str:
        """Return the case's own folder."""
        return rf"C:\case\{self.number}"

    @property
    def fakes(self) -> Path:
        """Return the folder of the stand-ins' state."""
        return self.machine.path(rf"{self.home}\fakes")

    def fill(self, kind: str, name: str) -> str:
        """Return the value of a placeholder."""
        if kind == "root":
            root = [r"C:\full"] if self.driver.full else [self.home, "root"]
            return "\\".join([*root, *name.split("/")]).rstrip("\\")
        if kind == "programs":
            return windows_programs.name(rf"{self.home}\programs", name, self.case.programs.get(name))
        if kind in ("sha256", "sha512"):
            return self.downloads.digest(kind, name)
        if kind == "state":
            return rf"{self.home}\data\mullion\{name}"
        if kind == "port":
            return self.downloads.urls["url"].rpartition(":")[2]
        if kind in ("machine", "instance"):
            return "web-0" if kind == "machine" else INSTANCE
        if kind == "certificate":
            return authority.node_pem(name)
        if kind == "ca":
            return authority.other_pem() if name else authority.pem(authority.authority())
        return f"{self.downloads.urls[kind]}/{name}".rstrip("/")

    def told(self) -> dict[str, Any]:
        """Return machine.json."""
        facts = {"cloud": "aws", "region": "eu-west-1", "world": "sandbox", "secret_service": f"{self.cloud.url}/"}
        facts |= {"join_secret": "join", "pki_secret": "pki", "status_url": f"{self.cloud.url}/status/AROAEXAMPLE%3A"}
        facts |= {"bundle_store": f"{self.cloud.url}/bundles"} | self.case.facts
        machine = {"name": "web-0", "address": "10.20.1.4", "pod_cidr": "10.244.3.0/24"}
        return {"machine": machine, "facts": placed(facts, self.fill)}

    def filled(self, state: State) -> State:
        """Return the state with placeholders filled in."""
        return State.model_validate(placed(state.model_dump(), self.fill))

    def cleared(self) -> State:
        """Return a state that removes leftovers of earlier cases from the places that this case uses."""
        steps = placed(self.case.steps, self.fill)
        system: dict[str, Any] = {"build": windows_areas.BUILD, "pagefile": "automatic", "hostname": "web-0"}
        named = [each["service"] for each in steps if isinstance(each.get("service"), str)]
        system["services"] = dict.fromkeys([*named, *self.case.start.system.get("services", {})], "absent")
        system["variables"] = {each["variable"]: None for each in steps if "variable" in each}
        registry = [each for each in steps if each["kind"] == "registry" and "key" in each and "value" in each]
        system["registry"] = {f"{each['key']}\\{each['value']}": None for each in registry}
        return State(system=system)

    def arrange(self, state: State, *, boot: bool = False) -> None:
        """Set up files, rights and the system's state."""
        system = state.system
        self.cloud.secrets |= system.get("secrets", {})
        for area in system.keys() & windows_areas.KEPT.keys():
            windows_areas.keep(self.fakes, area, system[area])
        if system.keys() & set(windows_hns.AREAS):
            self.write_book("forwarding", windows_hns.arrange(self.hns, system, self.book("forwarding")))
        for name, status in system.get("services", {}).items():
            windows_programs.service(self.driver, name, status)
        values = [each for area in system for each in windows_areas.values(area, system[area])]
        variables = system.get("variables", {})
        if values or variables or boot or system.get("services"):
            services = system.get("services", {})
            self.driver.call(
                "arrange", fakes=self.fake_folder, values=values, variables=variables, services=services, boot=boot
            )
        self.arrange_files(state)

    @property
    def fake_folder(self) -> str:
        """Return the folder of the stand-ins' state, as the machine names it."""
        return rf"{self.home}\fakes"

    def arrange_files(self, state: State) -> None:
        """Set up files and their rights."""
        for path in state.folders:
            self.place(path).mkdir(parents=True, exist_ok=True)
        for path, text in state.files.items():
            self.place(path).parent.mkdir(parents=True, exist_ok=True)
            self.place(path).write_bytes(text.encode())
        book = self.book("access")
        for path, access in {**state.folders, **state.access}.items():
            word, *readers = access.split(", ")
            folder = self.place(path).is_dir()
            book[path] = access if access.startswith("D:") else sddl(word, readers, folder=folder)
        links = self.book("links")
        for path, target in state.links.items():
            self.place(path).parent.mkdir(parents=True, exist_ok=True)
            self.place(path).write_text("link")
            links[path] = target
        for path in state.absent:
            place = self.place(path)
            shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        for name, content in (("access", book), ("links", links)):
            self.write_book(name, content)

    def book(self, name: str) -> dict[str, Any]:
        """Return one state file of the stand-ins."""
        place = self.fakes / f"{name}.json"
        return json.loads(place.read_text()) if place.exists() else {}

    def write_book(self, name: str, content: Any) -> None:
        """Write one state file of the stand-ins."""
        (self.fakes / f"{name}.json").write_text(json.dumps(content))

    @property
    def hns(self) -> Service:
        """Return the machine's Host Networking Service."""
        assert self.machine.hns
        return self.machine.hns

    @property
    def data(self) -> Path:
        """Return the executor's own folder of this case."""
        return self.machine.path(rf"{self.home}\data\mullion")

    def look(self, end: State) -> None:
        """Read from the machine what the judge needs."""
        values = [each for area in end.system for each in windows_areas.values(area, end.system[area])]
        places = [{"key": each["key"], "name": each["name"]} for each in values]
        named = {area: sorted(end.system.get(area, {})) for area in ("services", "variables")}
        look: dict[str, Any] = {**named, "values": places}
        self.found = {**(self.driver.call("look", **look) if any(look.values()) else look), "places": places}
        self.wanted = end.system

    def place(self, path: str) -> Path:
        """Return the path at which the test can read the file."""
        if self.driver.full and path.startswith(r"C:\full"):
            return self.driver.full.joinpath(*path.split("\\")[2:])
        return self.machine.path(path)

    def access(self, path: str) -> str:
        """Return private, public, or the rules."""
        return access_of(self.book("access").get(path, "inherited"))

    def owner(self, path: str) -> str:
        """Raise NotImplementedError: only Linux has owners."""
        raise NotImplementedError(path)

    def executable(self, path: str) -> bool:
        """Return whether the file exists: on Windows every file is executable."""
        return self.place(path).exists()

    def link(self, path: str) -> str | None:
        """Return the target of a link."""
        return self.book("links").get(path) if self.place(path).exists() else None

    def system(self, area: str) -> Any:
        """Return the system's state of an area."""
        if area in windows_areas.KEPT:
            return windows_areas.kept(self.fakes, area)
        values = dict(zip((each["name"] for each in self.found["places"]), self.found["values"], strict=True))
        readers: dict[str, Callable[[], Any]] = {
            "services": lambda: self.found["services"],
            "variables": lambda: self.found["variables"],
            "starts": lambda: {name: self.starts.get(name, 0) for name in self.wanted["starts"]},
            "hostname": lambda: values["ComputerName"]["data"],
            "build": lambda: {"build": int(values["CurrentBuildNumber"]["data"]), "ubr": values["UBR"]["data"]},
            "pagefile": lambda: page_file(values["PagingFiles"]["data"]),
            "registry": lambda: dict(zip(self.wanted["registry"], self.found["values"], strict=True)),
            "secrets": lambda: dict(self.cloud.secrets),
            "addresses": self.addresses,
        }
        if area in windows_hns.AREAS:
            return windows_hns.seen(self.hns, area, self.book("forwarding"))
        return readers[area]()

    def addresses(self) -> list[str]:
        """Return the addresses that a stand-in of host-local has reserved."""
        folders = [self.place(self.filled_text(each.holds)) for each in self.case.programs.values() if each.holds]
        return sorted(file.name for folder in folders for file in folder.rglob("*.*.*.*"))

    def filled_text(self, text: str) -> str:
        """Return a text with placeholders filled in."""
        return placed(text, self.fill)


def page_file(lines: list[str]) -> Any:
    """Return the page file in the form of cases."""
    if lines == windows_areas.AUTOMATIC:
        return "automatic"
    _, initial, maximum = lines[0].split()
    return {"initial_mb": int(initial), "maximum_mb": int(maximum)}
