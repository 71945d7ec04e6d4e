"""Errors and exit codes of engine runs that were interrupted or that found the stack locked."""

import fcntl
import os
import signal
import subprocess
import sys
import termios
from typing import IO

import pytest
from pulumi import automation as auto
from pulumi.automation.errors import create_command_error

from operations.console.exits import Exit, Stop
from operations.engine import failures, locks, process, workspace
from operations.engine.events import Tally
from operations.stacks.paths import REPOSITORY
from tests.awaited import until


def test_an_interrupted_run_that_the_engine_ends_without_an_error_counts_as_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`mullion down` interrupted half way: the engine stops after the current resource and reports no error."""
    asked: list[str] = []
    monkeypatch.setattr(process, "running", lambda: True)
    monkeypatch.setattr(process, "interrupt", lambda: asked.append("to stop"))
    monkeypatch.setattr(locks, "cancel_dead", lambda *_: asked.append("no lock"))
    monkeypatch.setattr(workspace, "backend", lambda: None)
    removal = Tally(removal=True)
    with pytest.raises(Stop, match=r"To continue: mullion down dev$") as stop, failures.reported("dev", removal):
        signal.raise_signal(signal.SIGINT)
    assert (stop.value.code, asked) == (Exit.INTERRUPTED, ["to stop", "no lock"])


@pytest.mark.parametrize(
    ("signals", "killed"),
    [
        ((signal.SIGINT, signal.SIGTERM), False),
        ((signal.SIGTERM, signal.SIGTERM, signal.SIGHUP), False),
        ((signal.SIGINT, signal.SIGINT), True),
        ((signal.SIGTERM, signal.SIGINT), True),
    ],
    ids=["runner", "repeated", "person", "person after a runner"],
)
def test_only_ctrl_c_kills_an_engine_that_was_asked_to_stop(
    signals: tuple[signal.Signals, ...], killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GitHub sends SIGINT, and SIGTERM 7.5 s later: an engine killed while it creates leaves unrecorded resources."""
    told: list[str] = []
    monkeypatch.setattr(process, "running", lambda: True)
    monkeypatch.setattr(process, "interrupt", lambda: told.append("stop"))
    monkeypatch.setattr(process, "end", lambda: told.append("die"))
    monkeypatch.setattr(locks, "cancel_dead", lambda *_: [])
    with pytest.raises(Stop) as stop, failures.interruptible(), failures.reported("dev"):
        list(map(signal.raise_signal, signals))
    assert (stop.value.code, told) == (Exit.INTERRUPTED, ["stop", "die"] if killed else ["stop"])


def test_the_signal_after_the_one_that_ended_the_command_does_not_stop_the_removal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "running", lambda: True)
    monkeypatch.setattr(process, "interrupt", lambda: pytest.fail("the removal was interrupted"))
    with failures.interruptible():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with failures.holding("removing the cluster"), failures.reported("dev"):
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
    assert "removing" not in capsys.readouterr().err, "only Ctrl-C is to be held back, and told of"
    with pytest.raises(KeyboardInterrupt), failures.interruptible():
        signal.raise_signal(signal.SIGTERM)


WRITING = """
import signal, sys
from operations.engine import failures
with failures.interruptible(), failures.holding("removing the cluster"):
    print("ready", flush=True)
    sys.stderr.buffer.write(b"x" * 1_000_000)
    sys.stderr.flush()
print("removed", flush=True)
"""
"""Program that writes more than a pipe takes: a signal meets it in the middle of the write."""


PIPE = 65_536
"""Bytes that a pipe of Linux holds (pipe(7))."""


def _waiting(pipe: IO[bytes] | None) -> int:
    """Return how many bytes nobody has read yet."""
    found = bytearray(4)
    fcntl.ioctl(pipe or 0, termios.FIONREAD, found)
    return int.from_bytes(found, sys.byteorder)


@pytest.mark.subprocess
def test_a_signal_in_the_middle_of_a_write_to_standard_error_does_not_end_the_command() -> None:
    words, ours = [sys.executable, "-c", WRITING], {**os.environ, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=REPOSITORY, env=ours) as program:
        assert program.stdout
        assert program.stdout.readline() == b"ready\n"
        assert program.stderr
        until(lambda: _waiting(program.stderr) >= PIPE, "waiting until the program has filled the pipe")
        program.send_signal(signal.SIGINT)
        output, errors = program.communicate(timeout=60)
    assert (program.returncode, output) == (0, b"removed\n"), errors[-2000:]
    assert b"\nmullion: removing the cluster\n" in errors
    assert errors.count(b"x") == 1_000_000


def test_a_stack_locked_by_another_run_is_refused_with_the_owner_of_the_lock() -> None:
    """Happens when `mullion reap` runs in two clones at once: the backend's lock admits one of them."""
    text = "error: the stack is currently locked by 1 lock(s)\n  file:///state: created by ci@runner (pid 7) at noon"
    says = r"stack dev is locked by ci@runner \(pid 7\) at noon"
    with pytest.raises(Stop, match=says) as stop, failures.reported("dev"):
        raise create_command_error(auto.CommandResult("", text, 255))
    assert stop.value.code is Exit.LOCKED


@pytest.mark.parametrize(("tally", "way"), [(None, "up"), (Tally(removal=True), "down")])
def test_a_killed_run_names_the_command_that_was_killed(tally: Tally | None, way: str) -> None:
    with pytest.raises(Stop, match=f"`mullion {way} dev` recovers"), failures.reported("dev", tally):
        raise create_command_error(auto.CommandResult("", "", -9))


def test_a_vault_that_azure_keeps_after_its_deletion_gets_the_ways_back() -> None:
    """After an interrupted `down` the next `up` cannot use the name of the deleted vault for days."""
    tally = Tally()
    tally.errors.append("dev-vault (azure-native:keyvault:Vault): ConflictError: already exists in deleted state.")
    says = "`mullion down dev` to its end, then `mullion up dev`, whose new vault gets another name by itself.*"
    says += "az keyvault recover.*`mullion up dev --refresh`"
    with pytest.raises(Stop, match=says), failures.reported("dev", tally):
        raise create_command_error(auto.CommandResult("", "error: update failed", 255))


def test_an_object_of_a_store_that_shuts_this_computer_out_gets_the_fix() -> None:
    tally = Tally()
    tally.errors.append(
        'dev-members (azure-native:storage:Blob): retrieving blob properties "members" (container "nodes" / account'
        ' "devbundles"): RESPONSE 403: 403 Forbidden\nERROR CODE: AuthorizationFailure'
    )
    says = "No object is missing.*do not admit this computer.*api.allow.*Then run `mullion up dev`"
    with pytest.raises(Stop, match=says), failures.reported("dev", tally):
        raise create_command_error(auto.CommandResult("", "error: preview failed", 255))
