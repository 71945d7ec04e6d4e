"""`mullion ls`: clusters by their states, and resources without one."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from operations.console.exits import Exit
from operations.recovery import stateless
from operations.recovery.stateless import Stateless
from operations.stacks import stack_files, target
from sandbox.cloud_state import CloudState
from tests.operations.conftest import STACK
from tests.operations.states import deployment, put

Run = Callable[..., Result]


def test_ls_shows_owner_age_and_expiry_of_each_cluster(removed: list[str], mullion: Run) -> None:
    rows = {line.split()[0]: " ".join(line.split()) for line in mullion("ls").stdout.splitlines()[1:7]}
    assert rows["ci-long-past"] == "ci-long-past sandbox aws qa 9h 00m 8h 00m ago unknown 1 incomplete"
    assert "in 1h 00m" in rows["ci-fresh"]
    assert "never" in rows["ci-for-ever"]
    assert "8h 00m ago, protected" in rows["ci-protected"]
    assert "unknown" in rows["ci-unreadable"]


def test_ls_as_json_has_times_and_why_an_expiry_is_unknown(removed: list[str], mullion: Run) -> None:
    found = {each["name"]: each for each in json.loads(mullion("ls", "--sandbox", "--json").stdout)["clusters"]}
    assert found["ci-past"]["expires"] == "2026-11-23T18:00:00Z"
    assert (found["ci-past"]["expired"], found["ci-fresh"]["expired"]) == (True, False)
    assert (found["ci-for-ever"]["expires"], found["ci-for-ever"]["age_seconds"]) == (None, 9 * 3600)
    assert "'soon'" in found["ci-unreadable"]["expiry_unreadable"]


def _priced(region: str) -> dict[str, Any]:
    state = deployment(**stack_files.load("small").spec.model_dump(mode="json"))
    provider = {"type": "pulumi:providers:aws", "urn": "urn:pulumi:ci::mullion::pulumi:providers:aws::default"}
    return {"resources": [{**provider, "inputs": {"region": region}}, *state["resources"]]}


def test_ls_shows_what_a_cluster_has_cost_in_its_nine_hours(removed: list[str], clone: Path, mullion: Run) -> None:
    put("priced", _priced("eu-west-1"))
    put("elsewhere", _priced("xx-nowhere-1"))
    hour = json.loads(mullion("cost", "small", "--json").stdout)["hour"]
    found = {each["name"]: each for each in json.loads(mullion("ls", "--sandbox", "--json").stdout)["clusters"]}
    assert found["priced"]["usd_so_far"] == pytest.approx(9 * hour, abs=0.01)
    assert found["priced"]["without_price"] == []
    assert "NAT gateway" in found["elsewhere"]["without_price"]
    assert found["ci-fresh"]["usd_so_far"] is None
    lines = {line.split()[0]: line for line in mullion("ls", "--sandbox").stdout.splitlines()[1:9]}
    assert f"USD {9 * hour:.2f} " in lines["priced"]
    assert "at least USD" in lines["elsewhere"]
    assert "unknown" in lines["ci-fresh"]


def test_ls_names_a_state_that_cannot_be_read_and_shows_the_others(
    removed: list[str], clone: Path, mullion: Run
) -> None:
    put("ci-past", {})
    next(target.sandbox_folder("ci-past").rglob("ci-past.json")).write_text("{")
    result = mullion("ls", "--sandbox")
    assert "ci-past.json cannot be read" in result.stderr
    assert "ci-fresh" in result.stdout


def test_ls_shows_the_clusters_of_the_backend_and_of_the_sandboxes(
    backend: dict[str, str], clone: Path, mullion: Run
) -> None:
    backend["team"] = json.dumps({"deployment": deployment(expires="10h")})
    backend["broken"] = "[]"
    put("mine", deployment())
    result = mullion("ls")
    assert [line.split()[:2] for line in result.stdout.splitlines()[1:]] == [["mine", "sandbox"], ["team", "backend"]]
    assert "the state of broken cannot be read" in result.stderr


def _unlistable(backend: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend in a folder whose state "torn" makes the engine's own list fail."""
    backend["team"] = json.dumps({"deployment": deployment(expires="1h")})
    backend["torn"] = "unlistable: error: failed to load checkpoint: unexpected end of JSON input"
    files = folder / "backend" / ".pulumi" / "stacks" / "mullion"
    files.mkdir(parents=True)
    for name in backend:
        (files / f"{name}.json").write_text("{")
    monkeypatch.setenv("PULUMI_BACKEND_URL", (folder / "backend").as_uri())


def test_a_state_that_stops_the_engines_list_is_named_and_the_others_are_shown(
    backend: dict[str, str], clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    _unlistable(backend, clone, monkeypatch)
    result = mullion("ls")
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == ["team"]
    said = "the state of torn cannot be read: failed to load checkpoint: unexpected end of JSON input; bring an older"
    assert said in result.stderr


def test_a_state_that_stops_the_engines_list_does_not_stop_the_reaper(
    backend: dict[str, str], clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    _unlistable(backend, clone, monkeypatch)
    result = mullion("reap")
    assert result.exit_code == Exit.FAILED
    assert "team" in result.stdout
    assert "expired 8h 00m ago" in result.stdout
    assert "the state of torn cannot be read" in result.stderr


def test_a_bucket_that_nothing_lists_is_an_error_that_says_how_to_find_the_state(
    backend: dict[str, str], clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    _unlistable(backend, clone, monkeypatch)
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://state")
    monkeypatch.setenv("PATH", "/nowhere")
    result = mullion("ls")
    assert result.exit_code == Exit.FAILED
    said = " ".join(result.stderr.split())
    assert "the states in s3:// cannot be listed: failed to load checkpoint" in said
    assert "nor the names of their files: aws is not installed, which would list the bucket" in said
    assert "pulumi stack export --stack NAME" in said


@pytest.mark.parametrize("words", [("ls",), ("reap",), ("reap", "--by-tags", "azure")])
def test_a_backend_without_a_file_is_an_error_and_not_empty(
    words: tuple[str, ...], backend: dict[str, str], clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is not mounted: the clusters in it would count as clusters without a state."""
    _unlistable(backend, clone, monkeypatch)
    shutil.rmtree(clone / "backend" / ".pulumi")
    result = mullion(*words)
    assert result.exit_code == Exit.FAILED
    assert "failed to load checkpoint" in result.stderr


def test_resources_without_a_state_are_listed_with_what_removes_them(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Stateless(
        "ci-lost", "ci-lost", "qa", "2026-11-23T18:00:00Z", (("aws:ec2/vpc:Vpc", "vpc-1"),), ("rm -r /x/ci-lost",)
    )
    put("ci-lost", {})
    monkeypatch.setattr(stateless, "in_sandbox", lambda *_: found)
    for words in (("ls",), ("reap", "--sandbox")):
        shown = mullion(*words).stdout
        assert "in the sandbox ci-lost: 1 resource of cluster ci-lost, owner qa, expires 2026-11-23T18:00:00Z" in shown
        assert "\n  rm -r /x/ci-lost" in shown
    document = json.loads(mullion("ls", "--json").stdout)
    assert document["without_state"][0]["resources"] == [{"type": "aws:ec2/vpc:Vpc", "id": "vpc-1"}]


def test_orphans_of_a_sandbox_carry_their_tags_and_their_removal(clone: Path) -> None:
    from sandbox.clouds import of_type
    from sandbox.provider import Provider

    (clone / "stacks" / "Pulumi.lost.yaml").write_text(STACK)
    file = target.cloud_state_file("lost")
    file.parent.mkdir(parents=True)
    cloud_state = CloudState(file)
    provider = Provider(of_type("aws:ec2/vpc:Vpc"), cloud_state)
    provider.configure({"region": "eu-west-1"})
    tags = {"mullion:cluster": "lost", "mullion:owner": "qa", "mullion:expires": "2026-11-23T18:00:00Z"}
    urn = "urn:pulumi:lost::mullion::aws:ec2/vpc:Vpc::lost-vpc"
    inputs, _ = provider.check(urn, {}, {"cidrBlock": "10.0.0.0/16", "tags": tags}, b"seed")
    key, _ = provider.create(urn, inputs, preview=False)
    cloud_state.close()

    whole = stateless.in_sandbox("lost", {})
    assert whole is not None
    assert (whole.cluster, whole.owner, whole.expires) == ("lost", "qa", "2026-11-23T18:00:00Z")
    assert whole.things == (("aws:ec2/vpc:Vpc", key),)
    assert whole.commands == (f"rm -r {target.sandbox_folder('lost')}",)
    state = deployment()
    part = stateless.in_sandbox("lost", state)
    assert part is not None
    assert part.commands == ("mullion sandbox remove lost aws:ec2/vpc:Vpc/lost-vpc",)
    recorded = {"resources": [{"type": "aws:ec2/vpc:Vpc", "id": key, "custom": True, "urn": urn}]}
    assert stateless.in_sandbox("lost", recorded) is None
