"""The copy in which `mullion chaos` works: its sandbox has what the stack file names of the user."""

from pathlib import Path

import pytest

from components.stack_files.stack import CLUSTER
from operations.chaos import invariants
from operations.chaos.clone import ScratchClone, copy_clone
from operations.engine.locate import Engine, Origin
from sandbox import keys
from sandbox.existing_network import is_yours
from tests.clones import alone
from tools.golden.cases import EXISTING, KEY, in_existing

pytestmark = pytest.mark.subprocess

STACK = "aws-existing"
ENGINE = Engine(Path("/none/pulumi"), "3.0.0", Origin.PATH)
ALL = """
import importlib, pkgutil, operations
for each in pkgutil.walk_packages(operations.__path__, "operations."):
    if not each.name.endswith("__main__"):
        importlib.import_module(each.name)
from operations.engine import build, locate
print(locate.__file__, build.TOOLS, sep="\\n")
"""


def test_a_copy_has_every_module_that_the_command_imports_and_the_pins_of_the_engine(tmp_path: Path) -> None:
    copy_clone(tmp_path)
    done = alone(tmp_path, "-c", ALL)
    assert done.returncode == 0, done.stderr[-2000:]
    locate, tools = map(Path, done.stdout.split())
    assert locate.is_relative_to(tmp_path)
    assert tools == tmp_path / "tools"
    assert {each.name for each in tools.iterdir()} == {"go.mod", "go.sum", "go.lock"}


def test_the_sandbox_has_the_users_network_and_key_again_after_each_fresh_start(tmp_path: Path) -> None:
    config = in_existing("aws", {"existing": EXISTING["aws"]})
    config[CLUSTER]["encryption_key"] = KEY
    clone = ScratchClone(tmp_path, ENGINE, STACK, config)
    for _ in range(2):
        clone.fresh()
        with clone.cloud_state() as cloud_state:
            there = cloud_state.resources()
            assert EXISTING["aws"]["network"] in {each.id for each in there}
            assert all(is_yours(each.urn) for each in there)
            assert keys.find(cloud_state, KEY) == keys.Key()
        found = invariants.snapshot(clone)
        assert list(invariants.broken(found, found, invariants.Asked())) == [], "the network belongs to no stack"


def test_a_network_that_the_sandbox_refuses_is_reported(tmp_path: Path) -> None:
    existing = {**EXISTING["aws"], "subnets": [{**EXISTING["aws"]["subnets"][0], "range": "10.30.64.0/29"}]}
    config = in_existing("aws", {"existing": existing})
    with pytest.raises(RuntimeError, match=r"(?s)mullion sandbox network .*a zone would have 10\.30\.64\.0/29"):
        ScratchClone(tmp_path, ENGINE, STACK, config)
