"""A cloud on loopback, and the Linux scripts as modules."""

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

from components.machine.bundle import CLOUD_INIT
from lab import build
from lab.hns import dlls
from lab.hns.service import BUILDS, Service
from sandbox.boot.windows.winpwsh import Machine, networking, new_machine
from tests.cloud_init.cloud import FakeCloud, serving
from tests.cloud_init.linux import NUMBER, TOKEN, Execute, Programs


def pytest_configure(config: pytest.Config) -> None:
    """Register this folder's marker."""
    config.addinivalue_line("markers", "windows: runs PowerShell for Windows on throw-away machines (MULLION_WINPWSH)")


@pytest.fixture
def cloud(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[FakeCloud]:
    """Yield metadata, object store and secrets for this test; of AWS unless EACH_CLOUD parametrizes the test."""
    folder = tmp_path / "cloud"
    folder.mkdir()
    with serving(folder, cloud=getattr(request, "param", "aws")) as here:
        yield here


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch, cloud: FakeCloud) -> ModuleType:
    """Return cloud-init/linux/loader.py with the test's metadata service and without sleeping."""
    monkeypatch.syspath_prepend(str(CLOUD_INIT / "linux"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.import_module("loader")
    monkeypatch.setattr(module, "METADATA", cloud.url)
    monkeypatch.setattr(module, "ahead", 0.0)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    return module


@pytest.fixture(scope="session")
def winpwsh(missing: Callable[[str, str], NoReturn]) -> str:
    """Return the program that creates Windows machines."""
    tool = os.environ.get("MULLION_WINPWSH", "")
    if not tool:
        missing("winpwsh", "MULLION_WINPWSH names no program that makes Windows machines with PowerShell")
    return tool


@pytest.fixture(scope="session")
def winhns(winpwsh: str, missing: Callable[[str, str], NoReturn]) -> str:
    """Return the same program, once the DLLs of the imitated HNS are there, which its machines get (3 s)."""
    try:
        dlls.make(build.say)
    except build.NotBuilt as why:
        missing("lab", str(why))
    return winpwsh


@pytest.fixture
def machine(winhns: str, tmp_path: Path) -> Iterator[Machine]:
    """Yield a fresh Windows machine for this test, booted, with an empty HNS."""
    here = new_machine(winhns, tmp_path / "machine")
    with networking(here, Service(BUILDS["windows-2019"], {"Ethernet": "10.20.1.4"})):
        here.stay_on()
        yield here
        here.cut()


@pytest.fixture
def node(loader: ModuleType) -> ModuleType:
    """Return cloud-init/linux/node.py; `loader` made it importable and set its metadata service."""
    return importlib.import_module("node")


@pytest.fixture
def programs(node: ModuleType, root: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Return stand-ins for the machine's programs."""
    stand_in = Programs(root)
    monkeypatch.setattr(importlib.import_module("programs"), "start", stand_in.start)
    return stand_in


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the machine's root."""
    return tmp_path / "root"


@pytest.fixture
def execute(node: ModuleType, programs: Programs, root: Path, cloud: FakeCloud, tmp_path: Path) -> Execute:
    """Return execute(*steps, **plan's fields), which runs a plan with these steps and returns the result."""
    facts = {name: value for name, value in cloud.facts.items() if name != "status_url"}
    told = {"machine": {"name": "linux-0", "address": "10.20.1.4"}, "facts": facts}
    cloud.secrets |= {
        "join": TOKEN,
        "desired-state": "a2V5IG9mIHRoZSBwb2ludGVy",
        "pki": json.dumps(
            {
                "ca.key": "-----BEGIN-----\nsecretline\n",
                "keys": ["a2V5Mg==", "a2V5MQ=="],
                "signers": [{"number": 1, "private": "signs", "public": "verifies"}],
            }
        ),
    }

    def run(*steps: dict[str, Any], **changes: Any) -> dict[str, Any]:
        named = [{"name": f"step-{place}", **each} for place, each in enumerate(steps)]
        phases = [{"name": "all", "scope": "node", "steps": named}]
        plan = {"format": 1, "os": "ubuntu-22.04", "registration": {"labels": "a=b", "taints": []}, "phases": phases}
        folder = tmp_path / "bundle"
        folder.mkdir(exist_ok=True)
        more = changes.pop("facts", {})
        if "node.bootstrap_token" in json.dumps(named):
            more = {"status_url": cloud.facts["status_url"]} | more
            (root / "var/lib/mullion").mkdir(parents=True, exist_ok=True)
            (root / "var/lib/mullion/join-number").write_text(NUMBER)
        (folder / "plan.json").write_text(json.dumps(plan | changes))
        return node.execute(root, folder, told | {"facts": facts | more})

    return run
