"""`mullion extend`: a later expiry."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from components.plan import plan_cluster
from components.spec import expiry
from operations.commands import extend, plan_against, stack_change
from operations.commands.plan import document
from operations.console.exits import Exit
from operations.recovery import recovery
from operations.stacks import stack_files
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
