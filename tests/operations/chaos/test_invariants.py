"""The invariants of `mullion chaos`: each finds its kind of break."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from operations.chaos import invariants
from operations.chaos.invariants import Asked, Snapshot
from operations.clouds import cloud_tables
from sandbox.records import Operation, Record
from sandbox.values import ASSETS, REDACTED, SECRET, SIGNATURE

INSTANCE, OBJECT = cloud_tables.AWS.machine, cloud_tables.AWS.stored
PLANE = (
    f"urn:pulumi:small::mullion::mullion:index:MixedCluster$mullion:aws:ControlPlane${INSTANCE}::small-control-plane-0"
)
ENCRYPTED = {SIGNATURE: SECRET, "ciphertext": "v1:x"}
FILE = {SIGNATURE: ASSETS[0], "hash": "abc", "text": ""}
SECRETS = {"urn:x::y::mullion:index:Generated$pulumi:index:Stash::small-desired-state": "1"}


def resource(kind: str, key: str, urn: str, **inputs: Any) -> dict[str, Any]:
    return {"type": kind, "id": key, "urn": urn, "custom": True, "inputs": {**inputs, "__defaults": []}}


def record(kind: str, key: str, urn: str, **inputs: Any) -> Record:
    return Record(1, kind, key, urn.rpartition("::")[2], urn, "eu-west-1", inputs, inputs, "2026-01-01T00:00:00Z")


GOOD = Snapshot(
    {
        "resources": [
            resource(INSTANCE, "i-1", PLANE, size="a"),
            resource(OBJECT, "o", "urn:o", source=FILE, password=ENCRYPTED),
        ]
    },
    (
        record(INSTANCE, "i-1", PLANE, size="a"),
        record(OBJECT, "o", "urn:o", source={"asset": {"hash": "abc", "path": None}}, password=REDACTED),
    ),
    secrets=SECRETS,
)


def in_state(*more: dict[str, Any], **other: Any) -> Snapshot:
    return replace(GOOD, state={"resources": [*GOOD.resources, *more], **other})


def in_sandbox(*more: Record) -> Snapshot:
    return replace(GOOD, there=(*GOOD.there, *more))


KINDS = {"*": "update", "+": "create", "-": "delete"}
ORPHAN = record(OBJECT, "p", "urn:p")
BAD = {
    "the file /x is left": replace(GOOD, left=(Path("/x"),)),
    "creating urn:p is pending": in_state(pending_operations=[{"type": "creating", "resource": {"urn": "urn:p"}}]),
    f"in the sandbox alone: {OBJECT} p": in_sandbox(ORPHAN),
    f"in the state alone: {OBJECT} p": in_state(resource(OBJECT, "p", "urn:p")),
    "in the state 2 times: urn:o": in_state(GOOD.resources[1]),
    f"{PLANE} size: a in the state, b in the sandbox": replace(
        GOOD, there=(record(INSTANCE, "i-1", PLANE, size="b"), GOOD.there[1])
    ),
    "urn:o source: abc in the state, abd in the sandbox": replace(
        GOOD, there=(GOOD.there[0], record(OBJECT, "o", "urn:o", source={"asset": {"hash": "abd"}}, password=REDACTED))
    ),
    "urn:o password: [secret] in the state, plain in the sandbox": replace(
        GOOD, there=(GOOD.there[0], record(OBJECT, "o", "urn:o", source={"asset": {"hash": "abc"}}, password="plain"))
    ),
    "urn:n profile: {'password': None} in the state, {'password': '[secret]'} in the sandbox": replace(
        in_state(resource(OBJECT, "n", "urn:n", profile={"password": None})),
        there=(*GOOD.there, record(OBJECT, "n", "urn:n", profile={"password": REDACTED})),
    ),
    f"the secret {next(iter(SECRETS))} changed": replace(GOOD, secrets=dict.fromkeys(SECRETS, "2")),
    f"the secret {next(iter(SECRETS))} is gone": replace(GOOD, secrets={}),
    f"control plane {PLANE}: instance i-1 became i-2": replace(
        GOOD,
        state={"resources": [resource(INSTANCE, "i-2", PLANE, size="a"), GOOD.resources[1]]},
        there=(record(INSTANCE, "i-2", PLANE, size="a"), GOOD.there[1]),
    ),
}


def test_an_unchanged_cluster_breaks_no_invariant() -> None:
    assert list(invariants.broken(GOOD, GOOD, Asked())) == []


def test_a_nested_secret_that_recovery_could_not_read_is_not_a_difference() -> None:
    taken = resource(OBJECT, "n", "urn:n", profile={"user": "a"})
    there = record(OBJECT, "n", "urn:n", profile={"user": "a", "password": REDACTED})
    assert list(invariants.broken(GOOD, replace(in_state(taken), there=(*GOOD.there, there)), Asked())) == []


@pytest.mark.parametrize("said", BAD)
def test_each_broken_invariant_is_reported(said: str) -> None:
    assert list(invariants.broken(GOOD, BAD[said], Asked())) == [said]


def test_kept_resources_and_rotated_secrets_break_no_invariant() -> None:
    assert list(invariants.broken(GOOD, replace(in_sandbox(ORPHAN), kept=frozenset({(OBJECT, "p")})), Asked())) == []
    rotated = replace(GOOD, secrets=dict.fromkeys(SECRETS, "2"))
    assert list(invariants.broken(GOOD, rotated, Asked(("-desired-state",)))) == []


def test_a_replaced_control_plane_machine_of_the_same_name_is_reported() -> None:
    """On GCP a resource's id is the machine's name."""
    key, urn = "projects/p/zones/z/instances/small-control-plane-0", PLANE.replace(INSTANCE, cloud_tables.GCP.machine)
    state, made = (
        {"resources": [resource(cloud_tables.GCP.machine, key, urn)]},
        record(cloud_tables.GCP.machine, key, urn),
    )
    first, second = (Snapshot(state, (replace(made, outputs={"instanceId": each}),)) for each in "12")
    assert list(invariants.broken(first, first, Asked())) == []
    said = [each for each in invariants.broken(first, second, Asked()) if "instance" in each]
    assert said == [f"control plane {urn}: instance 1 became 2"]


def test_a_removed_cluster_breaks_no_invariant() -> None:
    assert list(invariants.broken(GOOD, Snapshot(), Asked())) == []


def workers(**instances: str) -> Snapshot:
    """A snapshot with workers; `web_0="i-9"`. All machines except i-older report the same version."""
    urns = {name: f"urn:x::y::z::small-{name.replace('_', '-')}" for name in instances}
    state = [resource(INSTANCE, instances[name], urn) for name, urn in urns.items()]
    there = [record(INSTANCE, instances[name], urn) for name, urn in urns.items()]
    reported = {each: "1.35.8" if each == "i-older" else "1.36.4" for each in ("i-1", *instances.values())}
    return replace(in_state(*state), there=(*GOOD.there, *there), reported=reported)


TWO = workers(web_0="i-8", web_1="i-9")


@pytest.mark.parametrize(
    ("after", "replaced", "said"),
    [
        (TWO, (), []),
        (TWO, None, []),
        (workers(web_0="i-8", web_1="i-7"), None, []),
        (
            workers(web_0="i-8", web_1="i-7"),
            (),
            ["small-web-1 was i-9; it is i-7 now, but none of its options changed"],
        ),
        (workers(web_0="i-8", web_1="i-7"), ("small-web-1",), []),
        (workers(web_0="i-8", web_1="i-7"), ("small-web",), ["small-web-0 is still i-8; it should have been replaced"]),
        (workers(web_0="i-6", web_1="i-7", web_2="i-5"), ("small-web",), []),
        (workers(web_0="i-6"), ("small-web",), []),
    ],
)
def test_exactly_the_expected_machines_must_be_replaced(
    after: Snapshot, replaced: tuple[str, ...] | None, said: list[str]
) -> None:
    assert list(invariants.broken(TWO, after, Asked(replaced=replaced))) == said


def test_every_machine_must_report_the_requested_version() -> None:
    now = workers(web_0="i-8", web_1="i-older")
    assert list(invariants.broken(now, now, Asked(kubernetes="1.36.4"))) == [
        "small-web-1 (i-older) reports Kubernetes 1.35.8, not 1.36.4"
    ]
    silent = replace(TWO, reported={"i-8": "1.36.4", "i-9": "1.36.4"})
    assert list(invariants.broken(silent, silent, Asked(kubernetes="1.36.4"))) == [
        "small-control-plane-0 (i-1) reports Kubernetes None, not 1.36.4"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("*desired-state -web-0 +web-0", []),
        ("*desired-state -web-0 !+web-0 +web-0 *desired-state", []),
        ("-web-0 +web-0 *desired-state", ["small-web-0 was created before the control plane was asked for 1.36.4"]),
        ("!*desired-state +web-0", ["small-web-0 was created before the control plane was asked for 1.36.4"]),
    ],
)
def test_no_worker_may_get_a_version_before_the_control_plane_is_asked_for_it(text: str, said: list[str]) -> None:
    pointer = record(OBJECT, "d", "urn:x::y::z::small-desired-state")
    before = replace(TWO, reported=dict.fromkeys(TWO.reported, "1.35.8"))
    after = replace(TWO, there=(*TWO.there, pointer), kept=frozenset({(OBJECT, "d")}), calls=tuple(calls(text)))
    assert list(invariants.broken(before, after, Asked(kubernetes="1.36.4"))) == said
    assert list(invariants.broken(TWO, after, Asked(kubernetes="1.36.4"))) == [], "it had that version already"


def calls(text: str) -> list[Operation]:
    """`-web-0 +web-0`: deletions and creations of instances, in order; `*x`: an object's update; `!`: it failed."""
    return [
        Operation(
            number,
            next(kind for sign, kind in KINDS.items() if sign in word),
            OBJECT if "*" in word else INSTANCE,
            f"urn:x::y::z::small-{word.lstrip('!*+-')}",
            "i",
            0,
            "refused" if word.startswith("!") else None,
            "",
        )
        for number, word in enumerate(text.split())
    ]


@pytest.mark.parametrize(
    ("text", "most", "said"),
    [
        ("-web-0 +web-0 -web-1 +web-1", 1, []),
        ("-web-0 -web-1 +web-0 +web-1", 1, ["small-web-0, small-web-1 were missing at once; at most 1 may"]),
        ("-web-0 -web-1 +web-0 +web-1", 2, []),
        ("-web-0 !+web-0 -web-1", 1, ["small-web-0, small-web-1 were missing at once; at most 1 may"]),
        ("-web-0 !-web-1 +web-0", 1, []),
        ("-web-0 -linux-0 +web-0 +linux-0", 1, []),
    ],
)
def test_machines_missing_at_once_are_counted_from_the_calls(text: str, most: int, said: list[str]) -> None:
    assert list(invariants.missing(calls(text), {"small-web": most, "small-linux": most})) == said
