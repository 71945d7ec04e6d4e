"""Kinds for a Windows node's pod range, address reservations and source VIP."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import NAME, NAMES, PATH, RANGE

_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_WINDOWS = ("windows",)
_NETWORK = Field(NAME, "Name of the pod network.")
_SUBNET = Field(RANGE, "The node's pod range.")
_RESERVATIONS = Field(PATH, "Folder of host-local's reservations.")
_SUBNET_FILE = Field(PATH, "flanneld's subnet.env.")

PODS: dict[str, Kind] = {
    "pod-range": Kind(
        "The machine's Node object has a pod range: node.pod_subnet.",
        {
            "node": Field(NAME, "Node name."),
            "kubeconfig": Field(PATH, "Kubeconfig with the node's certificate."),
            "kubectl": Field(PATH, "Path of kubectl.exe."),
        },
        compares="spec.podCIDR, by kubectl.",
        sets="Asks again every 2 seconds until the time limit (506).",
        cuts=(Cut.BEFORE_SET,),
        systems=_WINDOWS,
        on_change=OnChange.NEW_NODES,
        image=False,
        seconds=900,
    ),
    "stale-network": Kind(
        "No state is left of another pod range (OPS-04), of NAT networks (NET-02), or of pods and load-balancer"
        " policies from before this boot.",
        {
            "network": _NETWORK,
            "data_directory": _RESERVATIONS,
            "services": Field(NAMES, "Services that use the network; they are stopped before it is removed."),
            "subnet": Field(RANGE, "The node's pod range; without it no range is compared.", required=False),
            "subnet_file": Field(_SUBNET_FILE.type, _SUBNET_FILE.meaning, required=False),
            "runtime_networks": Field(NAMES, "NAT networks that the node's runtime makes by itself.", required=False),
            "cni_file": Field(PATH, "CNI configuration, which a later step writes again.", required=False),
        },
        compares="The subnet of the HNS network of that name, the runtime's NAT networks, flanneld's file, host-local's"
        " reservations, and that a step with this network was set since this boot: a boot ends all pods, and HNS keeps"
        " no endpoints of them.",
        sets="Stops the services; removes load-balancer policies and the runtime's NAT networks of HNS, then network"
        " and file of another range, each until HNS lists it no more, then reservations in another range and of pods"
        " without an endpoint. The first time in a boot it also deletes the CNI configuration, so that the node is not"
        " Ready before its network.",
        undo="stale networks, files, policies and reservations",
        cuts=_STEPPED,
        systems=_WINDOWS,
        on_change=OnChange.NEW_NODES,
        image=False,
    ),
    "source-vip": Kind(
        "host-local has reserved one address of the node's subnet for kube-proxy: node.source_vip.",
        {
            "network": _NETWORK,
            "subnet": _SUBNET,
            "plugin": Field(PATH, "Path of host-local.exe."),
            "data_directory": _RESERVATIONS,
        },
        compares="The reserved address and the subnet.",
        sets="Releases an address of another subnet, reserves a new one.",
        undo="a reserved address of an earlier subnet",
        cuts=_STEPPED,
        systems=_WINDOWS,
        image=False,
    ),
}
