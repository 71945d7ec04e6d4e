"""Refusal to replace a worker by one with an older Kubernetes.

The program decides the pools' version from documents in the bundle store: the signed pointer and status records of the
control plane. An attacker who can write to the store can put older ones back. No stack file can downgrade a pool.
"""

import re
from typing import Any

from components.releases import older
from components.rollout.kubernetes_api import KubernetesApi, Refused
from components.rollout.signed_documents import POINTER

VERSION = re.compile(r"v(\d{1,3}\.\d{1,3}\.\d{1,3})(?:[-+].*)?")
"""Form of a kubelet's version in a Node, such as v1.36.4."""


async def refuse_older(api: KubernetesApi, name: str, wanted: str) -> None:
    """Raise RuntimeError if a worker's Node has a newer Kubernetes than its successor gets. Raises Unreachable.

    wanted: version of the successor. Three kinds of Node are not refused: one that does not exist, one that reports no
    version, and one that reports a newer version than the API server's. No kubelet may be newer, so that report is
    false, and a compromised worker must not keep itself from being replaced by it.
    """
    try:
        node = await api.call("GET", f"/api/v1/nodes/{name}")
    except Refused:
        return
    status: dict[str, Any] = node.get("status") or {}
    info: dict[str, str] = status.get("nodeInfo") or {}
    has = VERSION.fullmatch(info.get("kubeletVersion", ""))
    if not has or not older(wanted, has[1]):
        return
    served = VERSION.fullmatch(f"{(await api.call('GET', '/version')).get('gitVersion')}")
    if not served or not older(served[1], has[1]):
        raise RuntimeError(
            f"{name} has Kubernetes {has[1]}, and its successor would have {wanted}: {POINTER} or a control plane's "
            "status record in the bundle store is older than the cluster. The worker was not changed. Find out who "
            "wrote it; repair the control plane, so that each of its machines reports its version, then run this again"
        )
