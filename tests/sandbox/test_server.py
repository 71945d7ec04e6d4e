"""The provider's process: a slow call does not block others, and it ends silently with its engine."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox import faults
from sandbox.server import Servicer


def test_a_slow_call_does_not_block_others_while_it_waits(account, monkeypatch) -> None:
    servicer = Servicer(account.provider, "0.0.0")
    held: list[bool] = []
    monkeypatch.setattr(time, "sleep", lambda seconds: held.append(servicer.lock.locked()))
    faults.plan(account.cloud_state, "slow", amount=60)
    with servicer.lock:
        account.create("Vpc", "v", cidrBlock="10.0.0.0/16")
        assert servicer.lock.locked(), "and takes its turn again before it acts"
    assert held == [False]


def test_a_late_answer_does_not_block_others(account, monkeypatch) -> None:
    servicer = Servicer(account.provider, "0.0.0")
    there: list[tuple[bool, int]] = []
    monkeypatch.setattr(
        time, "sleep", lambda _: there.append((servicer.lock.locked(), len(account.cloud_state.resources())))
    )
    faults.plan(account.cloud_state, "late", amount=60)
    with servicer.lock:
        account.create("Vpc", "v", cidrBlock="10.0.0.0/16")
    assert there == [(False, 1)]


PROVIDER = [sys.executable, "-m", "sandbox.plugin", "aws"]
ENGINE = """
import subprocess, sys
provider = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
provider.stdout.readline()
print("serves", flush=True)
provider.wait()
"""


@pytest.mark.subprocess
def test_the_provider_ends_at_sigint_without_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULLION_SANDBOX_WORLD", str(tmp_path / "world.db"))
    with subprocess.Popen(PROVIDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as provider:
        assert provider.stdout is not None
        assert provider.stdout.readline().strip().isdecimal(), "its port"
        provider.send_signal(signal.SIGINT)
        assert provider.communicate(timeout=60) == ("", "")
    assert provider.returncode == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["world.db", "world.db.secrets"], "the world is closed"


@pytest.mark.subprocess
def test_the_provider_ends_when_its_engine_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULLION_SANDBOX_WORLD", str(tmp_path / "world.db"))
    words = [sys.executable, "-c", ENGINE, *PROVIDER]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        assert engine.stdout.readline() == "serves\n"
        engine.kill()
        # both have the same standard error: it ends when the last of them does
        assert engine.communicate(timeout=60)[1] == ""
