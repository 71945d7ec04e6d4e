"""The agent's record of machines has room for as many nodes as the check says."""

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from components.checks.control_plane import RECORDED
from tests.agent.cluster import Cluster

MOST = 1 << 20
"""Bytes of a ConfigMap's values (Kubernetes, pkg/apis/core/validation, ValidateConfigMap)."""
LONGEST_ID = "12345678-1234-1234-1234-123456789abc"
"""An id of Azure, the longest of the three clouds'."""


def test_the_record_holds_a_day_in_which_every_machine_is_replaced(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    """A machine has two certificates that have not ended, one in use and the one before; so has its predecessor."""
    machines, ends = module("machines"), time.time() + 86400.5
    now, before = ({f"{number:064x}": ends for number in numbers} for numbers in ((1, 2), (3, 4)))
    machines.Machines(run, cluster, {}).enter("w", machines.Issued(LONGEST_ID, now, ["csr-x1y2z"], before))
    (entry,) = cluster.objects["/api/v1/namespaces/kube-system/configmaps/mullion-machines"]["data"].values()
    assert MOST / 2 < len(entry) * RECORDED < MOST
