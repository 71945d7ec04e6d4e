"""lab.yaml over stacks: still specs of ours, and other plans only where lab.yaml says so."""

from typing import Any

import pytest
import yaml

from components.node.role import role
from components.node.runtime import configuration
from components.spec.stack import read_stack
from operations.paths import REPOSITORY
from sandbox.boot.overlay import bootable

STACKS = ("aws-ci", "aws-dev", "aws-prod")


def config(name: str, kubernetes: str) -> dict[str, Any]:
    whole = yaml.safe_load((REPOSITORY / "stacks" / f"Pulumi.{name}.yaml").read_text(encoding="utf-8"))["config"]
    return {**whole, "mullion:cluster": {**whole["mullion:cluster"], "kubernetes": kubernetes, "acknowledge": {}}}


@pytest.mark.parametrize("kubernetes", ["1.37.1", "1.31.14", "1.24.17"])
@pytest.mark.parametrize("name", STACKS)
def test_every_stack_can_be_made_bootable_by_ordinary_options(
    name: str, kubernetes: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    entries = tmp_path_factory.mktemp("lab") / "artifacts.json"
    entries.write_text("[]")
    plain = config(name, kubernetes)
    made = bootable(plain["mullion:cluster"], str(entries))
    spec = read_stack(name, {**plain, "mullion:cluster": made}).spec
    assert spec.artifacts.mirror == "http://mirror.sandbox.internal:8080"
    for pool in (None, *(each for each, pool in spec.pools.items() if not pool.os.is_windows)):
        machines = role(name, spec, pool)
        text = str(configuration(machines))
        assert ("'SystemdCgroup': False" in text, "'SystemdCgroup': True" in text) == (True, False)
        assert machines.kubelet.config["cgroupDriver"] == "cgroupfs"
        assert ("failCgroupV1" in machines.kubelet.config) == (kubernetes != "1.24.17"), "where the version has it"


def test_windows_pools_and_all_else_stay_as_they_are() -> None:
    plain = config("aws-dev", "1.37.1")["mullion:cluster"]
    made = bootable(plain, "lab.json")
    assert made["pools"]["web"] == plain["pools"]["web"]
    touched = {"artifacts", "control_plane", "kubeadm", "pools"}
    assert {name: made[name] for name in plain.keys() - touched} == {
        name: plain[name] for name in plain.keys() - touched
    }
