"""`mullion sandbox key`: creates the key of a stack file in its sandbox."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from components.stack_files.stack import CLUSTER
from operations.__main__ import app
from operations.commands import sandbox_key
from operations.console.exits import Exit, Stop
from operations.stacks import target
from operations.stacks.paths import REPOSITORY
from sandbox import keys
from sandbox.cloud_state import CloudState
from sandbox.keys import Key
from tests.clones import work_in
from tools.golden.cases import KEY


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work_in(tmp_path, monkeypatch)
    (tmp_path / "stacks").mkdir()
    (tmp_path / "Pulumi.yaml").write_text((REPOSITORY / "Pulumi.yaml").read_text())
    return tmp_path


def write(clone: Path, **fields: str) -> None:
    settings = yaml.safe_load((REPOSITORY / "stacks" / "Pulumi.aws-dev.yaml").read_text())
    settings["config"][CLUSTER] |= fields
    (clone / "stacks" / "Pulumi.mine.yaml").write_text(yaml.safe_dump(settings))


@pytest.mark.parametrize("flags", [["--disabled"], []], ids=["disabled", "enabled"])
def test_the_key_of_the_stack_file_is_in_the_sandbox(flags: list[str], clone: Path) -> None:
    write(clone, encryption_key=KEY)
    result = CliRunner().invoke(app, ["sandbox", "key", "mine", *flags])
    cloud_state = CloudState(target.cloud_state_file("mine"))
    assert keys.find(cloud_state, KEY) == Key(enabled=not flags)
    cloud_state.close()
    word = "disabled" if flags else "enabled"
    assert result.output == f"the sandbox of mine has the key, {word}: {KEY}\n"


def test_a_stack_without_a_key_is_refused(clone: Path) -> None:
    write(clone)
    with pytest.raises(Stop, match="has no encryption_key") as refused:
        sandbox_key.create("mine", disabled=False)
    assert refused.value.code is Exit.USAGE
