"""The version of pools in a run, and the changes of version that are allowed."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest

from components.catalogue.artifacts import UnknownArtifact
from components.releases.skew import refusal
from components.rollout import upgrade
from components.rollout.upgrade import Desired, Upgrade

WANTED = "1.36.4"


class Begins:
    """A stand-in of an Output whose `apply` returns the function it is given."""

    def apply(self, decide: Any) -> Any:
        return decide


class Stores:
    """Versions that the control plane reports, read by read, and the pointer."""

    def __init__(self, *reported: list[str], desired: tuple[str, str] | None = None) -> None:
        """`desired`: the pointer's versions of the control plane and of the pools."""
        self.looks, self.pointer = list(reported), Desired(*desired) if desired else None

    async def reported(self) -> list[str]:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    async def desired(self) -> Desired | None:
        return self.pointer


@pytest.fixture(autouse=True)
def warned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list that collects the program's warnings."""
    warnings: list[str] = []
    monkeypatch.setattr(upgrade, "ResourceHook", lambda name, function: function)
    monkeypatch.setattr(upgrade, "ResourceHookBinding", lambda **bound: bound)
    monkeypatch.setattr(upgrade, "POLL_SECONDS", 0)
    monkeypatch.setattr(pulumi, "warn", warnings.append)
    return warnings


def upgrade_of(stores: Stores, *, simulated: bool = True) -> Upgrade:
    plan: Any = SimpleNamespace(
        name="c",
        spec=SimpleNamespace(kubernetes=WANTED),
        pools=["web"],
        control_plane=SimpleNamespace(machines=[1, 2, 3]),
    )
    upgraded = Upgrade(plan, Begins(), simulated=simulated)  # type: ignore[arg-type]
    upgraded.source = stores
    return upgraded


def version(stores: Stores, *, begins: bool = False) -> str:
    decide: Any = upgrade_of(stores).version
    return asyncio.run(decide(begins))


OLD = "1.35.8"


@pytest.mark.parametrize(
    ("reported", "desired", "pools"),
    [
        ([WANTED] * 3, (WANTED, OLD), WANTED),
        ([OLD] * 3, (OLD, OLD), OLD),
        ([WANTED, OLD, WANTED], (WANTED, OLD), OLD),  # one of three still has the older version
        (["1.36.3"] * 3, ("1.36.3", "1.36.3"), "1.36.3"),
        ([WANTED, WANTED], (WANTED, OLD), OLD),  # the one that does not report may still have the older version
        ([], (WANTED, OLD), OLD),
        ([WANTED, WANTED], (WANTED, WANTED), WANTED),  # all had the version at the end of an earlier run
        ([], (WANTED, WANTED), WANTED),  # none reports, and the pointer already has the version
        ([], None, WANTED),  # the run that creates the cluster was interrupted
        ([WANTED], None, WANTED),
    ],
)
def test_pools_have_the_oldest_version_that_the_control_plane_reports(
    reported: list[str], desired: tuple[str, str] | None, pools: str, warned: list[str]
) -> None:
    assert version(Stores(reported, desired=desired)) == pools
    assert bool(warned) is (pools != WANTED)


def test_a_new_cluster_reads_no_status_records() -> None:
    assert version(Stores(["9.9.9"]), begins=True) == WANTED


@pytest.mark.parametrize(
    ("reported", "desired", "said"),
    [
        (
            ["1.34.4"] * 3,
            (WANTED, "1.34.4"),
            "from 1.34.4 to 1.36.4 is more than one minor version; write 1.35.8 first",
        ),
        (["1.36.4", "1.37.0"], None, "1.36.4 is older than 1.37.0"),
        ([WANTED], ("1.37.0", WANTED), "1.36.4 is older than 1.37.0"),
        ([], (OLD, OLD), "none of the control plane's 3 machines report their version"),
        ([OLD, OLD], (OLD, OLD), "2 of the control plane's 3 machines .* cannot be upgraded from 1.35.8 to 1.36.4"),
        ([OLD], None, "1 of the control plane's 3 machines"),
    ],
)
def test_the_run_fails_if_the_control_plane_cannot_be_upgraded(
    reported: list[str], desired: tuple[str, str] | None, said: str
) -> None:
    with pytest.raises(pulumi.RunError, match=said):
        version(Stores(reported, desired=desired))


def reach(upgraded: Upgrade) -> None:
    decide: Any = upgraded.version
    asyncio.run(decide(False))
    hooks: Any = upgraded.hooks
    assert hooks["after_update"] == hooks["after_create"], "some clouds replace the pointer instead of updating it"
    asyncio.run(hooks["after_update"][0](None))


def test_the_run_ends_when_every_control_plane_machine_reports_the_version() -> None:
    older, all_of_it = [OLD] * 3, [WANTED] * 3
    stores = Stores(older, older, [], [WANTED, WANTED], [WANTED, OLD, WANTED], all_of_it)
    reach(upgrade_of(stores, simulated=False))
    assert stores.looks == [all_of_it]


def test_the_error_names_the_reported_versions_after_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrade, "MACHINE_UPGRADE_SECONDS", 0)
    for simulated in (True, False):
        with pytest.raises(RuntimeError, match=r"not reached Kubernetes 1\.36\.4; its machines report 1\.35\.8"):
            reach(upgrade_of(Stores([OLD] * 3), simulated=simulated))


def test_a_changed_pointer_without_an_upgrade_does_not_wait() -> None:
    stores = Stores([WANTED] * 3)
    reach(upgrade_of(stores, simulated=False))


def test_the_run_fails_if_artifacts_of_the_older_version_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise UnknownArtifact("artifacts.json has no kubernetes-node 1.35.8 for windows; nearest are 1.35.7")

    monkeypatch.setattr(upgrade, "pool_at", gone)
    held: Any = SimpleNamespace(apply=lambda at: at(OLD))
    upgraded = upgrade_of(Stores([OLD] * 3))
    upgraded.version = held
    pool: Any = SimpleNamespace(name="web")
    with pytest.raises(
        pulumi.RunError, match=r"pool web stays at 1\.35\.8 .* has no kubernetes-node 1\.35\.8 .* Keep the artifacts"
    ):
        upgraded.pool(pool)


@pytest.mark.parametrize(
    ("known", "wanted", "refused"),
    [
        (["1.36.4"], "1.36.4", False),
        (["1.36.4"], "1.36.5", False),
        (["1.36.4"], "1.37.0", False),
        (["1.36.4"], "1.36.3", True),
        (["1.36.4"], "1.38.0", True),
        (["1.36.4", "1.37.0"], "1.37.1", False),
        (["1.36.4", "1.37.0"], "1.38.0", True),
    ],
)
def test_an_upgrade_is_refused_beyond_the_next_minor_or_to_an_older_version(
    known: list[str], wanted: str, refused: bool
) -> None:
    assert bool(refusal(known, wanted)) is refused
