"""`mullion logs` of a booted machine: it answers through the store with its own role, and its kubelet's log is
included."""

import json
import re
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from operations.__main__ import app
from operations.stacks import boot_site
from sandbox.simulated_boot import BOOTED
from tests.boot_to_ready.lab import STACK
from tests.clones import work_in
from tests.cloud_init.test_linux_logs import unpacked
from tests.lab.joining.conftest import JoinedWorker
from tests.lab.joining.control_plane import JOIN_SECRET, TOKEN

pytestmark = [pytest.mark.lab, pytest.mark.soak, pytest.mark.engine]


def look(joined: JoinedWorker, command: str, fetched: threading.Event, said: list[str]) -> None:
    """Run the task that the scheduler runs every two minutes, here without a pause."""
    while not fetched.is_set():
        code, output = joined.worker.pwsh(command, 240)
        said.append(f"{code}: {output}")


def test_ops_02_the_command_fetches_the_logs_that_the_registered_task_packs(
    joined: JoinedWorker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    task = joined.worker.kept("tasks")["mullion-collect-logs"]
    assert task["principal"]["UserId"] == "SYSTEM"
    command = re.search(r'-Command "(.*)"$', task["action"]["Argument"])
    assert command, task
    fetched, lines = threading.Event(), list[str]()
    machine = threading.Thread(target=look, args=(joined, command[1], fetched, lines))
    work_in(joined.folder, monkeypatch)
    monkeypatch.setattr(boot_site, "refuse_unbooted", lambda name: None)  # the test, not a supervisor, runs the machine
    with joined.lab.cloud_state.transaction():
        joined.lab.cloud_state.set_setting(BOOTED, "here")  # the sandbox would answer in place of the machine
    machine.start()
    try:
        ran = CliRunner().invoke(app, ["logs", STACK, joined.worker.name, "-o", str(tmp_path / "logs.zip")])
    finally:
        fetched.set()
        machine.join()
    assert ran.exit_code == 0, (ran.output, lines)
    assert "\n/sig windows\n" in ran.output
    assert f"- Kubernetes: {joined.kubernetes}\n" in ran.output
    files = unpacked((tmp_path / "logs.zip").read_bytes())
    assert "Flag" in files["kubelet/kubelet.log"] or "FLAG" in files["kubelet/kubelet.log"]
    assert joined.kubernetes in files["versions/kubelet.txt"]
    assert json.loads(files["mullion/result.json"])["state"] == "done"
    whole = "\n".join(files.values())
    assert JOIN_SECRET not in whole
    assert TOKEN not in whole
    assert "PRIVATE KEY" not in whole
    assert not [each for each in joined.lab.cloud_state.objects(joined.lab.bucket) if each.startswith("requests/")]
