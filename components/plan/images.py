"""Container images that the machines of a cluster start."""

import json
import re

from components.node import addons, images, kubeadm
from components.node.role import role
from components.plan.model import ClusterPlan, MachineGroup

_IMAGE = re.compile(r'"image": "([^"]+)"')
"""Matches a container image in a manifest of a node plan."""


def started_images(planned: ClusterPlan, group: MachineGroup) -> list[str]:
    """Return the container images of the control plane, or of a pool, as references, sorted.

    Images of add-ons belong to the control plane, which deploys them; those for Windows nodes to the pools of Windows.
    """
    subject = role(planned.name, planned.spec, None if group.is_control_plane else group.name)
    found = {images.pause(subject), *_IMAGE.findall(json.dumps(group.node_plan.document()))}
    control_plane = role(planned.name, planned.spec, None)
    linux, windows = (addons.images_on(control_plane, system) for system in ("linux", "windows"))
    if group.os.is_windows and not planned.joins:  # the add-ons of a joined cluster are its owner's
        found |= windows
    if group.is_control_plane:
        found -= windows - linux
        found |= set(images.of_kubeadm(subject, kubeadm.cluster_configuration(subject)))
    return sorted(found)
