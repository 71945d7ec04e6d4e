"""`mullion preview`: what an `up` would do, before a first build and over a built cluster."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pulumi
import pytest
from typer.testing import Result

from operations.commands import preview
from operations.console.exits import Exit
from operations.engine.locate import Engine
from operations.recorder import recorder
from operations.stacks import target
from operations.stacks.paths import REPOSITORY
from operations.stacks.target import Target
from tests import clones

Run = Callable[..., Result]


@pytest.mark.parametrize("words", [("preview", "small", "--sandbox"), ("up", "small", "--sandbox", "--preview")])
def test_preview_of_a_stack_that_is_not_built_needs_no_engine(
    words: tuple[str, ...], clone: Path, mullion: Run
) -> None:
    result = mullion(*words)
    assert result.exit_code == 0, result.output
    for shown in (
        "  before: new, nothing is built; now: USD 809.02 a month\n",
        "Not built yet",
        "control-plane-0, linux-0, web-0, web-1",
        "Resources: ",
        " created, 0 changed, 0 replaced, 0 removed",
        "\nPolicies: 17 rules, 0 broken\n",
        "Predicted, on real AWS: resources created after",
        "all nodes Ready after about",
    ):
        assert shown in result.stdout
    assert target.recall("small") is None, "nothing was built"


def test_preview_names_the_policies_that_a_first_build_breaks(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_stores(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        closed = args.type_.endswith(":BucketPublicAccessBlock")
        return (
            pulumi.ResourceTransformationResult({**args.props, "block_public_acls": False}, args.opts)
            if closed
            else None
        )

    async def careless() -> None:
        pulumi.runtime.register_stack_transformation(open_stores)
        await recorder.program()

    monkeypatch.setattr(preview, "record", partial(recorder.record, program=careless))
    result = mullion("preview", "small", "--sandbox")
    assert result.exit_code == Exit.REFUSED
    assert "\nPolicies: 17 rules, 1 broken: stores-encrypted\n" in result.stdout
    assert "all nodes Ready after about" in result.stdout, "the preview comes before the refusal"
    assert "policies refuse this; nothing was changed" in result.stderr
    assert result.stderr.rstrip().endswith("[stores-encrypted]")


def test_preview_refuses_the_other_place(clone: Path, mullion: Run) -> None:
    target.remember("small", Target("aws"))
    result = mullion("preview", "small", "--sandbox")
    assert result.exit_code == Exit.REFUSED
    assert "mullion down small" in result.stderr


@pytest.mark.engine
def test_preview_over_a_built_cluster_names_options_machines_waves_and_resources(
    tmp_path: Path, engine: Engine
) -> None:
    mullion = clones.copied(tmp_path, engine)
    built = mullion("up", "aws-ci", "--sandbox", "--yes")
    assert built.returncode == 0, built.stderr
    assert "API after about" in built.stdout
    state = (tmp_path / ".mullion" / "sandbox" / "aws-ci" / "world.db").read_bytes()
    assert "pulumi-analyzer-policy-python" not in built.stderr
    same = mullion("preview", "aws-ci")  # built in the sandbox, so it is previewed there
    assert same.returncode == 0, same.stderr
    assert "options   none changed" in same.stdout
    assert "`up` changes nothing" in same.stdout
    assert "Policies: 17 rules, 0 broken\n" in same.stdout
    assert "difference: +0.00; no item differs" in same.stdout

    file = tmp_path / "stacks" / "Pulumi.aws-ci.yaml"
    file.write_text(file.read_text().replace("disk_gb: 64", "disk_gb: 80").replace("owner: ci", "owner: others"))
    changed = mullion("preview", "aws-ci", "--sandbox")
    assert changed.returncode == 0, changed.stderr
    for shown in (
        "windows-0: pools.windows.disk_gb: 64 -> 80\n",
        "difference: +1.41\n",
        "waves of windows: windows-0\n",
        "kept      control-plane-0\n",
        "replaced  aws-ci-windows-0 (aws:ec2/instance:Instance)",
        "API reachable all the time",
    ):
        assert shown in changed.stdout, changed.stdout
    [row] = [line.split() for line in changed.stdout.splitlines() if line.startswith("    windows  ")]
    assert row[-1] == "+1.41", "16 GiB of gp3 at USD 0.088"
    assert ["owner", "ci", "others", "in", "place"] in [line.split() for line in changed.stdout.splitlines()]
    against = mullion("plan", "aws-ci", "--against")
    assert "windows-0: pools.windows.disk_gb: 64 -> 80" in against.stdout
    assert (tmp_path / ".mullion" / "sandbox" / "aws-ci" / "world.db").read_bytes() == state, "nothing was changed"


@pytest.mark.parametrize(("page", "stack"), [("README.md", "aws-dev"), ("docs/tutorial.md", "demo")])
def test_pages_show_the_number_of_resources_and_the_times_that_preview_predicts(
    page: str, stack: str, clone: Path, mullion: Run
) -> None:
    shown = (REPOSITORY / page).read_text("utf-8")
    file = REPOSITORY / "stacks" / f"Pulumi.{stack}.yaml"
    text = file.read_text("utf-8") if file.exists() else re.findall(r"```yaml\n(.*?)```", shown, re.DOTALL)[0]
    (clone / "stacks" / f"Pulumi.{stack}.yaml").write_text(text)

    said = mullion("preview", stack, "--sandbox").stdout

    total = re.findall(r"^Resources: (\d+) created", said, re.MULTILINE)
    assert re.findall(r"^(\d+) created in ", shown, re.MULTILINE) == total
    assert f"[{total[0]}/{total[0]}] created {stack}-web-0 " in shown
    times = re.findall(r"^Predicted, on real AWS: .* API after .*", shown, re.MULTILINE)
    assert all(line in said for line in times)
