"""`mullion run --boot`: the command gets a booted, verified cluster, which is then removed without a trace."""

import json
import time
from pathlib import Path

import pytest

from lab import build
from lab.programs import cluster_programs
from operations.engine.locate import Engine
from tests.lab.cluster.clone import Clone

pytestmark = [pytest.mark.lab, pytest.mark.soak, pytest.mark.engine]


def test_the_command_of_a_run_sees_the_nodes_and_nothing_is_left(
    built: str, engine: Engine, tmp_path: Path, kubernetes: str
) -> None:
    clone = Clone(tmp_path, "aws-ci")
    clone.sandbox = tmp_path / ".mullion" / "sandbox" / "ci-4711"
    (kubectl,) = (each for each in cluster_programs(kubernetes) if (each.name, each.os) == ("kubectl", "linux"))
    began = time.monotonic()
    seen = clone.mullion(
        *("run", "aws-ci", "--sandbox", "--boot", "--set", f"kubernetes={built}", "--name", "ci-4711"),
        *("--", str(build.place(kubectl)), "get", "nodes", "--output", "name"),
    )
    assert seen.split() == ["node/control-plane-0", "node/windows-0"]
    result = json.loads((tmp_path / ".mullion" / "runs" / "ci-4711" / "result.json").read_text())
    taken = {phase["name"]: phase["seconds"] for phase in result["phases"]}
    print(f"{taken}, {time.monotonic() - began:.0f} s in all")  # noqa: T201 - the figure of docs/ci.md
    assert [phase["result"] for phase in result["phases"]] == ["passed"] * 5
    assert not clone.sandbox.exists()
    assert not any(clone.remains().values())
