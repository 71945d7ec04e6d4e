"""Stacks on the recording monitor: what each registers, once for all tests."""

from functools import lru_cache
from pathlib import Path

from components.plan import ClusterPlan, plan_cluster
from components.stack_files.stack import read_stack
from operations.recorder.recorder import Recording, Registered, record
from tools.golden.cases import config

__all__ = ["ROOT", "config", "of", "plan", "recording"]
ROOT = Path(__file__).resolve().parents[2]


@lru_cache
def recording(stack: str, preview: bool = False) -> Recording:
    found = record(stack, config(stack), preview=preview)
    assert found.errors == []
    return found


@lru_cache
def plan(stack: str) -> ClusterPlan:
    return plan_cluster(stack, read_stack(stack, config(stack)).spec)


def of(found: Recording, type_: str) -> dict[str, Registered]:
    """What was registered of a type, by logical name."""
    return {each.name: each for each in found.resources.values() if each.type == type_}
