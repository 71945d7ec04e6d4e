"""Cases: load balancers and open node ports of `ingress`."""

from typing import Any

from tests.components.spec.documents import Case, Change

WEB = {"port": 80, "node_port": 30080}
SECURE = {"port": 443, "node_port": 30443}
SAME = {"port": 30080, "node_port": 30080}
GCP = {"cloud": "gcp", "control_plane": {"size": "n2-standard-2"}}
AZURE = {"cloud": "azure", "control_plane": {"size": "Standard_D2s_v5"}, "api": {"allow": ["198.51.99.0/24"]}}
SIZES = {
    "gcp": {"linux": {"size": "n2-standard-2"}, "web": {"size": "n2-standard-4"}},
    "azure": {"linux": {"size": "Standard_D2s_v5"}, "web": {"size": "Standard_D4s_v5"}},
}


def options(**fields: Any) -> dict[str, Any]:
    """Return the options of a load balancer in front of the Linux pool, with changed fields."""
    return {"pools": ["linux"], "ports": [WEB], "allow": ["0.0.0.0/0"], **fields}


def balancers(_cloud: Change | None = None, **named: dict[str, Any]) -> Change:
    """Return a change with load balancers, in a cloud."""
    cloud = _cloud or {}
    sizes = {"pools": SIZES[cloud["cloud"]]} if cloud else {}
    return {**cloud, **sizes, "ingress": {"load_balancers": named}}


def front(_cloud: Change | None = None, **fields: Any) -> Change:
    """Return a change with the load balancer `front`."""
    return balancers(_cloud, front=options(**fields))


def opened(**fields: Any) -> Change:
    return {"ingress": {"node_ports": fields}}


def server_flag(value: str) -> Change:
    server = {"extraArgs": [{"name": "service-node-port-range", "value": value}]}
    return {"kubeadm": {"config": {"ClusterConfiguration": {"apiServer": server}}}}


def many(count: int) -> list[dict[str, int]]:
    return [{"port": 1000 + index, "node_port": 31000 + index} for index in range(count)]


def kube_proxy(**config: Any) -> Change:
    return {"control_plane": {**GCP["control_plane"], "kube_proxy": {"config": config}}}


def pools_of_gcp(count: int) -> Change:
    """Return a change with a load balancer in front of this many pools."""
    pools = {f"p{index}": {"os": "ubuntu-24.04", "size": "n2-standard-2", "count": 1} for index in range(count)}
    changed = front(GCP, ports=[SAME], pools=sorted(pools))
    return {**changed, "pools": {**changed["pools"], **pools}}


AT = "ingress.load_balancers.front"
CASES = (
    Case(
        "load-balancer-name",
        balancers(**{"front-": options()}),
        "ingress.load_balancers.front-",
        balancers(**{"front-twelve": options()}),
    ),
    Case("load-balancer-empty", front(pools=[]), f"{AT}.pools", front()),
    Case("load-balancer-empty", front(allow=[]), f"{AT}.allow", front()),
    Case(
        "node-ports-half",
        opened(ports=[30080]),
        "ingress.node_ports",
        opened(ports=[30080], allow=["192.168.0.0/16"]),
    ),
    Case("load-balancer-pool-unknown", front(pools=["linux", "lin"]), f"{AT}.pools.1", front(pools=["linux", "web"])),
    Case(
        "load-balancer-port-twice",
        front(ports=[WEB, {**SECURE, "port": 80}]),
        f"{AT}.ports.1.port",
        front(ports=[WEB, SECURE]),
    ),
    Case(
        "ingress-twice",
        front(allow=["192.0.0.0/24", "192.0.0.0/24"]),
        f"{AT}.allow.1",
        front(allow=["192.0.0.0/24", "192.0.1.0/24"]),
    ),
    Case(
        "node-port-range",
        front(ports=[{"port": 80, "node_port": 32768}]),
        f"{AT}.ports.0.node_port",
        front(ports=[{"port": 80, "node_port": 32767}]),
    ),
    Case("node-port-range", front(health={"port": 10250}), f"{AT}.health.port", front(health={"port": 10256})),
    Case(
        "node-port-range",
        {**front(), **server_flag("30100-30200")},
        f"{AT}.ports.0.node_port",
        {**front(), **server_flag("30080-30080")},
    ),
    Case(
        "node-port-closed-on-windows",
        {**front(pools=["web"], ports=[{"port": 80, "node_port": 8080}]), **server_flag("8000-32767")},
        f"{AT}.ports.0.node_port",
        {**front(ports=[{"port": 80, "node_port": 8080}]), **server_flag("8000-32767")},
    ),
    Case(
        "node-port-closed-on-windows",
        {**front(pools=["web"], health={"port": 8080}), **server_flag("8000-32767")},
        f"{AT}.health.port",
        {**front(pools=["web"], health={"port": 10256}), **server_flag("8000-32767")},
    ),
    Case(
        "load-balancer-port-closed",
        front(ports=[{"port": 22, "node_port": 30022}]),
        f"{AT}.ports.0.port",
        front(ports=[{"port": 22, "node_port": 30022}], allow=["10.0.0.0/8"], internal=True),
    ),
    Case(
        "load-balancer-not-routable",
        front(allow=["10.0.0.0/8"]),
        f"{AT}.allow.0",
        front(allow=["10.0.0.0/8"], internal=True),
    ),
    Case(
        "node-ports-unreachable",
        opened(ports=[30080], allow=["198.51.99.0/24"]),
        "ingress.node_ports.allow.0",
        {**opened(ports=[30080], allow=["198.51.99.0/24"]), "network": {"egress": "public"}},
    ),
    Case(
        "load-balancer-addresses-meet",
        balancers(a3=options(internal=True), a6=options(internal=True)),
        "ingress.load_balancers.a6",
        balancers(a3=options(internal=True), a6=options()),
    ),
    Case("load-balancer-ports-many", front(ports=many(51)), f"{AT}.ports", front(ports=many(50))),
    Case(
        "load-balancer-targets-many",
        {**front(ports=many(50)), "pools": {"linux": {"count": 11}}},
        AT,
        {**front(ports=many(50)), "pools": {"linux": {"count": 10}}},
    ),
    Case(
        "ingress-rules-many",
        front(ports=many(31), allow=["192.0.0.0/24", "192.0.1.0/24"]),
        "ingress",
        front(ports=many(30), allow=["192.0.0.0/24", "192.0.1.0/24"]),
    ),
    Case(
        "ingress-rules-many",
        front(AZURE, ports=many(245), allow=[f"192.0.{index}.0/24" for index in range(4)]),
        "ingress",
        front(AZURE, ports=many(245), allow=[f"192.0.{index}.0/24" for index in range(3)]),
    ),
    Case(
        "load-balancer-groups-many",
        pools_of_gcp(51),
        f"{AT}.pools",
        pools_of_gcp(50),
    ),
    Case(
        "load-balancer-interface-rules",
        balancers(AZURE, front=options(ports=many(200)), other=options(ports=many(101), internal=True)),
        "ingress.load_balancers.other.ports",
        balancers(AZURE, front=options(ports=many(200)), other=options(ports=many(100), internal=True)),
    ),
    Case(
        "load-balancer-of-same-pool",
        balancers(AZURE, front=options(), other=options()),
        "ingress.load_balancers.other.pools",
        balancers(AZURE, front=options(), other=options(internal=True)),
    ),
    Case(
        "load-balancer-node-port-twice",
        front(AZURE, ports=[WEB, {**WEB, "port": 8080}]),
        f"{AT}.ports.1.node_port",
        front(ports=[WEB, {**WEB, "port": 8080}]),
    ),
    Case("load-balancer-port-translated", front(GCP), f"{AT}.ports.0.port", front(GCP, ports=[SAME])),
    Case(
        "load-balancer-windows",
        front(GCP, ports=[SAME], pools=["linux", "web"]),
        f"{AT}.pools.1",
        front(GCP, ports=[SAME]),
    ),
    Case(
        "node-ports-primary-only",
        {**front(GCP, ports=[SAME]), **kube_proxy(mode="nftables")},
        "control_plane.kube_proxy.config.mode",
        {**front(GCP, ports=[SAME]), **kube_proxy(mode="nftables", nodePortAddresses=["0.0.0.0/0"])},
    ),
    Case(
        "node-ports-primary-only",
        {**front(GCP, ports=[SAME]), **kube_proxy(mode="ipvs", nodePortAddresses=["0.0.0.0/0"])},
        "control_plane.kube_proxy.config.mode",
        {**front(GCP, ports=[SAME]), **kube_proxy(mode="iptables")},
    ),
    Case(
        "node-ports-primary-only",
        {**front(GCP, ports=[SAME]), **kube_proxy(nodePortAddresses=["10.20.0.0/16"])},
        "control_plane.kube_proxy.config.nodePortAddresses",
        {**front(GCP, ports=[SAME]), **kube_proxy(nodePortAddresses=["10.20.0.0/16", "0.0.0.0/0"])},
    ),
)
