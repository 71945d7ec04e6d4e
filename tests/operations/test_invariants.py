"""What `mullion chaos` looks at after each action finds what it is for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from operations import invariants
from operations.invariants import Snapshot
from operations.state import INSTANCE
from sandbox.records import Operation, Record
from sandbox.values import ASSETS, REDACTED, SECRET, SIGNATURE

OBJECT = "aws:s3/bucketObjectv2:BucketObjectv2"
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


def in_world(*more: Record) -> Snapshot:
    return replace(GOOD, there=(*GOOD.there, *more))


ORPHAN = record(OBJECT, "p", "urn:p")
BAD = {
    "the lock /x is left": replace(GOOD, locks=(Path("/x"),)),
    "creating urn:p is pending": in_state(pending_operations=[{"type": "creating", "resource": {"urn": "urn:p"}}]),
    f"in the world alone: {OBJECT} p": in_world(ORPHAN),
    f"in the state alone: {OBJECT} p": in_state(resource(OBJECT, "p", "urn:p")),
    "in the state 2 times: urn:o": in_state(GOOD.resources[1]),
    f"{PLANE} size: a in the state, b in the world": replace(
        GOOD, there=(record(INSTANCE, "i-1", PLANE, size="b"), GOOD.there[1])
    ),
    "urn:o source: abc in the state, abd in the world": replace(
        GOOD, there=(GOOD.there[0], record(OBJECT, "o", "urn:o", source={"asset": {"hash": "abd"}}, password=REDACTED))
    ),
    "urn:o password: [secret] in the state, plain in the world": replace(
        GOOD, there=(GOOD.there[0], record(OBJECT, "o", "urn:o", source={"asset": {"hash": "abc"}}, password="plain"))
    ),
    f"the secret {next(iter(SECRETS))} is another one": replace(GOOD, secrets=dict.fromkeys(SECRETS, "2")),
    f"the secret {next(iter(SECRETS))} is gone": replace(GOOD, secrets={}),
    f"control plane {PLANE}: instance i-1 became i-2": replace(
        GOOD,
        state={"resources": [resource(INSTANCE, "i-2", PLANE, size="a"), GOOD.resources[1]]},
        there=(record(INSTANCE, "i-2", PLANE, size="a"), GOOD.there[1]),
    ),
}


def test_a_cluster_as_it_was_breaks_nothing() -> None:
    assert list(invariants.broken(GOOD, GOOD, (), {})) == []


@pytest.mark.parametrize("said", BAD)
def test_each_break_is_said(said: str) -> None:
    assert list(invariants.broken(GOOD, BAD[said], (), {})) == [said]


def test_what_is_kept_on_purpose_and_what_was_rotated_breaks_nothing() -> None:
    assert list(invariants.broken(GOOD, replace(in_world(ORPHAN), kept=frozenset({(OBJECT, "p")})), (), {})) == []
    rotated = replace(GOOD, secrets=dict.fromkeys(SECRETS, "2"))
    assert list(invariants.broken(GOOD, rotated, ("-desired-state",), {})) == []


def test_a_cluster_that_was_removed_has_nothing_to_keep() -> None:
    assert list(invariants.broken(GOOD, Snapshot(), (), {})) == []


def calls(text: str) -> list[Operation]:
    """`-web-0 +web-0`: deletions and creations of instances, in order; `!` in front: it failed."""
    return [
        Operation(
            number,
            "create" if "+" in word else "delete",
            INSTANCE,
            f"urn:x::y::z::small-{word.lstrip('!+-')}",
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
