"""Kinds of a Windows node's pod range, leases and source VIP."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import NAME, NAMES, PATH

_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_WINDOWS = ("windows",)
_RANGE = {"type": "string", "pattern": r"^\d{1,3}(\.\d{1,3}){3}/\d{1,2}$"}
_NETWORK = Field(NAME, "Name of the pod network.")
_SUBNET = Field(_RANGE, "The node's pod range.")
_BOOKS = Field(PATH, "host-local's books.")
_SUBNET_FILE = Field(PATH, "flanneld's subnet.env.")

PODS: dict[str, Kind] = {
    "pod-range": Kind(
        "The machine's Node object has a pod range: node.pod_subnet.",
        {
            "node": Field(NAME, "Its name."),
            "kubeconfig": Field(PATH, "With the node's own certificate."),
            "kubectl": Field(PATH, "kubectl.exe."),
        },
        compares="spec.podCIDR, as kubectl shows it.",
        sets="Asks again every 2 seconds until the time is over (506).",
        cuts=(Cut.BEFORE_SET,),
        systems=_WINDOWS,
        on_change=OnChange.NEW_NODES,
        image=False,
        seconds=900,
    ),
    "stale-network": Kind(
        "Nothing is left of another pod range (OPS-04) or of NAT networks (NET-02), nor, since this boot, of pods and"
        " load balancers of before it.",
        {
            "network": _NETWORK,
            "subnet": _SUBNET,
            "data_directory": _BOOKS,
            "services": Field(NAMES, "Services that use the network; they are stopped before it goes."),
            "subnet_file": Field(_SUBNET_FILE.type, _SUBNET_FILE.meaning, required=False),
        },
        compares="The subnet of the HNS network of that name, HNS networks of type NAT (Docker's or containerd's own),"
        " flanneld's file, host-local's books, and that it was set in this boot: a boot ends all pods, and HNS keeps"
        " none of their endpoints.",
        sets="Stops the services, removes load-balancer policies and NAT networks of HNS, then the network and the file"
        " of another"
        " range, then from the books what lies in another range, and pods' addresses without an endpoint.",
        undo="what it is about",
        cuts=_STEPPED,
        systems=_WINDOWS,
        on_change=OnChange.NEW_NODES,
        image=False,
    ),
    "source-vip": Kind(
        "host-local holds one address of the node's subnet for kube-proxy: node.source_vip.",
        {
            "network": _NETWORK,
            "subnet": _SUBNET,
            "plugin": Field(PATH, "host-local.exe."),
            "data_directory": _BOOKS,
        },
        compares="The held address and the subnet.",
        sets="Releases an address of another subnet, reserves one.",
        undo="an address of an earlier subnet",
        cuts=_STEPPED,
        systems=_WINDOWS,
        image=False,
    ),
}
