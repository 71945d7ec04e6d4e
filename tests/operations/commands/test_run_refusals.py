"""`mullion run`: what it refuses before anything is built."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import Result

from components.stack_files.stack import CLUSTER
from operations.console.exits import Exit
from tests.operations.commands.runs import Cluster, nothing_left

Run = Callable[..., Result]


@pytest.mark.parametrize(
    ("options", "command", "code", "says"),
    [
        ((), ("no-such-program",), Exit.USAGE, "no program 'no-such-program'"),
        (("--ttl", "2 hours"), ("true",), Exit.USAGE, "--ttl: '2 hours' is not a duration"),
        (("--keep-on-failure", "0s"), ("true",), Exit.USAGE, "--keep-on-failure: 0s"),
        (("--timeout", "x"), ("true",), Exit.USAGE, "--timeout: 'x' is not a duration"),
        (("--set", "pools.web.count"), ("true",), Exit.USAGE, "is not PATH=VALUE"),
        (("--set", "pools..count=1"), ("true",), Exit.USAGE, "is not PATH=VALUE"),
        (("--set", "cloud.x=1"), ("true",), Exit.USAGE, "cloud is 'aws', which has no x"),
        (("--set", "owner=[a"), ("true",), Exit.USAGE, "the value is not YAML"),
        (("--set", "cloud+=[a]"), ("true",), Exit.USAGE, "appends a list to a list"),
        (("--set", "expires=1h"), ("true",), Exit.USAGE, "the expiry of a run is --ttl"),
        (("--set", "pools.web.count=-1"), ("true",), Exit.USAGE, "pools.web.count"),
        (("--set", "poools.web.count=1"), ("true",), Exit.USAGE, "poools"),
        (("--set", "pools.windows.os=windows-2025"), ("true",), Exit.USAGE, "has no pool windows, and a part"),
        (("--set", "pools.windows.kubelet.x=1"), ("true",), Exit.USAGE, "Its pools: linux, web (in pipelines"),
        (("--set", "protect=true"), ("true",), Exit.USAGE, "protect and expires contradict"),
        (("--name", "small"), ("true",), Exit.REFUSED, "stacks/Pulumi.small.yaml exists"),
        (("--name", "../x"), ("true",), Exit.USAGE, "stack name"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_built(
    options: tuple[str, ...],
    command: tuple[str, ...],
    code: Exit,
    says: str,
    clone: Path,
    cluster: Cluster,
    mullion_run: Run,
) -> None:
    result = mullion_run(*options, command=command)
    assert result.exit_code == code, result.stderr
    assert says in result.stderr
    assert cluster.calls == []
    assert nothing_left(clone)


@pytest.mark.parametrize(("allow", "named"), [(("--set", "api.allow=[198.51.100.7/32]"), True), ((), False)])
def test_a_pipeline_with_a_private_template_learns_its_option(
    allow: tuple[str, ...], named: bool, clone: Path, cluster: Cluster, mullion_run: Run
) -> None:
    result = mullion_run(*allow, *(() if allow else ("--set", "pools.web.count=-1")))
    assert result.exit_code == Exit.USAGE
    assert ("write allow_runner: false" in result.stderr) is named, result.stderr
    assert ("[allow-on-private]" in result.stderr) is named


@pytest.mark.subprocess
def test_a_pool_that_is_written_whole_is_added(clone: Path, cluster: Cluster, mullion_run: Run) -> None:
    whole = ("--set", "pools.gpu={os: windows-2025, count: 1}", "--set", "pools.gpu.count=2")
    assert mullion_run(*whole).exit_code == 0
    assert (cluster.spec.pools["gpu"].os.value, cluster.spec.pools["gpu"].count) == ("windows-2025", 2)


def test_artifacts_cannot_be_a_file(clone: Path, cluster: Cluster, mullion_run: Run) -> None:
    (clone / "art").write_text("")
    result = mullion_run()
    assert result.exit_code == Exit.USAGE
    assert "is a file; name a folder" in result.stderr
    assert nothing_left(clone)


def test_a_template_with_encrypted_values_is_refused(clone: Path, cluster: Cluster, mullion_run: Run) -> None:
    file = clone / "stacks" / "Pulumi.small.yaml"
    document = yaml.safe_load(file.read_text())
    document["config"]["aws:secretKey"] = {"secure": "v1:abc"}
    assert CLUSTER in document["config"]
    file.write_text(yaml.safe_dump(document))
    result = mullion_run()
    assert result.exit_code == Exit.USAGE
    assert "contains encrypted values (aws:secretKey)" in result.stderr
    assert cluster.calls == []
