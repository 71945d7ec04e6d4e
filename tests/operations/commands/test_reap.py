"""`mullion reap`: which clusters are kept and removed."""

import json
import signal
import subprocess
from collections.abc import Callable
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import Result

from components.spec import expiry
from operations.commands import reap, removal
from operations.console.exits import Exit, Stop
from operations.engine import clusters, workspace
from operations.recovery import recovery, stateless
from operations.recovery.stateless import Stateless
from operations.stacks import account, ephemeral, stack_files, target
from operations.stacks.target import Target
from tests.operations.states import NOW, deployment, put

Run = Callable[..., Result]


def test_reap_without_yes_removes_nothing_and_lists_what_is_expired(removed: list[str], mullion: Run) -> None:
    result = mullion("reap", "--sandbox")
    assert result.exit_code == Exit.OK
    assert removed == []
    assert [line.split()[0] for line in result.stdout.splitlines() if " ago" in line] == [
        "ci-long-past",
        "ci-past",
    ]
    assert "Nothing was changed" in result.stdout


def test_reap_removes_the_expired_and_nothing_protected_unexpired_or_unreadable(
    removed: list[str], mullion: Run
) -> None:
    result = mullion("reap", "--sandbox", "--yes", "--format", "json")
    assert result.exit_code == Exit.OK, result.stderr
    assert removed == ["ci-long-past", "ci-past"], "the longest expired first"
    report = json.loads(result.stdout)
    assert report["dry_run"] is False
    results = {each["name"]: (each["result"], each["reason"]) for each in report["clusters"]}
    assert results["ci-past"] == ("removed", "expired 1h 00m ago; 2 deleted in 1.0 s")
    assert results["ci-protected"] == ("kept", "protected")
    assert results["ci-for-ever"] == ("kept", "it does not expire")
    assert results["ci-fresh"] == ("kept", "expires in 1h 00m")
    assert results["ci-unreadable"][1].startswith("its expiry is unknown: expires is 'soon'")


def test_reap_removes_at_most_so_many_and_leaves_the_rest_for_later(removed: list[str], mullion: Run) -> None:
    result = mullion("reap", "--sandbox", "--yes", "--max", "1", "--format", "markdown")
    assert removed == ["ci-long-past"]
    lines = result.stdout.splitlines()
    assert lines[1] == "|---|---|---|---|---|---|"
    assert "| ci-past |  | 2026-11-23T18:00:00Z | 1 | later | expired 1h 00m ago; --max 1 is reached |" in lines


def results(result: Result) -> dict[str, tuple[str, str]]:
    """Return result and reason by cluster."""
    return {each["name"]: (each["result"], each["reason"]) for each in json.loads(result.stdout)["clusters"]}


def test_reap_begins_no_removal_after_its_time(
    removed: list[str], mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job's limit would kill it in the middle of one."""
    minutes = iter(range(0, 1000, 40))
    monkeypatch.setattr(reap, "time", SimpleNamespace(monotonic=lambda: 60.0 * next(minutes)))
    result = mullion("reap", "--sandbox", "--yes", "--within", "50m", "--format", "json")
    assert result.exit_code == Exit.OK
    assert removed == ["ci-long-past"]
    assert results(result)["ci-past"] == ("later", "expired 1h 00m ago; --within 50m is over")


def test_a_signal_ends_reap_with_a_report_of_what_it_did(
    removed: list[str], mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_state(name: str, place: Target, refuse: Callable[[dict[str, Any]], None]) -> str:
        signal.raise_signal(signal.SIGTERM)
        return "2 deleted in 1.0 s"

    monkeypatch.setattr(removal, "by_state", by_state)
    result = mullion("reap", "--sandbox", "--yes", "--format", "json")
    assert result.exit_code == Exit.INTERRUPTED
    assert results(result)["ci-long-past"] == ("not removed", "interrupted")
    assert results(result)["ci-past"] == ("later", "expired 1h 00m ago; interrupted")


def test_what_earlier_reapers_could_not_remove_comes_last(removed: list[str], mullion: Run) -> None:
    put("ci-hopeless", deployment(expires="2026-11-20T18:00:00Z"))
    mullion("reap", "--sandbox", "--yes")
    assert removed == ["ci-long-past", "ci-past", "ci-hopeless"]


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
@pytest.mark.parametrize("yes", [(), ("--yes",)], ids=["dry", "yes"])
def test_an_owner_cannot_control_the_terminal(
    form: str, yes: tuple[str, ...], removed: list[str], clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner comes from a state or from a resource's tags: erase the screen, go up, write from right to left."""
    hostile = "qa\x1b[2J\x1b[1A\r\u202e\x9b2J"
    put("ci-long-past", deployment(expires="1h", owner=hostile))
    orphan = Stateless("ci-long-past", hostile, hostile, hostile, (("aws:ec2/vpc:Vpc", "vpc-1"),), (f"rm {hostile}",))
    monkeypatch.setattr(stateless, "in_sandbox", lambda name, deployment: orphan if name == "ci-long-past" else None)
    for words in (("reap", "--sandbox", "--format", form, *yes), ("ls", "--sandbox")):
        result = mullion(*words)
        assert "qa" in result.stdout
        assert not [each for each in result.stdout + result.stderr if not each.isprintable() and each != "\n"]


def test_reap_reads_the_state_again_before_it_removes(removed: list[str], clone: Path, mullion: Run) -> None:
    """Another reaper, `extend` or `protect` may have come first."""
    read, reads = clusters.in_sandbox, list[str]()

    def extended(name: str) -> Any:
        reads.append(name)
        return deployment(expires="20h") if reads.count("ci-past") > 1 and name == "ci-past" else read(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters, "in_sandbox", extended)
        result = mullion("reap", "--sandbox", "--yes")
    assert removed == ["ci-long-past"]
    assert result.exit_code == Exit.REFUSED
    assert "ci-past has changed meanwhile and is kept: expires in 11h 00m" in result.stdout


def test_reap_goes_on_after_a_cluster_that_is_locked(
    removed: list[str], mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_state(name: str, place: Target, refuse: Callable[[dict[str, Any]], None]) -> str:
        if name == "ci-long-past":
            raise Stop(Exit.LOCKED, "stack ci-long-past is locked by process 1 of ci on another-host")
        removed.append(name)
        return "2 deleted in 1.0 s"

    monkeypatch.setattr(removal, "by_state", by_state)
    result = mullion("reap", "--sandbox", "--yes")
    assert removed == ["ci-past"]
    assert result.exit_code == Exit.LOCKED
    assert "locked by process 1 of ci on another-host" in result.stdout
    assert result.stderr.endswith("mullion: not removed: ci-long-past\n")


def test_a_cluster_that_cannot_be_removed_takes_no_other_clusters_place(
    removed: list[str], mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_state(name: str, place: Target, refuse: Callable[[dict[str, Any]], None]) -> str:
        if name == "ci-long-past":
            raise AttributeError("'str' object has no attribute 'get'")  # as a malformed state makes
        removed.append(name)
        return "2 deleted in 1.0 s"

    monkeypatch.setattr(removal, "by_state", by_state)
    result = mullion("reap", "--sandbox", "--yes", "--max", "1", "--format", "json")
    assert removed == ["ci-past"]
    results = {each["name"]: each["result"] for each in json.loads(result.stdout)["clusters"]}
    assert (results["ci-long-past"], results["ci-past"]) == ("not removed", "removed")
    assert result.exit_code == Exit.FAULT


def test_reap_goes_on_after_a_state_that_cannot_be_exported(
    backend: dict[str, str], mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend["team"] = json.dumps({"deployment": deployment(expires="1h")})
    backend |= {"corrupt": "error: gzip: invalid header", "gone": "error: no stack named 'gone' found"}
    result = mullion("reap")
    assert "team" in result.stdout
    assert "the state of corrupt cannot be read: gzip: invalid header" in result.stderr
    assert "gone" not in result.stderr
    assert result.exit_code == Exit.FAILED


def test_reap_ends_with_1_if_a_state_cannot_be_read(removed: list[str], clone: Path, mullion: Run) -> None:
    next(target.sandbox_folder("ci-fresh").rglob("ci-fresh.json")).write_text("{")
    result = mullion("reap", "--sandbox")
    assert result.exit_code == Exit.FAILED
    assert "ci-fresh.json cannot be read" in result.stderr


def test_reap_in_accounts_needs_a_backend(clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "has_backend", lambda: False)
    result = mullion("reap")
    assert result.exit_code == Exit.USAGE
    assert "pulumi login" in result.stderr


def test_reap_refuses_an_unknown_format(clone: Path, mullion: Run) -> None:
    result = mullion("reap", "--sandbox", "--format", "xml")
    assert result.exit_code == Exit.USAGE
    assert "write text, json, markdown" in result.stderr


@pytest.mark.parametrize(("here", "gone"), [("111122223333", True), ("444455556666", False), ("", False)])
def test_reap_leaves_a_cluster_of_another_account(
    here: str, gone: bool, backend: dict[str, str], mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With other credentials AWS would answer "not found" to each deletion, and the state would forget the cluster."""
    state = deployment(expires="1h")
    backend["team"] = json.dumps({"deployment": state})

    def by_state(name: str, place: Target, refuse: Callable[[dict[str, Any]], None]) -> str:
        assert place == Target("aws")
        refuse(state)
        return "2 deleted in 1.0 s"

    monkeypatch.setattr(removal, "by_state", by_state)
    monkeypatch.setattr(account, "account", lambda *_: here)
    result = mullion("reap", "--yes")
    assert ("2 deleted" in result.stdout, result.exit_code == Exit.OK) == (gone, gone)
    if not gone:
        assert "team is in account 111122223333, but this environment uses" in result.stdout
    assert "aws resourcegroupstaggingapi get-resources --tag-filters Key=mullion:cluster" in result.stdout


@pytest.mark.parametrize(
    ("settings", "gone"),
    [({"profile": "team"}, True), ({"profile": "other"}, False), ({"assumeRoles": '[{"roleArn": "r"}]'}, True)],
)
def test_reap_compares_the_account_of_the_profile_that_the_state_names(
    settings: dict[str, str], gone: bool, backend: dict[str, str], mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = deployment(expires="1h")
    state["resources"].append({"type": "pulumi:providers:aws", "urn": "urn:pulumi:ci::mullion::p", "inputs": settings})
    backend["team"] = json.dumps({"deployment": state})
    accounts = {"team": "111122223333"}

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        profile = command[command.index("--profile") + 1] if "--profile" in command else ""
        return subprocess.CompletedProcess(command, 0, json.dumps({"Account": accounts.get(profile, "444455556666")}))

    def by_state(name: str, place: Target, refuse: Callable[[dict[str, Any]], None]) -> str:
        refuse(state)
        return "2 deleted in 1.0 s"

    monkeypatch.setattr(removal, "by_state", by_state)
    monkeypatch.setattr(account.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(account, "subprocess", SimpleNamespace(run=run, DEVNULL=0, SubprocessError=OSError))
    result = mullion("reap", "--yes")
    assert ("2 deleted" in result.stdout) == gone
    assert ("its account is not compared" in result.stderr) == ("assumeRoles" in settings)


def test_a_stack_file_of_a_run_that_built_nothing_goes_after_its_expiry(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, ends in (("ci-old", NOW - timedelta(hours=1)), ("ci-new", NOW + timedelta(hours=1))):
        ephemeral.write(name, "small", ephemeral.document("small", (), expiry.written(ends)))
    monkeypatch.setattr(expiry, "now", lambda: NOW)
    mullion("reap", "--sandbox")
    assert stack_files.names() == ["ci-new", "ci-old", "small"]
    mullion("reap", "--sandbox", "--yes")
    assert stack_files.names() == ["ci-new", "small"]
    assert not target.folder("ci-old").exists()


def test_a_stack_file_that_the_engine_writes_while_it_removes_is_deleted(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reaper has no stack file of another runner's cluster; the engine writes one with its salt."""

    @contextmanager
    def opened(name: str, *_: Any, **__: Any) -> Any:
        (clone / "stacks" / f"Pulumi.{name}.yaml").write_text("encryptionsalt: v1:abc")
        yield None

    monkeypatch.setattr(removal, "opened", opened)
    monkeypatch.setattr(removal.locate, "find", lambda: None)
    monkeypatch.setattr(recovery, "ready", lambda *_, **__: (None, {"deployment": {}}))
    for name in ("ci-elsewhere", "small"):
        assert removal.by_state(name, Target("aws"), refuse=lambda _: None) == "it is gone already"
    assert stack_files.names() == ["small"], "the file of a user stays"
