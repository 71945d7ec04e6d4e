"""What `mullion plan --against FILE` takes for an earlier plan or state, and what not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

Run = Callable[..., Result]

FACTS = {"os": "ubuntu-24.04", "size": "m6i.large", "disk_gb": 50, "image": None, "replace_digest": "0"}
CONTROL_PLANE = {"name": "control-plane", "bundle": {"sha256": "0"}, **FACTS}
EARLIER = {"format": 1, "cluster": "small", "pools": [CONTROL_PLANE], "machines": []}
MACHINE = {"type": "aws:ec2/instance:Instance", "urn": "a::b::c::small-web-0"}
TAGS = {"mullion:cluster": "small", "mullion:pool": "web"}
NEITHER: dict[str, Any] = {
    "a list": [],
    "a plan without pools": EARLIER | {"pools": []},
    "a plan of another format": EARLIER | {"format": 2},
    "a plan without machines": {key: value for key, value in EARLIER.items() if key != "machines"},
    "a pool without a size": EARLIER | {"pools": [CONTROL_PLANE, {"name": "web", "replace_digest": "0"}]},
    "a machine of no pool": EARLIER | {"machines": [{"name": "web-0", "pool": "web", "address": "10.0.0.1"}]},
    "a machine whose name is a number": EARLIER
    | {"machines": [{"name": 5, "pool": "control-plane", "address": "10.0.0.1"}]},
    "a cluster without a name": EARLIER | {"cluster": None},
    "no deployment": {"version": 3, "deployment": None},
    "a deployment that is a list": {"deployment": []},
    "a resource that is a number": {"deployment": {"resources": [1]}},
    "resources that are a text": {"deployment": {"resources": "none"}},
    "a resource without a URN": {"deployment": {"resources": [{"type": MACHINE["type"], "inputs": {"tags": TAGS}}]}},
    "an instance without its pool": {
        "deployment": {"resources": [MACHINE | {"inputs": {"tags": {"mullion:cluster": "small"}}}]}
    },
    "inputs of null": {"deployment": {"resources": [MACHINE | {"inputs": None}]}},
    "tags that are a number": {"deployment": {"resources": [MACHINE | {"inputs": {"tags": 1}}]}},
}


@pytest.mark.parametrize("found", NEITHER)
def test_a_file_that_is_nearly_a_plan_or_a_state_is_refused(
    found: str, clone: Path, mullion: Run, tmp_path: Path
) -> None:
    (tmp_path / "file.json").write_text(json.dumps(NEITHER[found]))
    result = mullion("plan", "small", "--against", str(tmp_path / "file.json"))
    assert result.exit_code == 2, result.output
    assert "neither from" in result.stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("not json", "--against"),
        ("{}", "neither from"),
        (
            json.dumps(EARLIER | {"cluster": "other"}),
            "other",
        ),
    ],
)
def test_a_file_that_is_no_earlier_state_of_the_cluster_is_refused(
    content: str, says: str, clone: Path, mullion: Run, tmp_path: Path
) -> None:
    (tmp_path / "file.json").write_text(content)
    result = mullion("plan", "small", "--against", str(tmp_path / "file.json"))
    assert result.exit_code == 2
    assert says in result.stderr
