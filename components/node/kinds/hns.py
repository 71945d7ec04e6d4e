"""Kinds of HNS networks (Host Networking Service of Windows)."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import NAME, RANGE

_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_WINDOWS = ("windows",)
_NETWORK = Field(NAME, "Name of the pod network.")
_SUBNET = Field(RANGE, "The node's pod range.")

HNS: dict[str, Kind] = {
    "hns-network": Kind(
        "The HNS network of type L2Bridge exists with the host's endpoint in it, and the management adapter has a route"
        " to the pod range. The range's first address is the gateway's, the second the endpoint's.",
        {
            "network": _NETWORK,
            "subnet": _SUBNET,
            "endpoint": Field(
                NAME,
                "Name of the host's endpoint, attached to compartment 1, with forwarding enabled on it and on the"
                " management adapter.",
            ),
        },
        compares="The network by name: type, subnet, gateway; the endpoint by name: address; its adapter: up, address;"
        " forwarding of both adapters; the management adapter's route to the range.",
        sets="Removes a different network of that name with all load-balancer policies, and waits until HNS lists it no"
        " more; creates the network on the adapter with the default route, waits until the machine has its address and"
        " that route again (504); then creates the endpoint with gateway 0.0.0.0, attaches it, waits for its adapter;"
        " routes the range through the management adapter.",
        undo="a different network of that name, with its endpoints",
        cuts=_STEPPED,
        systems=_WINDOWS,
        image=False,
        seconds=300,
    ),
}
