"""A run of the Linux executor: failures by number, retries, restarts, what it never says."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.bundle import CLOUD_INIT
from components.node.kinds import KINDS
from tests.cloud_init.cloud import Cloud
from tests.cloud_init.linux import SIMPLE, TOKEN, Execute, Programs, fetched, outcomes, put, sha256, tar_of

UNSAFE = tar_of({"../evil": b"x"})
FAILING: list[tuple[str, dict[str, Any]]] = [
    ("kind-not-implemented", {"kind": "teleport"}),
    ("reference-unresolved", {"kind": "file", "path": "/a", "content": {"ref": "facts.region"}}),
    ("step-invalid", {"kind": "file", "path": "/a", "content": 1}),
    ("step-invalid", {"kind": "file", "content": "x"}),
    ("step-invalid", {"kind": "wait", "condition": {"moon": "full"}}),
    ("wait-timeout", {"kind": "wait", "condition": {"file": "/never"}, "timeout_seconds": -1}),
    ("secret-unavailable", {"kind": "secret", "secret": "none", "path": "/a", "retries": 0}),
    ("secret-unavailable", {"kind": "secret", "secret": "pki", "member": "none", "path": "/a", "retries": 0}),
    ("command-failed", {"kind": "command", "argv": ["false-program"]}),
    ("network-missing", {"kind": "file", "path": "/a", "content": {"ref": "node.pod_subnet"}, "retries": 0}),
    ("file-failed", {"kind": "archive", "source": "/none", "target": "/t", "retries": 0}),
]


@pytest.mark.parametrize(("name", "step"), FAILING)
def test_each_failure_has_its_number_phase_and_step(
    execute: Execute, programs: Programs, name: str, step: dict[str, Any]
) -> None:
    programs.answers["false-program"] = (1, "no")
    result = execute({"kind": "directory", "path": "/first"}, step)
    codes = {row["name"]: row["code"] for row in json.loads((CLOUD_INIT / "errors.json").read_text())["errors"]}
    assert (result["state"], result["name"], result["code"]) == ("failed", name, codes[name])
    assert (result["phase"], result["step"]) == ("all", "step-1")
    assert result["message"]


@pytest.mark.parametrize(
    ("name", "content"), [("digest-mismatch", b"other"), ("archive-unsafe", UNSAFE), ("archive-broken", b"no archive")]
)
def test_a_bad_download_leaves_nothing_in_its_place(
    execute: Execute, cloud: Cloud, root: Path, name: str, content: bytes
) -> None:
    steps = fetched(cloud, content)
    if name == "digest-mismatch":
        steps[0]["digest"] = sha256(b"expected")
    assert execute(*steps)["name"] == name
    assert not (root / "opt").exists()
    assert (root / "var/a").exists() == (name != "digest-mismatch")


@pytest.mark.parametrize(
    ("changes", "name"), [({"format": 2}, "plan-format"), ({"os": "windows-2019"}, "other-system")]
)
def test_a_plan_of_another_format_or_system_is_refused(execute: Execute, changes: dict[str, Any], name: str) -> None:
    assert execute(**changes)["name"] == name


def test_a_step_that_may_pass_is_tried_again_with_growing_waits(
    execute: Execute, programs: Programs, node: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[int] = []
    monkeypatch.setattr(node.time, "sleep", slept.append)
    programs.answers["kubeadm"] = (1, "connection refused")
    assert execute({"kind": "command", "argv": ["kubeadm"], "retries": 6})["code"] == 401
    assert slept == [2, 5, 10, 20, 40, 40]


def test_no_secret_that_a_run_read_is_in_its_result_or_its_output(
    execute: Execute, programs: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.answers["kubeadm"] = (1, f"token {TOKEN} is wrong, secretline too")
    steps = [SIMPLE[6], {"kind": "command", "argv": ["kubeadm"], "input": {"ref": "node.bootstrap_token"}}]
    said = json.dumps(execute(*steps)) + capsys.readouterr().out
    assert "[secret] is wrong, [secret] too" in said
    assert TOKEN not in said
    assert "secretline" not in said


def test_a_restart_is_a_result_and_restarts_in_a_row_are_limited(
    execute: Execute, programs: Programs, root: Path, node: ModuleType
) -> None:
    system = importlib.import_module("kinds.system")
    run = importlib.import_module("run").Run(root, {"machine": {}, "facts": {}}, {})
    put(root, system.BOOT_ID, "boot-0")
    assert outcomes(execute({"kind": "reboot"})) == ["held"], "nothing asked for it"
    for boot in range(system.REBOOTS):
        put(root, system.BOOT_ID, f"boot-{boot}")
        system.ask_for_reboot(run)
        assert execute({"kind": "reboot"})["state"] == "reboot"
    put(root, system.BOOT_ID, "boot-last")
    system.ask_for_reboot(run)
    assert execute({"kind": "reboot"})["name"] == "reboot-limit"
    put(root, system.BOOT_ID, "boot-after")
    assert outcomes(execute({"kind": "reboot"})) == ["held"], "a restart by hand is one too"


def test_linux_implements_every_kind_of_the_table(node: ModuleType) -> None:
    assert node.KINDS.keys() == {name for name, kind in KINDS.items() if "linux" in kind.systems}


def test_every_failure_named_in_the_scripts_is_in_the_table_once(node: ModuleType) -> None:
    rows = json.loads((CLOUD_INIT / "errors.json").read_text())["errors"]
    assert len({row["code"] for row in rows}) == len({row["name"] for row in rows}) == len(rows)
    assert all(row.keys() == {"code", "name", "retry", "cause", "remedy"} for row in rows)
