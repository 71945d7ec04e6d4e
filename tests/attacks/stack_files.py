"""Stack files of an attacker, and the problems with which `up` refuses them."""

from typing import Any

import pytest

from components.spec.report import SpecError
from components.stack_files.stack import CLUSTER, read_stack, refuse_unready
from tests.components.spec.documents import REGION, changed


def refusal(change: Any) -> str:
    """Return the problems with which `up` refuses a changed stack: path, reason and fix of each."""
    with pytest.raises(SpecError) as refused:
        refuse_unready(read_stack("aws-test", {**REGION, CLUSTER: changed(change)}))
    return "\n".join(f"{problem}" for problem in refused.value.problems)


def api_server(*flags: tuple[str, str]) -> dict[str, Any]:
    written = [{"name": name, "value": value} for name, value in flags]
    return {
        "kubernetes": "1.31.14",
        "kubeadm": {"config": {"ClusterConfiguration": {"apiServer": {"extraArgs": written}}}},
    }
