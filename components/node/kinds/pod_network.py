"""Kinds of the pod network on Windows: the node's range, the networks of HNS, the metadata route, the source VIP."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import NAME, NAMES, PATH

_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_WINDOWS = ("windows",)
_ADDRESS = {"type": "string", "pattern": r"^\d{1,3}(\.\d{1,3}){3}$"}
_RANGE = {"type": "string", "pattern": r"^\d{1,3}(\.\d{1,3}){3}/\d{1,2}$"}
_NETWORK = Field(NAME, "Name of the pod network.")
_SUBNET = Field(_RANGE, "The node's pod range.")
_BOOKS = Field(PATH, "host-local's books.")
_SUBNET_FILE = Field(PATH, "flanneld's subnet.env.")

POD_NETWORK: dict[str, Kind] = {
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
    "overlay-network": Kind(
        "flanneld has made the overlay network of the node's range, and the machine's address is back.",
        {
            "network": _NETWORK,
            "subnet": _SUBNET,
            "pods": Field(_RANGE, "Pod range of the cluster."),
            "subnet_file": _SUBNET_FILE,
            "service": Field(NAME, "flanneld's service."),
            "address": Field(_ADDRESS, "The machine's address, which moves to a virtual adapter."),
        },
        compares="OPS-07: the HNS network's type and subnet, an adapter named vEthernet; OPS-06: network, subnet,"
        " masquerading and MTU in subnet.env; NET-14: the address and the default route.",
        sets="OPS-05: looks every 2 seconds, starts flanneld anew after one and after two thirds of the time; then"
        " 507, or 508 where no virtual adapter came.",
        cuts=(Cut.BEFORE_SET,),
        systems=_WINDOWS,
        on_change=OnChange.NEW_NODES,
        image=False,
        seconds=600,
    ),
    "hns-network": Kind(
        "The HNS network of type L2Bridge exists, with the host's endpoint in it. Of its range the first address is the"
        " gateway, the second the endpoint's.",
        {
            "network": _NETWORK,
            "subnet": _SUBNET,
            "endpoint": Field(
                NAME,
                "Name of the host's endpoint, attached to compartment 1, with forwarding on it and on the management"
                " adapter.",
            ),
        },
        compares="The network by name: type, subnet, gateway; the endpoint by name: address, attached; forwarding of"
        " both adapters.",
        sets="Removes a network of that name that differs, with all load-balancer policies; makes it, waits until the"
        " machine's address and default route are back (504); then makes and attaches the endpoint.",
        undo="a network of that name that differs, with its endpoints",
        cuts=_STEPPED,
        systems=_WINDOWS,
        image=False,
        seconds=300,
    ),
    "metadata-route": Kind(
        "Addresses of the cloud's own services are routed through the interface of the default route.",
        {
            "addresses": Field(
                {"type": "array", "items": _ADDRESS, "minItems": 1},
                "169.254.169.254, the metadata service's, and so on.",
            )
        },
        compares="The one route to each address/32: interface and next hop of the default route.",
        sets="Makes those that differ anew in the active store: a boot loses them.",
        undo="routes to the addresses through other interfaces",
        cuts=_STEPPED,
        systems=_WINDOWS,
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
