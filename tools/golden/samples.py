"""Small specs, their plans, and functions that read a plan."""

import json
from collections.abc import Iterator
from typing import Any

from components import releases
from components.catalogue import artifacts
from components.node import plan_node
from components.node.kinds import Step
from components.node.plan import NodePlan
from components.spec.models import ClusterSpec

KUBERNETES = "1.32.13"

PATCHES = {releases.minor(each): each for each in artifacts.versions("kubernetes-node")}
"""Newest patch with digests for both systems, by minor."""

SYSTEMS = ("ubuntu-22.04", "ubuntu-24.04", "debian-12", "windows-2019", "windows-2022", "windows-2025")


def spec(os: str | None = None, pool: dict[str, Any] | None = None, **cluster: Any) -> ClusterSpec:
    """Return the spec of an AWS cluster, with one pool, `pool`, if an operating system is given."""
    pools = {"pool": {"os": os, **(pool or {})}} if os else {}
    return ClusterSpec.model_validate({"cloud": "aws", "kubernetes": KUBERNETES, "pools": pools, **cluster})


def plan(os: str | None, pool: dict[str, Any] | None = None, **cluster: Any) -> NodePlan:
    """Return the plan of that pool, or of the control plane (None)."""
    return plan_node("dev", spec(os, pool, **cluster), "pool" if os else None)


def one(node_plan: NodePlan, name: str) -> Step:
    """Return the step with the name."""
    return next(each for each in node_plan.steps if each.name == name)


def phase(node_plan: NodePlan, name: str) -> tuple[Step, ...]:
    """Return the steps of the phase with the name."""
    return next(each.steps for each in node_plan.phases if each.name == name)


def content(node_plan: NodePlan, name: str) -> Any:
    """Return the content of a file step."""
    return one(node_plan, name).fields["content"]


def text(node_plan: NodePlan) -> str:
    """Return the plan as JSON text."""
    return json.dumps(node_plan.document())


def position(node_plan: NodePlan, name: str) -> int:
    """Return the index of the step in the plan."""
    return [each.name for each in node_plan.steps].index(name)


def values(document: Any) -> Iterator[Any]:
    """Yield every scalar and every reference in a document."""
    if isinstance(document, dict) and set(document) != {"ref"}:
        for each in document.values():
            yield from values(each)
    elif isinstance(document, list | tuple):
        for each in document:
            yield from values(each)
    else:
        yield document


def init_documents(node_plan: NodePlan) -> dict[str, Any]:
    """Return the documents of `kubeadm init` by kind."""
    return {each["kind"]: each for each in content(node_plan, "init-config")}
