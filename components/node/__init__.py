"""Node plans: the steps that turn a machine into a node, as data."""

from components.node import control_plane, egress, evidence, worker
from components.node.plan import NodePlan
from components.node.role import role
from components.spec.models import ClusterSpec

__all__ = ["plan_node"]


def plan_node(name: str, spec: ClusterSpec, pool: str | None) -> NodePlan:
    """Return the plan of a pool's machines, or of the control plane's (None), in the cluster `name`.

    Pure and deterministic: values that differ between machines are references. The spec must have passed its checks.
    Raises UnknownRelease or UnknownArtifact for a version without a row in the tables.
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
        egress=egress.document(name, spec),
        kubernetes=spec.kubernetes,
    )
