"""`mullion up` to a new version in two stages, `mullion roll`, and refused changes, through the command line."""

from typing import Any

import pytest

from operations.engine.locate import Engine
from operations.recovery import state_check
from sandbox import faults, tamper
from tests.awaited import until

from . import sampling
from .clone import Clone

pytestmark = [pytest.mark.sampled, pytest.mark.engine]

OLD, NEW = "1.35.8", "1.36.4"


@pytest.fixture(scope="module", params=sampling.one(sampling.FOR_CI))
def clone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    """The cluster for one test run, with two Windows workers, on the older version."""
    made = Clone(tmp_path_factory.mktemp("clone"), engine, sampling.drawn(request.param, sampling.FOR_CI, "roll"))
    cluster = made.document()
    cluster["pools"]["windows"]["count"] = 2
    made.write({**cluster, "kubernetes": OLD})
    done(made.up())
    return made


def on(clone: Clone, version: str) -> None:
    """Write another version into the stack file."""
    clone.write({**clone.document(), "kubernetes": version})


def done(run: Any) -> str:
    """Return the output of a run that must succeed."""
    assert run.returncode == 0, run.stderr
    return run.stdout


def agrees(clone: Clone) -> bool:
    """Check that state and sandbox agree, except for older bundles, which stay on purpose."""
    found = clone.differences()
    return not found.missing and set(found.orphans) <= state_check.kept_in(clone.sandbox)


def roll(clone: Clone, *more: str) -> Any:
    """Roll the pool."""
    return clone.run("roll", clone.stack, "windows", "--sandbox", "--yes", *more)


def replaced(clone: Clone, before: dict[str, str]) -> set[str]:
    """Return the machines whose instances have changed."""
    return {name for name, instance in clone.machines().items() if before[name] != instance}


def test_roll_replaces_an_unchanged_pool_and_continues_after_an_interruption(clone: Clone) -> None:
    before = clone.machines()
    with clone.cloud_state() as cloud_state:
        # the third call of the type: delete, create, and the second delete
        faults.plan(cloud_state, "fail", 3, type=clone.cloud.machine.rpartition(":")[2])
    cut = roll(clone)
    assert (cut.returncode, replaced(clone, before)) == (1, {"windows-0"})
    assert cut.stderr.endswith("replaced: windows-0; not replaced: windows-1; run the same command to continue\n")
    between = clone.machines()
    again = roll(clone)
    done(again)
    assert "continuing the roll of windows: 1 of 2 left" in again.stderr
    assert again.stdout.endswith(f"{clone.stack}: windows-1 replaced and ready\n")
    assert replaced(clone, between) == {"windows-1"}
    assert "nodes are not drained" in again.stderr, "what a hook warns of is said"
    assert agrees(clone)
    before = clone.machines()
    done(roll(clone, "--machine", "windows-1"))
    assert replaced(clone, before) == {"windows-1"}
    assert not (clone.folder / ".mullion" / clone.stack / "rolls.json").exists()


def test_a_paused_roll_finishes_the_worker_that_it_has_begun_and_resumes_with_the_rest(clone: Clone) -> None:
    before = clone.machines()
    assert "no run of" in clone.run("roll", clone.stack, "--pause").stderr
    with clone.cloud_state() as cloud_state:
        # the second call of the type creates windows-0 again, while the pause comes
        faults.plan(cloud_state, "slow", 2, type=clone.cloud.machine.rpartition(":")[2], amount=20)
    with clone.start("roll", clone.stack, "windows", "--sandbox", "--yes") as rolling:
        until(lambda: "windows-0" not in clone.machines(), "windows-0 is deleted", seconds=180)
        asked = clone.run("roll", clone.stack, "--pause")
        assert f"mullion roll {clone.stack} --resume --sandbox" in done(asked)
        _, said = rolling.communicate(timeout=180)
    assert (rolling.returncode, replaced(clone, before)) == (1, {"windows-0"}), said
    assert "paused: windows-1 was not changed" in said
    assert "replaced: windows-0; not replaced: windows-1" in said
    between = clone.machines()
    resumed = clone.run("roll", clone.stack, "--resume", "--sandbox", "--yes")
    assert done(resumed).endswith(f"{clone.stack}: windows-1 replaced and ready\n")
    assert "unfinished rolls: windows;" in resumed.stderr
    assert replaced(clone, between) == {"windows-1"}
    assert agrees(clone)
    assert "unfinished rolls: none" in clone.run("roll", clone.stack, "--resume", "--sandbox", "--yes").stderr
    assert replaced(clone, clone.machines()) == set()


def test_repair_replaces_a_worker_whose_instance_is_gone(clone: Clone) -> None:
    before = clone.machines()
    with clone.cloud_state() as cloud_state:
        machines = cloud_state.resources(clone.cloud.machine)
        tamper.remove(cloud_state, next(each for each in machines if each.name.endswith("windows-1")))
    run = clone.run("repair", clone.stack, "--sandbox", "--yes")
    assert done(run).endswith(f"{clone.stack}: windows-1 replaced and ready\n")
    assert replaced(clone, before) == {"windows-1"}
    assert agrees(clone)
    assert "no worker has to be replaced" in done(clone.run("repair", clone.stack, "--sandbox", "--yes"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing",), "has no pool 'nothing'; its pools: windows"),
        (("windows", "--machine", "windows-7"), "has no machine windows-7"),
    ],
)
def test_roll_refuses_unknown_pools_and_machines(clone: Clone, words: tuple[str, ...], said: str) -> None:
    run = clone.run("roll", clone.stack, *words, "--sandbox", "--yes")
    assert (run.returncode, said in run.stderr) == (2, True), run.stderr


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.37.0", "kubernetes: from 1.35.8 to 1.37.0 is more than one minor version"),
        ("1.34.4", "kubernetes: 1.34.4 is older than 1.35.8"),
    ],
)
def test_a_hop_is_refused_before_an_engine_changes_anything(clone: Clone, version: str, said: str) -> None:
    on(clone, version)
    run = clone.up()
    on(clone, OLD)
    assert (run.returncode, said in run.stderr) == (2, True), run.stderr


def test_a_new_minor_takes_both_stages_in_one_up(clone: Clone) -> None:
    before = clone.machines()
    on(clone, NEW)
    run = clone.up()
    said = done(run)
    assert "the second stage: pools, from Kubernetes 1.35.8" in said
    assert "Run this again" not in run.stderr, "it did so by itself"
    assert replaced(clone, before) == {"windows-0", "windows-1"}
    assert agrees(clone)


def test_an_upgrade_interrupted_between_its_stages_continues_with_the_pools(clone: Clone) -> None:
    on(clone, NEW)
    done(clone.up())  # nothing changes if the test before ran
    on(clone, "1.37.0")
    before = clone.machines()
    with clone.cloud_state() as cloud_state:
        faults.plan(cloud_state, "fail", 1, type=clone.cloud.machine.rpartition(":")[2])
    cut = clone.up()
    assert (cut.returncode, replaced(clone, before)) == (1, set())
    assert "the second stage" in cut.stdout
    run = clone.up()
    assert "the second stage" not in done(run), "the control plane is there already"
    assert replaced(clone, before) == {"windows-0", "windows-1"}
