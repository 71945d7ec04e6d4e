"""`mullion extend`: a later expiry."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pulumi import automation as auto
from pulumi.automation.errors import create_command_error
from typer.testing import Result

from components.plan import plan_cluster
from components.spec import expiry
from operations.commands import extend, plan_against, stack_change
from operations.commands.plan import document
from operations.console.exits import Exit
from operations.engine import workspace
from operations.recovery import recovery
from operations.stacks import stack_files
from tests.operations.conftest import STACK
from tests.operations.states import NOW, deployment

Run = Callable[..., Result]


@pytest.fixture
def built(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], list[Any]]:
    """Give `built(state)`: a cluster of this state at NOW; returns what `extend` writes to the stack file."""

    def state(found: dict[str, Any]) -> list[Any]:
        written: list[Any] = []

        @contextmanager
        def opened(name: str) -> Any:
            yield None

        monkeypatch.setattr(extend, "built", opened)
        monkeypatch.setattr(recovery, "export", lambda run: {"deployment": found})
        monkeypatch.setattr(expiry, "now", lambda: NOW)
        monkeypatch.setattr(stack_change, "change", lambda stack, keys, value, *_, **__: written.append((keys, value)))
        return written

    return state


def built_state(expires: str) -> dict[str, Any]:
    """Return the state of the stack small as its file describes it, but with this expiry."""
    stack = stack_files.load("small")
    planned = document(stack, plan_cluster("small", stack.spec))
    digests = {pool["name"]: pool["replace_digest"][: plan_against.DIGEST] for pool in planned["pools"]}
    digests["control-plane"] = ""
    bundle = next(pool["bundle"]["sha256"] for pool in planned["pools"] if pool["name"] == "control-plane")
    state = deployment(resources=False, **{**planned["spec"], "expires": expires})
    tags = {"mullion:cluster": "small"}
    state["resources"] += [
        {
            "type": "aws:ec2/instance:Instance",
            "urn": f"urn:pulumi:small::mullion::aws:ec2/instance:Instance::small-{machine['name']}",
            "custom": True,
            "inputs": {
                "privateIp": machine["address"],
                "tags": {**tags, "mullion:pool": machine["pool"], "mullion:digest": digests[machine["pool"]]},
            },
        }
        for machine in planned["machines"]
    ]
    state["resources"].append(
        {
            "type": "aws:s3/bucketObjectv2:BucketObjectv2",
            "urn": "urn:pulumi:small::mullion::aws:s3/bucketObjectv2:BucketObjectv2::small-bundle",
            "inputs": {"key": f"bundles/control-plane/{bundle}.zip"},
        }
    )
    return state


@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        ("count: 2", "count: 3", ["pools.web.count: 2 -> 3", "machines added: web-2"]),
        ("windows-2022,", "windows-2019,", ["pools.web.os: windows-2022 -> windows-2019", "replaced: web-0, web-1"]),
        ("cloud: aws", "cloud: aws\n    owner: others", ["owner: None -> others"]),
    ],
)
def test_extend_refuses_to_apply_other_changes_of_the_stack_file(
    was: str, now: str, says: list[str], built: Callable[..., list[Any]], mullion: Run
) -> None:
    written = built(built_state("10h"))
    path = stack_files.file("small")
    path.write_text(path.read_text().replace(was, now))
    before = path.read_bytes()
    result = mullion("extend", "small", "1h", "--sandbox", "--yes")
    assert (result.exit_code, written, path.read_bytes()) == (Exit.REFUSED, [], before)
    for text in ("`up` would change more than the expiry", *says, "make these changes first (`mullion up small`)"):
        assert text in result.stderr


def test_extend_refuses_a_newer_bundle_and_a_state_of_another_version(
    built: Callable[..., list[Any]], mullion: Run
) -> None:
    state = built_state("10h")
    state["resources"][-1]["inputs"]["key"] = "bundles/control-plane/0000.zip"
    state["resources"][0]["inputs"]["option_of_another_version"] = 1
    written = built(state)
    result = mullion("extend", "small", "1h", "--sandbox", "--yes")
    assert (result.exit_code, written) == (Exit.REFUSED, [])
    assert "the control plane gets another bundle" in result.stderr
    assert "another version of Mullion wrote the state" in result.stderr


@pytest.mark.parametrize(
    ("expires", "after"), [("10h", "2026-11-23T21:00:00Z"), ("1h", "2026-11-23T20:00:00Z")], ids=["later", "past"]
)
def test_extend_moves_the_expiry_from_now_if_it_has_passed(
    expires: str, after: str, built: Callable[..., list[Any]], mullion: Run
) -> None:
    written = built(built_state(expires))
    result = mullion("extend", "small", "1h", "--sandbox", "--yes")
    assert result.exit_code == Exit.OK, result.stderr
    assert written == [(("expires",), f'"{after}"')]


@pytest.mark.parametrize(
    ("state", "duration", "code", "says"),
    [
        (deployment(), "1h", Exit.REFUSED, "does not expire"),
        (deployment(expires="soon"), "1h", Exit.REFUSED, "neither a duration nor a UTC time"),
        ({}, "1h", Exit.REFUSED, "no resources"),
        (deployment(expires="1h"), "an hour", Exit.USAGE, "write 90s, 10m, 2h or 3d"),
        (deployment(expires="1h"), "0s", Exit.USAGE, "between 1s and 366d"),
        (deployment(expires="1h"), "9999d", Exit.USAGE, "between 1s and 366d"),
    ],
)
def test_extend_refuses_what_it_cannot_extend(
    state: dict[str, Any], duration: str, code: Exit, says: str, built: Callable[..., list[Any]], mullion: Run
) -> None:
    written = built(state)
    result = mullion("extend", "small", duration)
    assert (result.exit_code, written) == (code, [])
    assert says in result.stderr


class Engine:
    """An engine whose `config refresh` writes the stack file, or fails with a message."""

    def __init__(self, folder: Path, fails: str = "") -> None:
        self.folder, self.fails, self.work_dir, self.pulumi_command = folder, fails, ".", self
        self.calls = list[list[str]]()

    def run(self, words: list[str], *_: Any) -> None:
        self.calls.append(words)
        if self.fails:
            raise create_command_error(auto.CommandResult("", f"error: {self.fails}", 255))
        (self.folder / f"Pulumi.{words[-1]}.yaml").write_text(STACK)


def _without_file(clone: Path, monkeypatch: pytest.MonkeyPatch, fails: str = "") -> Engine:
    """A clone that has lost the stack file of the cluster ci-1, with a backend."""
    engine = Engine(clone / "stacks", fails)

    @contextmanager
    def opened(*_: Any, **__: Any) -> Any:
        yield engine

    monkeypatch.setattr(workspace, "opened", opened)
    monkeypatch.setattr(workspace, "has_backend", lambda: True)
    monkeypatch.setattr(extend.locate, "find", lambda: None)
    return engine


def test_a_lost_stack_file_is_written_as_the_last_up_read_it(
    built: Callable[[dict[str, Any]], list[Any]], clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = _without_file(clone, monkeypatch)
    written = built(deployment(expires="10h"))
    monkeypatch.setattr(extend, "_others", lambda *_: [])
    result = mullion("extend", "ci-1", "1h")
    assert result.exit_code == 0, result.stderr
    assert engine.calls == [["config", "refresh", "--stack", "ci-1"]]
    assert "wrote stacks/Pulumi.ci-1.yaml as the last `up` of ci-1 read it" in result.stderr
    assert written == [(("expires",), '"2026-11-23T21:00:00Z"')]


def test_a_lost_stack_file_that_the_backend_does_not_have_is_an_error(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without_file(clone, monkeypatch, "no previous deployment")
    result = mullion("extend", "ci-1", "1h")
    assert result.exit_code == Exit.USAGE
    said = " ".join(result.stderr.split())
    assert "no stacks/Pulumi.ci-1.yaml, and the backend does not give it: no previous deployment. Copy the file" in said


@pytest.mark.parametrize("words", [("../x", "1h"), ("ci-1", "1h", "--sandbox")])
def test_no_engine_is_asked_for_a_file_that_no_backend_has(
    words: tuple[str, ...], clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = _without_file(clone, monkeypatch)
    assert mullion("extend", *words).exit_code == Exit.USAGE
    assert engine.calls == []
