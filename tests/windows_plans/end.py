"""The end state of a node as JSON: every file, right, registry value, rule, network and Kubernetes object.

Goldens contain it: MULLION_RECORD=1 rewrites them, so a change shows in review.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.hns.first_api import FORMS
from tests.conformance.windows_access import access_of
from tests.windows_plans.registry import gained
from tests.windows_plans.server import Node

GOLDEN = Path(__file__).with_name("golden")
RECORD = "MULLION_RECORD"
OUTSIDE = ("windows", "fakes", "jobs", "users", "Program Files/mullion")
"""Folders of C: of Windows, the stand-ins, or the loader."""
MEMORY = "ProgramData/mullion/"
"""The executor's own files: its state and its reports."""
BOOKS = ("rules", "profiles", "routes", "features", "ports", "defender", "tasks", "images", "forwarding")
BOOT = r"Software\mullion-boot"
"""The boot's number, which the driver of the tests writes; on Windows the key is volatile."""
CHANGING = ("ID", "VirtualNetwork", "MacAddress", "DrMacAddress")
"""Fields of HNS whose values differ in each run."""

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_VERSION = re.compile(rb"\nversion=(v[\w.-]+)\n\Z")
_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----\n?", re.DOTALL)


def state(node: Node, fresh: Path) -> dict[str, Any]:
    """Return the state of a node that is off; `fresh` is the folder of an unused machine."""
    drive, access = node.machine.drive, node.last["access"]
    files = {name: place for name, place in _files(drive) if not (fresh / "drive_c" / name).exists()}
    return {
        "files": {
            windows(name): {"access": access_of(access.get(windows(name), "inherited")), "content": text(place, node)}
            for name, place in sorted(files.items())
        },
        "folders": {
            path: access_of(rules) for path, rules in sorted(access.items()) if node.machine.path(path).is_dir()
        },
        "registry": {key: values for key, values in gained(node.machine.folder, fresh).items() if key != BOOT},
        **{name: anonymous(node.last.get(name, {})) for name in BOOKS},
        **{name: nameless(node.last[name]) for name in FORMS},
        "node": shown(node.node_network.api.nodes.get(node.name)),
    }


def _files(drive: Path) -> Iterator[tuple[str, Path]]:
    for folder, folders, names in os.walk(drive):
        inside = Path(folder).relative_to(drive).as_posix()
        folders[:] = [each for each in folders if f"{inside}/{each}".removeprefix("./") not in OUTSIDE]
        for name in names:
            path = f"{inside}/{name}".removeprefix("./")
            if not path.startswith(MEMORY) or "/downloads/" in path:
                yield path, Path(folder) / name


def windows(name: str) -> str:
    """Return the path on the machine."""
    return "C:\\" + name.replace("/", "\\")


def text(place: Path, node: Node) -> str:
    """Return a file's content in the form of goldens: without values that differ between runs."""
    if place.suffix in (".gz", ".tgz", ".zip"):
        return "(archive)"
    if "var/log" in place.as_posix():
        return "(log)"
    content = place.read_bytes()
    if program := _VERSION.search(content):
        return f"({'program' if content.startswith(b'MZ') else 'file'} of {program[1].decode()})"
    shown = _PEM.sub(lambda found: f"({found[1].lower()})\n", content.decode())
    for changing, name in ((node.node_network.cloud.url, "(services)"), (node.node_network.mirror, "(mirror)")):
        shown = shown.replace(changing, name)
    return shown


def asked(node: Node) -> list[Any]:
    """Return the calls of the stand-ins of Windows' modules, in order."""
    return anonymous(node.lines("asked"))


def requests(node: Node) -> list[Any]:
    """Return the requests to HNS that change something: method, path and document, in order."""
    changes = [words for name, *words in node.hns.calls if name == "HNSCall" and words[0] != "GET"]
    return anonymous([[method, path, json.loads(text or "null")] for method, path, text in changes])


def anonymous(found: Any) -> Any:
    """Return the value without ids of HNS."""
    return json.loads(_ID.sub("(id)", json.dumps(found)))


def nameless(listed: list[Any]) -> list[Any]:
    """Return HNS objects by name, without ids."""
    plain = ({key: value for key, value in item.items() if key not in CHANGING} for item in listed)
    return sorted(plain, key=lambda item: str(item.get("Name")))


def shown(found: dict[str, Any] | None) -> Any:
    """Return a Node object without its uid."""
    if found is None:
        return None
    metadata = {key: value for key, value in found["metadata"].items() if key != "uid"}
    return {**found, "metadata": metadata}


def record(name: str, found: dict[str, Any]) -> None:
    """Write the golden if MULLION_RECORD is set."""
    if os.environ.get(RECORD):
        GOLDEN.mkdir(exist_ok=True)
        text = json.dumps(found, indent=1, sort_keys=True) + "\n"
        (GOLDEN / f"{name}.json").write_text(text, encoding="utf-8")


def differences(name: str, found: dict[str, Any]) -> list[str]:
    """Return the differences from the golden."""
    wanted = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    seen = json.loads(json.dumps(found))
    return list(_unlike({key: wanted.get(key) for key in seen}, seen, name))


def _unlike(wanted: Any, found: Any, where: str) -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted(wanted.keys() | found.keys()):
            yield from _unlike(wanted.get(key), found.get(key), f"{where}: {key}")
    elif wanted != found:
        yield f"{where} is {json.dumps(found)[:600]}, the golden says {json.dumps(wanted)[:600]}"
