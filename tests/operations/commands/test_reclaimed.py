"""Machines that EC2 is ending or no longer has when `up` reads them, without an engine."""

from typing import Any, cast

import pytest
from pulumi import automation as auto
from pulumi.automation.errors import create_command_error

from components.plan import plan_cluster
from components.spec.models import ClusterSpec
from operations.clouds import cloud_tables
from operations.commands import reclaimed
from operations.commands.spec_changes import CLUSTER_TYPE
from operations.console.command_line import continued_by
from operations.console.exits import Exit, Stop
from operations.engine import policy_preview
from operations.engine.workspace import Run
from operations.recovery import recovery

WEB = "urn:pulumi:small::mullion::mullion:index:MixedCluster$aws:ec2/instance:Instance::small-web-0"


def exported(*states: str) -> dict[str, Any]:
    """Return a state with a machine in each of these instance states."""
    machines = [{"type": cloud_tables.AWS.machine, "urn": WEB, "outputs": {"instanceState": each}} for each in states]
    return {"deployment": {"resources": machines}}


class Engine:
    """An engine whose refreshes leave these states, one after the other; the last one stays."""

    name = "small"

    def __init__(self, *states: dict[str, Any]) -> None:
        self.states, self.targets, self.written = [*states], list[list[str]](), list[dict[str, Any]]()

    def refresh(self, *, target: list[str], **_: Any) -> None:
        """Note what is read."""
        self.targets.append(target)

    def state(self) -> dict[str, Any]:
        """Return the state after the last refresh."""
        return self.states[min(len(self.targets), len(self.states)) - 1]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that were waited, on a clock that only these waits move."""
    waited: list[float] = []
    monkeypatch.setattr(reclaimed.time, "sleep", waited.append)
    monkeypatch.setattr(reclaimed.time, "monotonic", lambda: sum(waited))
    monkeypatch.setattr(recovery, "export", lambda run: run.state())
    monkeypatch.setattr(recovery, "write", lambda run, state: run.written.append(state))
    return waited


def after(engine: Engine, spec: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    return reclaimed.forgotten(
        cast(Run, engine), plan_cluster("small", ClusterSpec.model_validate(spec)), exported("running")
    )


def test_up_waits_until_ec2_has_ended_a_spot_machine(waits: list[float], spot: dict[str, Any]) -> None:
    """An instance in shutting-down still exists for the provider: `up` would create nothing."""
    engine = Engine(exported("shutting-down"), exported("shutting-down"), exported())
    assert after(engine, spot) == (exported(), [WEB]), "`repair` and `roll` wait for its successor"
    assert (engine.targets, waits) == ([[WEB]] * 3, [10, 10])


def test_up_says_so_if_ec2_does_not_end_a_machine(
    waits: list[float], spot: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    engine = Engine(exported("shutting-down"))
    assert after(engine, spot) == (exported("running"), [])
    assert sum(waits) == pytest.approx(310)
    assert "warning: small-web-0 are ending, so this run keeps them; run it again" in capsys.readouterr().err


@pytest.fixture
def spot() -> dict[str, Any]:
    """A cluster with one spot machine."""
    web = {"os": "ubuntu-24.04", "count": 1, "spot": True}
    return {"cloud": "aws", "kubernetes": "1.36.4", "pools": {"web": web}}


HEAD = "urn:pulumi:small::mullion::mullion:index:MixedCluster$mullion:aws:ControlPlane$aws:ec2/instance:Instance::small"
OTHER = WEB.replace("web-0", "web-1")


def machine(urn: str, size: str = "m6i.large", **more: Any) -> dict[str, Any]:
    """Return a machine of a state."""
    return {"type": cloud_tables.AWS.machine, "urn": urn, "outputs": {"instanceType": size}, **more}


def built(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"version": 3, "deployment": {"resources": [*resources]}}


def preview(monkeypatch: pytest.MonkeyPatch, *changed: str) -> None:
    """Have the run's preview update the machines of these URNs."""

    def check(_name: str, _run: Any, hear: Any) -> None:
        for urn in changed:
            step = auto.StepEventMetadata(auto.OpType.UPDATE, urn, cloud_tables.AWS.machine, "", diffs=["tags"])
            hear(auto.EngineEvent(0, 0, resource_pre_event=auto.ResourcePreEvent(step, planning=True)))

    monkeypatch.setattr(policy_preview, "check", check)


def test_a_change_by_hand_of_a_machine_that_a_run_updates_stays_out_of_the_state(
    waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """EC2 stops a machine to give it its type back; the plan that was confirmed only changes its tags."""
    before = built(machine(WEB))
    preview(monkeypatch, WEB)
    engine = Engine(built(machine(WEB, "c7i.large")))
    assert reclaimed.previewed(cast(Run, engine), before, [], 1) == ([], [])
    assert (engine.targets, engine.written, waits) == ([[WEB]], [before], [])


def test_only_machines_that_no_longer_exist_leave_the_state(
    waits: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    volume = {"type": "aws:ebs/volumeAttachment:VolumeAttachment", "urn": "urn:attached", "dependencies": [WEB, OTHER]}
    before = built(machine(WEB), machine(OTHER), volume)
    preview(monkeypatch, WEB, OTHER)
    engine = Engine(built(machine(OTHER, "c7i.large"), volume))
    assert reclaimed.previewed(cast(Run, engine), before, [], 1) == ([], [WEB])
    assert engine.written == [built(machine(OTHER), {**volume, "dependencies": [OTHER]})]
    assert "small-web-0: the cloud no longer has this machine" in capsys.readouterr().out and not waits


@pytest.mark.parametrize(
    ("count", "way"),
    [
        (3, "`mullion replace-control-plane small control-plane-1` creates it again if the two others are ready"),
        (1, "`mullion restore small` creates it again from a snapshot"),
    ],
)
def test_a_run_with_refresh_does_not_create_lost_control_planes_again(
    count: int, way: str, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--refresh` drops them from the state after the preview, so nothing would check etcd's quorum."""
    planes = [machine(f"{HEAD}-control-plane-{number}") for number in range(count)]
    before = built(*planes, machine(WEB))
    preview(monkeypatch)
    engine = Engine(built(*planes[:1], *planes[2:], machine(WEB)) if count > 1 else built(machine(WEB)))
    with pytest.raises(Stop) as stop:
        reclaimed.previewed(cast(Run, engine), before, [], 1, refresh=True)
    assert stop.value.code is Exit.REFUSED and way in str(stop.value) and not waits
    assert engine.written == [before]


def test_a_killed_read_before_a_removal_names_the_command(waits: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(exported("running"))

    def killed(**_: Any) -> None:
        raise create_command_error(auto.CommandResult("", "", -9))

    monkeypatch.setattr(engine, "refresh", killed)
    before = [{"type": cloud_tables.GCP.machine, "urn": WEB}]
    again = continued_by(lambda: "mullion down small")
    with again, pytest.raises(Stop, match="`mullion down small` recovers and continues"):
        reclaimed.before_removal(cast(Run, engine), before)
    assert not waits


def test_a_change_by_hand_of_a_spot_machine_stays_out_of_the_state(waits: list[float], spot: dict[str, Any]) -> None:
    engine = Engine(exported("stopped"))
    assert after(engine, spot) == (exported("running"), [])
    assert (engine.written, waits) == ([exported("running")], [])


@pytest.mark.parametrize(
    ("built", "recorded", "planned", "count"),
    [(1, 3, 1, 1), (2, 3, 1, 3), (3, 3, 1, 3), (1, 3, 3, 3), (0, 3, 1, 3), (1, 1, 1, 1)],
    ids=["never grew", "grew by one", "whole", "still wanted", "first up failed", "unchanged"],
)
def test_a_growth_is_taken_back_only_if_the_state_has_no_other_machine(
    built: int, recorded: int, planned: int, count: int
) -> None:
    """Else the program's gate refuses the number that the stack file had before the failed growth."""
    machines = [machine(f"{HEAD}-control-plane-{number}") for number in range(built)]
    cluster = {"type": CLUSTER_TYPE, "urn": "urn", "inputs": {"control_plane": {"count": recorded}}}
    resources = [cluster, *machines]
    assert reclaimed._never_grew(resources, planned) is (count != recorded)
    assert cluster["inputs"] == {"control_plane": {"count": count}}
