"""IP plan: IPP-01 to IPP-06, FLN, NET-11."""

from tests.components.spec.documents import Case, linux, net, pools, web

_LINUX = {"os": "ubuntu-24.04", "count": 1, "size": "m6i.large"}
_LINUX_200 = {**_LINUX, "max_pods": 200}
_LINUX_199 = {**_LINUX, "max_pods": 199}

CASES = (
    Case("pods-overlap-services", net(pods="10.96.0.0/16"), "network.pods", net(pods="10.112.0.0/16")),
    Case("pods-overlap-nodes", net(pods="10.20.0.0/16"), "network.pods", net(pods="10.21.0.0/16")),
    Case(
        "services-overlap-nodes",
        net(services="10.16.0.0/12", dns="10.16.0.10"),
        "network.services",
        net(services="10.32.0.0/12"),
    ),
    Case("pods-overlap-outside", net(outside=["10.244.9.0/24"]), "network.outside.0", net(outside=["10.245.0.0/24"])),
    Case(
        "services-overlap-outside",
        net(outside=["192.168.0.0/24", "10.111.255.0/24"]),
        "network.outside.1",
        net(outside=["10.112.0.0/24"]),
    ),
    Case("nodes-overlap-outside", net(outside=["10.20.255.0/24"]), "network.outside.0", net(outside=["10.21.0.0/24"])),
    Case(
        "pods-overlap-neighbour",
        net(mode="l2bridge", neighbour_pods=["10.244.128.0/17"]),
        "network.neighbour_pods.0",
        net(mode="overlay", neighbour_pods=["10.244.128.0/17"]),
    ),
    Case(
        "nodes-overlap-neighbour",
        net(mode="l2bridge", neighbour_pods=["10.20.0.0/17"]),
        "network.neighbour_pods.0",
        net(mode="l2bridge", neighbour_pods=["10.21.0.0/17"]),
    ),
    Case(
        "outside-twice",
        net(outside=["192.168.0.0/24", "192.168.0.0/25"]),
        "network.outside.1",
        net(outside=["192.168.0.0/25", "192.168.0.128/25"]),
    ),
    Case(
        "neighbour-pods-twice",
        net(neighbour_pods=["10.128.0.0/16", "10.128.0.0/16"]),
        "network.neighbour_pods.1",
        net(neighbour_pods=["10.128.0.0/16", "10.129.0.0/16"]),
    ),
    Case("range-not-private", net(pods="172.32.0.0/16"), "network.pods", net(pods="172.31.0.0/16")),
    Case("range-not-private", net(nodes="100.128.0.0/16"), "network.nodes", net(nodes="100.127.0.0/16")),
    Case("range-not-private", net(services="10.0.0.0/7"), "network.services", net(services="10.240.0.0/14")),
    Case("range-unusable", net(outside=["0.0.0.0/0"]), "network.outside.0", net(outside=["128.0.0.0/3"])),
    Case("range-unusable", net(neighbour_pods=["169.254.0.0/24"]), "network.neighbour_pods.0", net()),
    Case("range-on-docker-bridge", net(pods="172.16.0.0/14"), "network.pods", net(pods="172.20.0.0/14")),
    # IPP-02: 3 control planes + 248 linux + 3 web + 2 being replaced = 256 nodes fill a /16
    Case("pods-too-few-node-ranges", linux(count=249), "network.pods", linux(count=248)),
    Case(
        "pods-too-few-node-ranges",
        linux(count=248, rollout={"max_unavailable": 2}),
        "network.pods",
        linux(count=247, rollout={"max_unavailable": 2}),
    ),
    # IPP-03: (1 control plane + 1 linux + 1 replaced) nodes: 3 + 110 + 2 x max pods
    Case(
        "pods-too-few-addresses",
        {**net(pods="10.244.0.0/23"), "control_plane": {"count": 1}, **pools(linux=_LINUX_200)},
        "network.pods",
        {**net(pods="10.244.0.0/23"), "control_plane": {"count": 1}, **pools(linux=_LINUX_199)},
    ),
    Case("max-pods-above-node-range", web(max_pods=253), "pools.web.max_pods", web(max_pods=252)),
    Case(
        "max-pods-above-node-range",
        web(kubelet={"config": {"maxPods": 253}}),
        "pools.web.kubelet.config.maxPods",
        web(kubelet={"config": {"maxPods": 252}}),
    ),
    Case("services-too-large", net(services="10.96.0.0/11"), "network.services", net(services="10.96.0.0/12")),
    Case("services-too-small", net(services="10.96.0.0/25"), "network.services", net(services="10.96.0.0/24")),
    Case("nodes-too-large", net(nodes="10.20.0.0/15"), "network.nodes", net(nodes="10.20.0.0/16")),
    Case("nodes-too-small", net(nodes="10.20.0.0/23"), "network.nodes", net(nodes="10.20.0.0/22")),
    Case("dns-outside", net(dns="10.112.0.0"), "network.dns", net(dns="10.111.255.254")),
    Case("dns-first", net(dns="10.96.0.1"), "network.dns", net(dns="10.96.0.2")),
    Case("dns-network", net(dns="10.96.0.0"), "network.dns", net(dns="10.96.0.2")),
    Case("dns-broadcast", net(dns="10.111.255.255"), "network.dns", net(dns="10.111.255.254")),
)
