"""Lock of the supervisor, and clean-up after one that was killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.linuxnode import machine, network
from operations.stacks.paths import REPOSITORY
from sandbox.boot import machine_status, supervision
from sandbox.cloud_state import CloudState
from sandbox.simulated_boot import BOOTED

HOLD = "import sys, time; from pathlib import Path; from sandbox.boot import supervision\n"
HOLD += "with supervision.supervisor_lock(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)"


@pytest.mark.subprocess
def test_one_process_holds_the_supervisor_lock_until_it_is_killed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(words, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        assert supervision.supervisor_pid(tmp_path) == process.pid
        with pytest.raises(BlockingIOError), supervision.supervisor_lock(tmp_path):
            pass
        process.kill()
        process.wait(10)
    assert supervision.supervisor_pid(tmp_path) is None


def test_clean_stops_machines_of_a_killed_supervisor_and_removes_disks_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    monkeypatch.setattr(machine, "stop", lambda folder: ended.append(folder.name))
    monkeypatch.setattr(network, "down", lambda net: ended.append(net))
    (supervision.disks(tmp_path) / "linux-0-i-1").mkdir(parents=True)
    cloud_state = CloudState(supervision.cloud_state_file(tmp_path))
    with cloud_state.transaction():
        cloud_state.set_setting(BOOTED, "yes")
    machine_status.record_start(cloud_state, net="n", api="https://127.0.0.1:1")
    supervision.clean(tmp_path)
    assert ended == ["linux-0-i-1", supervision.namespace(tmp_path)]
    assert (cloud_state.setting(BOOTED), machine_status.network(cloud_state)) == ("", {})
    assert supervision.disks(tmp_path).exists()
    supervision.clean(tmp_path, disks_too=True)
    assert not supervision.disks(tmp_path).exists()


@pytest.mark.subprocess
def test_a_machine_does_not_run_if_its_process_id_belongs_to_another_process(tmp_path: Path) -> None:
    (tmp_path / "pid").write_text(str(os.getpid()))
    assert not machine.running(tmp_path), "or a cut would kill another process"
    words = [sys.executable, "-c", "import time; time.sleep(60)", str(tmp_path)]
    with subprocess.Popen(words) as process:
        (tmp_path / "pid").write_text(str(process.pid))
        end = time.monotonic() + 10
        while not machine.running(tmp_path) and time.monotonic() < end:
            time.sleep(0.01)
        assert machine.running(tmp_path)
        process.kill()
