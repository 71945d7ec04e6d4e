"""Facts about a cluster in its state: owner, expiry, protection."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from operations.console.exits import Stop
from operations.engine import clusters
from operations.stacks import target
from tests.operations.states import CREATED, deployment


def test_owner_creation_and_expiry_are_read_from_the_state() -> None:
    facts = clusters.read("ci", "backend", deployment(owner="qa", expires="8h"))
    assert facts is not None
    assert (facts.owner, facts.created, facts.expires) == ("qa", CREATED, CREATED + timedelta(hours=8))
    assert (facts.machines, facts.resources, facts.cloud, facts.health) == (1, 1, "aws", "incomplete")
    assert not facts.unreadable
    assert not facts.protected


def test_a_state_without_resources_is_no_cluster() -> None:
    assert clusters.read("ci", "backend", deployment(resources=False, expires="8h")) is None
    assert clusters.read("ci", "backend", {}) is None


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (deployment(expires="8 hours"), "neither a duration nor a UTC time"),
        (deployment(expires=["8h"]), "expires is no text"),
        (deployment(expires={"4dabf18193072939515e22adb298388d": "x", "ciphertext": "y"}), "expires is no text"),
        (deployment(roots=0, expires="8h"), "0 clusters"),
        (deployment(roots=2, expires="8h"), "2 clusters"),
    ],
)
def test_an_invalid_expiry_is_shown_as_unknown_and_never_expires(state: dict[str, Any], why: str) -> None:
    facts = clusters.read("ci", "backend", state)
    assert facts is not None
    assert facts.expires is None
    assert why in facts.unreadable


@pytest.mark.parametrize("created", [None, "yesterday"])
def test_an_expiry_after_a_duration_is_unknown_without_the_time_of_creation(created: str | None) -> None:
    state = deployment(expires="8h")
    state["resources"][0]["created"] = created
    facts = clusters.read("ci", "backend", state)
    assert facts is not None
    assert "does not say when it was created" in facts.unreadable


def test_a_cluster_is_protected_by_its_spec_or_by_one_resource() -> None:
    by_spec = clusters.read("ci", "backend", deployment(protect=True))
    state = deployment(protect=False)
    state["resources"][1]["protect"] = True
    by_resource = clusters.read("ci", "backend", state)
    assert by_spec is not None
    assert by_resource is not None
    assert (by_spec.protected, by_resource.protected) == (True, True)


def test_the_health_of_a_cluster_shows_an_interrupted_run() -> None:
    facts = clusters.read("ci", "backend", {**deployment(), "pending_operations": [{}]})
    assert facts is not None
    assert facts.health == "interrupted, 1 operation without an answer"


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (timedelta(seconds=40), "40s"),
        (timedelta(minutes=-12), "12m"),
        (timedelta(hours=2, minutes=5), "2h 05m"),
        (timedelta(days=3, hours=4), "3d 04h"),
    ],
)
def test_spans_of_time_are_shown_in_two_units(time: timedelta, text: str) -> None:
    assert clusters.span(time) == text


def test_a_damaged_state_file_of_a_sandbox_is_refused_with_its_path(clone: Path) -> None:
    folder = target.sandbox_folder("ci") / "state" / ".pulumi" / "stacks" / "mullion"
    folder.mkdir(parents=True)
    assert clusters.in_sandbox("ci") == {}
    (folder / "ci.json").write_text(json.dumps({"checkpoint": {"latest": deployment(expires="8h")}}))
    assert clusters.in_sandbox("ci")["resources"]
    (folder / "ci.json").write_text("{")
    with pytest.raises(Stop, match=r"ci\.json cannot be read"):
        clusters.in_sandbox("ci")
