"""ClusterPlan: everything Mullion decides about a cluster, as data, without any cloud.

`plan_cluster` makes it from a spec, `mullion plan` prints it, and each cloud's wiring registers it without deciding
anything.
"""

from components.plan.model import ClusterPlan, Endpoint, Machine, MachineGroup
from components.plan.planning import plan_cluster, pool_at

__all__ = ["ClusterPlan", "Endpoint", "Machine", "MachineGroup", "plan_cluster", "pool_at"]
