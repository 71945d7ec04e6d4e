"""Kinds of HNS networks (Host Networking Service of Windows)."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import NAME, PATH

_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_WINDOWS = ("windows",)
_ADDRESS = {"type": "string", "pattern": r"^\d{1,3}(\.\d{1,3}){3}$"}
_RANGE = {"type": "string", "pattern": r"^\d{1,3}(\.\d{1,3}){3}/\d{1,2}$"}
_NETWORK = Field(NAME, "Name of the pod network.")
_SUBNET = Field(_RANGE, "The node's pod range.")
_SUBNET_FILE = Field(PATH, "flanneld's subnet.env.")

HNS: dict[str, Kind] = {
    "overlay-network": Kind(
        "flanneld has created the overlay network of the node's range, and the machine has its address again.",
        {
            "network": _NETWORK,
            "subnet": _SUBNET,
            "pods": Field(_RANGE, "Pod range of the cluster."),
            "subnet_file": _SUBNET_FILE,
            "service": Field(NAME, "flanneld's service."),
            "address": Field(_ADDRESS, "The machine's address, which flanneld's network moves to a virtual adapter."),
        },
        compares="OPS-07: the HNS network's type and subnet, an adapter named vEthernet; OPS-06: network, subnet,"
        " MTU and no masquerading in subnet.env; NET-14: the address and the default route.",
        sets="OPS-05: checks every 2 seconds; restarts flanneld after one third and after two thirds of the time limit;"
        " before the last restart also HNS, if it has no network on the virtual switch that has the address; at the"
        " limit 507, or 508 without a virtual adapter.",
        cuts=(Cut.BEFORE_SET,),
        systems=_WINDOWS,
        on_change=OnChange.NEW_NODES,
        image=False,
        seconds=600,
    ),
    "hns-network": Kind(
        "The HNS network of type L2Bridge exists with the host's endpoint in it. The range's first address is the"
        " gateway's, the second the endpoint's.",
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
        " forwarding of both adapters.",
        sets="Removes a different network of that name with all load-balancer policies, and waits until HNS lists it no"
        " more; creates the network on the adapter with the default route, waits until the machine has its address and"
        " that route again (504); then creates the endpoint with gateway 0.0.0.0, attaches it, waits for its adapter.",
        undo="a different network of that name, with its endpoints",
        cuts=_STEPPED,
        systems=_WINDOWS,
        image=False,
        seconds=300,
    ),
}
