"""Node plans: what a machine of each role becomes, as data."""

from typing import Any

from components.node import control_plane, evidence, worker
from components.node.plan import NodePlan
from components.node.role import role
from components.spec.models import ClusterSpec

__all__ = ["plan_node"]


def plan_node(name: str, spec: ClusterSpec, pool: str | None) -> NodePlan:
    """The plan of a pool's machines, or of the control plane's (None), of the cluster `name`.

    Pure and deterministic; what differs per machine is a reference. The spec has passed its
    checks. Raises UnknownRelease or UnknownArtifact for a version no table has.
    """
    subject = role(name, spec, pool)
    make = {"linux": worker.linux, "windows": worker.windows}[subject.system]
    phases = control_plane.phases(subject) if subject.is_control_plane else make(subject)
    return NodePlan(
        role="control-plane" if subject.is_control_plane else "worker",
        pool=subject.name,
        os=subject.os.value,
        phases=(evidence.phase(subject.system), *phases),
        registration=subject.registration,
        egress=_egress(spec),
        kubernetes=spec.kubernetes,
    )


def _egress(spec: ClusterSpec) -> dict[str, Any]:
    """How the machines' own downloads leave, as far as the spec says anything."""
    proxy = {} if spec.proxy is None else spec.proxy.model_dump(exclude_none=True)
    members = {"proxy": proxy, "trusted_cas": spec.trusted_cas}
    return {name: value for name, value in members.items() if value}
