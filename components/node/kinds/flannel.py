"""Kind of the HNS network that flanneld creates on Windows."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import ADDRESS, NAME, PATH, RANGE

FLANNEL: dict[str, Kind] = {
    "overlay-network": Kind(
        "flanneld has created the overlay network of the node's range, and the machine has its address again.",
        {
            "network": Field(NAME, "Name of the pod network."),
            "subnet": Field(RANGE, "The node's pod range."),
            "pods": Field(RANGE, "Pod range of the cluster."),
            "subnet_file": Field(PATH, "flanneld's subnet.env."),
            "service": Field(NAME, "flanneld's service."),
            "address": Field(ADDRESS, "The machine's address, which flanneld's network moves to a virtual adapter."),
        },
        compares="OPS-07: the HNS network's type and subnet, an adapter named vEthernet; OPS-06: network, subnet,"
        " MTU and no masquerading in subnet.env; NET-14: the address and the default route.",
        sets="OPS-05: checks every 2 seconds; restarts flanneld after one third and after two thirds of the time limit;"
        " before the last restart also HNS, if it has no network on the virtual switch that has the address; at the"
        " limit 507, or 508 without a virtual adapter.",
        cuts=(Cut.BEFORE_SET,),
        systems=("windows",),
        on_change=OnChange.NEW_NODES,
        image=False,
        seconds=600,
    ),
}
