"""What tests of the command share: a clone's stacks in a folder of their own, and the command line."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from operations.__main__ import app
from tests import clones

STACK = """\
# a cluster
config:
  aws:region: eu-west-1
  mullion:cluster:
    cloud: aws
    kubernetes: "1.36.4"
    pools:
      linux: {os: ubuntu-24.04, count: 1}   # one is enough
      web: {os: windows-2022, count: 2}
"""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `stacks/` and what a run leaves; the command takes it for the clone it belongs to."""
    clones.write(tmp_path, "small", STACK)
    clones.work_in(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def mullion() -> Callable[..., Result]:
    """The command, in this process: `mullion("plan", "small")`."""
    return lambda *words: CliRunner().invoke(app, words)
