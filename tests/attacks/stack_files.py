"""Stack files of an attacker, and the problems with which `up` refuses them."""

from typing import Any

import pytest

from components.spec.report import SpecError
from components.stack_files.stack import CLUSTER, read_stack, refuse_unready
from tests.components.spec.documents import REGION, changed

REPORTED: set[str] = set()
"""Ids of the problems that a test's stack files had; a fixture empties it and compares it with the docstring."""


def refusal(change: Any) -> str:
    """Return the problems with which `up` refuses a changed stack: path, reason, id and fix of each."""
    with pytest.raises(SpecError) as refused:
        refuse_unready(read_stack("aws-test", {**REGION, CLUSTER: changed(change)}))
    REPORTED.update(problem.id for problem in refused.value.problems)
    return "\n".join(f"{problem}" for problem in refused.value.problems)


def api_server(*flags: tuple[str, str]) -> dict[str, Any]:
    written = [{"name": name, "value": value} for name, value in flags]
    return {
        "kubernetes": "1.31.14",
        "kubeadm": {"config": {"ClusterConfiguration": {"apiServer": {"extraArgs": written}}}},
    }
