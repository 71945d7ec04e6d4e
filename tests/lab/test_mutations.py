"""Proofs that the lab finds faults: a wrong table or file makes its test fail."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from components import releases
from tests.lab import test_services, test_tables
from tests.lab.conftest import Find
from tests.lab.real import Real
from tests.lab.rendered import Rendered

pytestmark = pytest.mark.lab


@pytest.fixture(params=["linux", "windows"])
def kubelet(request: pytest.FixtureRequest, program: Find, tmp_path: Path) -> Real:
    machine = request.getfixturevalue("windows") if request.param == "windows" else None
    return Real("kubelet", request.param, program("kubelet", request.param), tmp_path, machine)


def _flags(*added: str) -> Callable[..., frozenset[str]]:
    real = releases.flags
    return lambda *arguments: real(*arguments) | {*added}


def _gone(*added: str) -> Callable[..., frozenset[str]]:
    real = releases.removed_flags
    return lambda *arguments: real(*arguments) | {*added}


def _fields(**changed: str) -> Callable[..., Mapping[str, str]]:
    real = releases.fields
    return lambda *arguments: {**real(*arguments), **changed}


def _less(name: str, minor: str) -> Callable[..., Mapping[str, str]]:
    """Return the table without a field, for one minor."""
    real = releases.fields
    return lambda document, version: {
        key: value for key, value in real(document, version).items() if key != name or releases.minor(version) != minor
    }


def _gates(*added: str) -> Callable[..., frozenset[str]]:
    real = releases.gates
    return lambda *arguments: real(*arguments) | {*added}


TABLES: dict[str, tuple[str, Callable[..., Any], Callable[..., None]]] = {
    "a flag that does not exist": (
        "flags",
        lambda _: _flags("network-plugins"),
        test_tables.test_srv_09_every_flag_of_the_table_is_accepted_and_every_removed_one_is_refused,
    ),
    "an existing flag among the removed ones": (
        "removed_flags",
        lambda _: _gone("node-ip"),
        test_tables.test_srv_09_every_flag_of_the_table_is_accepted_and_every_removed_one_is_refused,
    ),
    "a misspelt field": (
        "fields",
        lambda _: _fields(maxPodz="count"),
        test_tables.test_every_field_of_the_table_is_accepted_with_its_type,
    ),
    "a field of another type": (
        "fields",
        lambda _: _fields(maxPods="text"),
        test_tables.test_every_field_of_the_table_is_accepted_with_its_type,
    ),
    "a missing row for an existing field": (
        "fields",
        lambda kubernetes: _less("maxPods", releases.minor(kubernetes)),
        test_tables.test_every_field_missing_in_the_table_is_refused,
    ),
    "a gate that does not exist": (
        "gates",
        lambda _: _gates("WinDSRR"),
        test_tables.test_every_gate_of_the_table_is_accepted_and_no_other,
    ),
}


# Linux only: the checks are the same code, and programs start there ten times as fast
@pytest.mark.parametrize("kubelet", ["linux"], indirect=True)
@pytest.mark.parametrize(("table", "wrong", "judgement"), TABLES.values(), ids=TABLES)
def test_a_wrong_row_in_a_table_fails(
    kubernetes: str,
    kubelet: Real,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    wrong: Callable[..., Any],
    judgement: Callable[..., None],
) -> None:
    monkeypatch.setattr(releases, table, wrong(kubernetes))
    with pytest.raises(AssertionError):
        judgement(kubernetes, kubelet)


def _changed(machine: Rendered, step: str, **fields: Any) -> Rendered:
    """Return the machine with changed fields in one step of its plan."""
    plan = machine.plan
    phases = tuple(
        dataclasses.replace(
            phase,
            steps=tuple(
                dataclasses.replace(old, fields={**old.fields, **fields}) if old.name == step else old
                for old in phase.steps
            ),
        )
        for phase in plan.phases
    )
    other = object.__new__(type(plan))  # without __init__, which would validate the plan
    other.__dict__.update({**plan.__dict__, "phases": phases})
    return dataclasses.replace(machine, plan=other)


RENDERINGS: dict[str, Mapping[str, Any]] = {
    "a misspelt field": {"maxPodz": 110},
    "a gate that does not exist": {"featureGates": {"WinDSRR": True}},
    "a value of another type": {"maxPods": "many"},
    "a value that the kubelet refuses": {"imageGCHighThresholdPercent": 1},
    "a flag that the kubelet does not know": {},
}


@pytest.mark.parametrize("fields", RENDERINGS.values(), ids=RENDERINGS)
def test_a_wrong_rendering_fails(
    kubernetes: str, kubelet: Real, rendered: tuple[Rendered, ...], fields: Mapping[str, Any]
) -> None:
    machine = next(
        each for each in rendered if each.variant == "everything" and each.pool in test_services.SYSTEMS[kubelet.os]
    )
    step = next(each for each in ("kubelet-config", "kubelet-patch") if machine.has(each))
    content, command = machine.fields(step)["content"], machine.fields("kubelet")["command"]
    wrong = _changed(machine, step, content={**content, **fields})
    # a removed name, if the tables have one
    gone = min(releases.removed_flags("kubelet", kubernetes, kubelet.os), default="network-plugins")
    wrong = _changed(wrong, "kubelet", command=[*command, *([] if fields else [f"--{gone}=1"])])
    with pytest.raises(AssertionError):
        test_services.test_every_configuration_is_read_without_an_objection(kubernetes, kubelet, (wrong,))
