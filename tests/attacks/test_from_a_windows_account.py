"""From an account of a Windows worker that is no administrator: a person, a service, or the user of a container.

The access lists are those of tests/windows_plans/golden, with which whole runs of Windows plans are compared.

Seen in: the machine: `Get-Acl PATH`, and `whoami /groups` for the account.
"""

import json
import re
from pathlib import PureWindowsPath
from typing import Any

import pytest

from components.machine.bundle import CLOUD_INIT
from components.node.layout import AUTHENTICATED_USERS, CONTAINER_USER, WINDOWS
from tests.windows_plans.end import GOLDEN

PLANS = tuple(sorted(path.stem for path in GOLDEN.glob("*.json")))
PODS = r"C:\var\lib\kubelet\pods"
"""Folder of the pods' volumes, in which their programs write."""
JOIN_NUMBER = r"C:\ProgramData\mullion\join-number"
NEVER = {"private": frozenset[str](), "public": frozenset({"BU"})}
"""Readers besides SYSTEM and Administrators."""


def golden(plan: str) -> dict[str, Any]:
    """Return the end state of a Windows worker."""
    return json.loads((GOLDEN / f"{plan}.json").read_text("utf-8"))


def rules(state: dict[str, Any], path: str) -> str:
    """Return the access of a file or folder: its own, or that of the nearest folder above with rules of its own.

    Raises LookupError for a path below none: on C:\\ itself every account may make folders and read files.
    """
    own = state["files"].get(path, {}).get("access", "inherited")
    if own != "inherited":
        return own
    for folder in (path, *map(str, PureWindowsPath(path).parents)):
        if folder in state["folders"]:
            return state["folders"][folder]
    raise LookupError(path)


def others(state: dict[str, Any], path: str) -> dict[str, bool]:
    """Return who besides SYSTEM and Administrators may read a path, and whether they may also write it."""
    name, *more = rules(state, path).split(", ")
    return dict.fromkeys(NEVER[name], False) | {each.partition(" ")[0]: each.endswith(" writes") for each in more}


def secrets(state: dict[str, Any]) -> set[str]:
    """Return the files with a key or credentials: those of the end state, and those of a machine that still joins."""
    shown = {path for path, file in state["files"].items() if re.search("private key|token", f"{file['content']}")}
    named = {WINDOWS.kubelet_bootstrap, JOIN_NUMBER, r"C:\k\kubelet.conf", r"C:\k\node.conf"}
    return shown | named | {r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"}


@pytest.mark.parametrize("plan", PLANS)
def test_an_account_without_rights_reads_no_key_and_no_token(plan: str) -> None:
    """Read the kubelet's key, its kubeconfig, the bootstrap token, or the number from which the token is made.

    Refused by: Windows, by access lists for SYSTEM and Administrators alone; each run of the executor restores them.
    """
    state = golden(plan)
    assert {path: who for path in secrets(state) if (who := others(state, path))} == {}
    # the executor writes both with a list of their own too
    for script, line in (
        ("modules/announcements.ps1", "Write-Content $JoinNumber $Utf8.GetBytes($digits) $Access.private"),
        ("kinds/joining.ps1", "Write-Content $Step['path'] $content $Access.private"),
    ):
        assert line in (CLOUD_INIT / "windows" / script).read_text("utf-8")


@pytest.mark.parametrize("plan", PLANS)
def test_an_account_without_rights_changes_nothing_that_system_runs(plan: str) -> None:
    """Replace a program that runs as SYSTEM, its configuration, or a download before the executor unpacks it.

    Refused by: Windows, by access lists that let others read at most; only folders of pods' volumes are open.
    """
    state = golden(plan)
    writable = {path for path in (*state["files"], *state["folders"]) if any(others(state, path).values())}
    assert writable <= {PODS}


def test_pods_of_other_users_write_their_volumes() -> None:
    """Not an attack: programs in containers run as ContainerUser, or as another account."""
    assert others(golden("containerd-overlay"), PODS) == {AUTHENTICATED_USERS: True, CONTAINER_USER: True}
    with pytest.raises(LookupError):
        others(golden("containerd-overlay"), r"C:\elsewhere\key.pem")
