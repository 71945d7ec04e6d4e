"""Who keeps a booted sandbox, and what comes after who was killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from operations.paths import REPOSITORY
from sandbox.boot import places, wishes
from sandbox.boots import BOOTED
from sandbox.world import World
from tools.linuxnode import machine, network

HOLD = "import sys, time; from pathlib import Path; from sandbox.boot import places\n"
HOLD += "with places.held(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)"


@pytest.mark.subprocess
def test_one_process_keeps_a_sandbox_and_who_is_killed_keeps_it_no_more(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(words, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        assert places.keeper(tmp_path) == process.pid
        with pytest.raises(BlockingIOError), places.held(tmp_path):
            pass
        process.kill()
        process.wait(10)
    assert places.keeper(tmp_path) is None


def test_what_a_killed_keeper_left_is_ended_and_its_disks_stay_until_they_go_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    monkeypatch.setattr(machine, "stop", lambda folder: ended.append(folder.name))
    monkeypatch.setattr(network, "down", lambda net: ended.append(net))
    (places.disks(tmp_path) / "linux-0-i-1").mkdir(parents=True)
    world = World(places.world(tmp_path))
    with world.transaction():
        world.set_setting(BOOTED, "yes")
    wishes.open_site(world, net="n", api="https://127.0.0.1:1")
    places.clean(tmp_path)
    assert ended == ["linux-0-i-1", places.net(tmp_path)]
    assert (world.setting(BOOTED), wishes.site(world)) == ("", {})
    assert places.disks(tmp_path).exists()
    places.clean(tmp_path, disks_too=True)
    assert not places.disks(tmp_path).exists()


@pytest.mark.subprocess
def test_a_number_that_became_another_processs_is_no_machine(tmp_path: Path) -> None:
    (tmp_path / "pid").write_text(str(os.getpid()))
    assert not machine.running(tmp_path), "or a cut would kill somebody else"
    words = [sys.executable, "-c", "import time; time.sleep(60)", str(tmp_path)]
    with subprocess.Popen(words) as process:
        (tmp_path / "pid").write_text(str(process.pid))
        end = time.monotonic() + 10
        while not machine.running(tmp_path) and time.monotonic() < end:
            time.sleep(0.01)
        assert machine.running(tmp_path)
        process.kill()
