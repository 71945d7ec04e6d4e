"""Ctrl-C from a real terminal, which signals the whole foreground process group."""

import os
import pty
import re
import select
import time

import pytest

from operations.console.exits import Exit
from operations.engine.locate import Engine
from sandbox import faults

from . import sampling
from .clone import Clone

pytestmark = [pytest.mark.sampled, pytest.mark.engine]

DONE = re.compile(rb"(\d+)/\d+")
PATIENCE = 90
CTRL_C = b"\x03"


@pytest.fixture(scope="module", params=sampling.one(sampling.FOR_CI))
def clone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    return Clone(
        tmp_path_factory.mktemp("clone"), engine, sampling.drawn(request.param, sampling.FOR_CI, "interruption")
    )


def on_a_terminal(clone: Clone, presses: int) -> tuple[int, str]:
    """Run `up`, and press Ctrl-C when it has created some resources, and again after its reply. Return exit code and
    screen.
    """
    words = clone.words("up", clone.stack, "--sandbox")
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(clone.folder)
        os.execve(words[0], words, {**clone.environment, "TERM": "xterm"})
    screen, pressed, end = b"", 0, time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                screen += os.read(terminal, 65536)
            except OSError:  # the process closed its side
                break
        made = max((int(each) for each in DONE.findall(screen)), default=0)
        if pressed < presses and made >= 20 and (pressed == 0 or b"press again to stop at once" in screen):
            os.write(terminal, CTRL_C)
            pressed += 1
    assert pressed == presses, screen.decode()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os.close(terminal)
    return code, screen.decode()


def test_up_asks_for_the_accounts_limits_before_the_first_resource(clone: Clone) -> None:
    clone.fresh()
    with clone.cloud_state() as cloud_state, cloud_state.transaction():
        for quota in ("Running On-Demand Standard vCPUs", "Total Regional Cores", "CPUs per region"):
            cloud_state.set_setting(f"quota/{quota}", "1")
    refused = clone.up()
    assert refused.returncode == Exit.REFUSED, refused.stderr
    assert "vCPU: the cluster takes" in refused.stderr
    with clone.cloud_state() as cloud_state:
        assert cloud_state.operations() == []
    assert clone.resources() == []


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_ends_calls_in_progress_and_the_next_up_continues(clone: Clone, presses: int) -> None:
    clone.fresh()
    with clone.cloud_state() as cloud_state:
        faults.plan(cloud_state, "slow", 1, amount=0.3, times=80)  # so that calls are in progress at any moment
    code, screen = on_a_terminal(clone, presses)
    assert code == 130, screen
    assert "Traceback" not in screen
    assert f"To continue: mullion up {clone.stack} --sandbox" in screen
    assert not clone.locks()
    if presses == 1:
        assert not clone.state().get("pending_operations"), "calls under way ended, and were recorded"
        assert not clone.differences()
    with clone.cloud_state() as cloud_state:
        faults.clear(cloud_state)
    up = clone.up()
    assert up.returncode == 0, up.stderr
    assert not clone.differences(), up.stderr
    assert clone.run("doctor", clone.stack).returncode == 0
