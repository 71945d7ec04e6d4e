"""Walks over HNS: each policy of the rendered CNI files is needed, and a wrong one changes where packets go."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from components.node import plan_node
from components.stack_files.stack import CLUSTER, read_stack
from lab.hns import endpoints
from lab.hns.server import handle
from lab.hns.service import BUILDS, Object, Service
from lab.hns.walk import Fabric, LinuxNode, Outcome, Packet, WindowsNode
from tests.lab.rendered import filled

NODE, OTHER = "10.20.0.4", "10.20.0.5"
ROUTER = "c6:71:81:86:b2:77"
Mode = str


def conf(mode: Mode, runtime: str = "containerd") -> Mapping[str, Any]:
    """Return the plug-in's part of the CNI file that a plan renders, filled in."""
    pools = {"windows": {"os": "windows-2022", "runtime": runtime}}
    document = {"cloud": "aws", "kubernetes": "1.37.1", "pools": pools, "network": {"mode": mode}}
    plan = plan_node("dev", read_stack("dev", {"aws:region": "eu-west-1", CLUSTER: document}).spec, "windows")
    step = next(each for each in plan.steps if each.name == "cni-config")
    (plugin,) = filled(step.fields["content"])["plugins"]
    return plugin.get("delegate", plugin)


class State:
    """HNS of a node with two pods and a Service, as the programs of a plan leave it."""

    def __init__(self, mode: Mode, build: str = "windows-2022", dsr: bool = True) -> None:
        """Create networks, endpoints and a load balancer."""
        self.mode = mode
        self.service = Service(BUILDS[build], {"Ethernet": NODE})
        overlay = mode == "overlay"
        self.range, self.peer = ("10.244.1", "10.244.2") if overlay else ("10.244.4", "10.244.5")
        self.network = self.create("Network", self._network(overlay))
        if overlay:
            self.add(self._policy("HostRoute"), refused=not self.service.build.host_route)
            self.add(self._policy("RemoteSubnetRoute", **self._route()))
            vip = self.create("Endpoint", self._endpoint("2", self.pa), self.network)
        else:
            vip = self.create("Endpoint", self._endpoint("2"), self.network)
            host = json.dumps({"SystemType": "Host", "CompartmentId": 1})
            self.call("HNSCall", "POST", f"/endpoints/{vip}/attach", host)
        rendered = [each["value"] for each in conf(mode)["policies"]]
        own = [self._policy("OutBoundNAT", Destinations=[f"{self.range}.3"])]  # what loopbackDSR adds
        self.client = self.pod("3", *rendered, *own)
        web = self.pod("4", *rendered)
        provider = [self._policy("ProviderAddress", ProviderAddress=OTHER)] if overlay else []
        remote = {**self._endpoint("7", *provider), "Flags": 1}
        remote["IpConfigurations"] = [{"IpAddress": f"{self.peer}.7"}]
        away = self.create("Endpoint", remote, self.network)
        self.balancer({"FrontendVIPs": ["10.96.0.50"]}, dsr, web, away)
        self.balancer({"FrontendVIPs": ["10.96.0.51"]}, dsr, self.client["ID"])

    def call(self, *words: str) -> Any:
        code, value, record = handle(self.service, words)
        assert code == 0, record
        return value

    def create(self, kind: str, document: Mapping[str, Any], parent: str = "") -> str:
        return self.call(f"Create{kind}", parent, "", json.dumps(document))

    def add(self, policy: Mapping[str, Any], refused: bool = False) -> None:
        request = {"ResourceType": "Policy", "RequestType": "Add", "Settings": {"Policies": [policy]}}
        assert bool(handle(self.service, ["ModifyNetwork", self.network, json.dumps(request)])[0]) == refused

    def pod(self, place: str, *policies: Mapping[str, Any]) -> Object:
        made = self.create("Endpoint", self._endpoint(place, *policies), self.network)
        space = self.create("Namespace", {})
        add = {"ResourceType": "Endpoint", "RequestType": "Add", "Settings": {"EndpointId": made}}
        self.call("ModifyNamespace", space, json.dumps(add))
        return self.service.get("Endpoint", made)

    def balancer(self, front: Mapping[str, Any], dsr: bool, *endpoints: Any) -> None:
        ids = [each if isinstance(each, str) else each["ID"] for each in endpoints]
        ports = [{"Protocol": 6, "InternalPort": 8080, "ExternalPort": 80}]
        source = {"SourceVIP": f"{self.range}.2"} if self.mode == "overlay" else {}
        document = {**front, **source, "HostComputeEndpoints": ids, "PortMappings": ports, "Flags": int(dsr)}
        self.create("LoadBalancer", document)

    def ends(self) -> dict[str, str]:
        """Return for each of the walks where it ends, and with which source if it is not the pod's."""
        fabric = Fabric([self.node], [LinuxNode("linux", OTHER, f"{self.peer}.0/24", 4096, self._router())])
        client = f"{self.range}.3"
        found: dict[str, str] = {}
        for name, address in self.walks().items():
            outcomes = fabric.from_pod(self.node, self.client, Packet(client, address))
            found[name] = " ".join(
                f"{outcome.place if outcome.verdict == 'delivered' else outcome.verdict}"
                f"{'' if outcome.packet.source == client else ' as ' + outcome.packet.source}"
                for outcome in outcomes
            )
        found["from the node"] = fabric.from_node(self.node, Packet(NODE, client)).verdict
        return found

    def walks(self) -> dict[str, str]:
        """Return the addresses to which the client sends."""
        addresses = {"web": f"{self.range}.4", "remote": f"{self.peer}.7", "service": "10.96.0.50"}
        more = {"own service": "10.96.0.51", "other node": OTHER, "own node": NODE}
        return {**addresses, **more, "outside": "203.0.113.9", "metadata": "169.254.169.254"}

    @property
    def node(self) -> WindowsNode:
        return WindowsNode("node", NODE, self.service, "pods")

    @property
    def pa(self) -> Mapping[str, Any]:
        return self._policy("ProviderAddress", ProviderAddress=NODE)

    def _router(self) -> str:
        return ROUTER if self.mode == "overlay" else ""

    def _route(self) -> dict[str, Any]:
        route = {"DestinationPrefix": f"{self.peer}.0/24", "IsolationId": 4096, "ProviderAddress": OTHER}
        return {**route, "DistributedRouterMacAddress": ROUTER}

    def _network(self, overlay: bool) -> dict[str, Any]:
        routes = [{"NextHop": f"{self.range}.1", "DestinationPrefix": "0.0.0.0/0"}]
        policies = [self._policy("VSID", IsolationId=4096)] if overlay else []
        subnet = {"IpAddressPrefix": f"{self.range}.0/24", "Routes": routes, "Policies": policies}
        kind = "Overlay" if overlay else "L2Bridge"
        return {"Name": "pods", "Type": kind, "Ipams": [{"Type": "Static", "Subnets": [subnet]}]}

    def _endpoint(self, place: str, *policies: Mapping[str, Any]) -> dict[str, Any]:
        addresses = [{"IpAddress": f"{self.range}.{place}"}]
        return {"Name": place, "IpConfigurations": addresses, "Policies": list(policies)}

    @staticmethod
    def _policy(kind: str, **settings: Any) -> dict[str, Any]:
        return {"Type": kind, "Settings": settings}


class DockerState(State):
    """The same node with Docker, whose plug-ins create endpoints by the first API."""

    def pod(self, place: str, *_: Mapping[str, Any]) -> Object:
        """Create a pod with the policies of Docker's CNI file, and what the plug-in adds to them."""
        rendered = [each["value"] for each in conf(self.mode, "docker")["policies"]]
        loop = {"Type": "OutBoundNAT", "Destinations": [f"{self.range}.{place}"]}
        provider = [{"Type": "PA", "PA": NODE}] if self.mode == "overlay" else []
        body = {"Name": place, "VirtualNetwork": self.network, "IPAddress": f"{self.range}.{place}"}
        more = {**body, "Policies": [*rendered, loop, *provider]}
        made = json.loads(self.call("HNSCall", "POST", "/endpoints/", json.dumps(more)))
        assert made["Success"], made
        self.service.containers[place] = set()
        attach = json.dumps({"SystemType": "Container", "ContainerId": place})
        self.call("HNSCall", "POST", f"/endpoints/{made['Output']['ID']}/attach", attach)
        return self.service.get("Endpoint", made["Output"]["ID"])


INTENDED: dict[Mode, dict[str, str]] = {
    "overlay": {
        "web": "4",
        "remote": "linux",
        "service": "4 linux",
        "own service": f"3 as {NODE}",
        "other node": f"linux as {NODE}",
        "own node": "node",
        "outside": f"left as {NODE}",
        "metadata": "dropped",
        "from the node": "delivered",
    },
    "l2bridge": {
        "web": "4",
        "remote": "linux",
        "service": "4 linux",
        "own service": f"3 as {NODE}",
        "other node": "linux",
        "own node": "node",
        "outside": f"left as {NODE}",
        "metadata": "dropped",
        "from the node": "delivered",
    },
}
"""Where packets of pod 3 end with direct server return: pods by the end of their address, nodes by name."""


@pytest.mark.parametrize("mode", INTENDED)
def test_packets_go_where_they_should_with_what_plans_render(mode: Mode) -> None:
    assert State(mode).ends() == INTENDED[mode]


@pytest.mark.parametrize("mode", INTENDED)
def test_packets_go_the_same_ways_with_what_plans_render_for_docker(mode: Mode) -> None:
    assert DockerState(mode).ends() == INTENDED[mode]


@pytest.mark.parametrize("mode", INTENDED)
def test_without_direct_server_return_services_see_the_node(mode: Mode) -> None:
    state = State(mode, dsr=False)
    source = f"{state.range}.2" if mode == "overlay" else NODE
    expected = {"service": f"4 as {source} linux as {source}", "own service": f"3 as {source}"}
    assert state.ends() == {**INTENDED[mode], **expected}


def test_an_answer_without_direct_server_return_needs_the_adapters_route() -> None:
    state = State("l2bridge", dsr=False)
    request = Packet(f"{state.range}.3", "10.96.0.50")
    fabric = Fabric([state.node], [LinuxNode("linux", OTHER, f"{state.peer}.0/24")])
    (sent,) = (each.packet for each in fabric.from_pod(state.node, state.client, request) if each.place == "linux")
    assert fabric.answered(state.node, request, sent).verdict == "dropped"
    routed = replace(state.node, routes=(f"{state.range}.0/24",))
    answer = Packet("10.96.0.50", f"{state.range}.3")
    assert fabric.answered(routed, request, sent) == Outcome("delivered", "3", answer)


def test_on_windows_2019_the_node_does_not_reach_pods_of_an_overlay() -> None:
    changed = {"from the node": "dropped", "own node": "dropped"}
    assert State("overlay", "windows-2019").ends() == {**INTENDED["overlay"], **changed}


Edit = Callable[[State], None]


def without(*kinds: str) -> Edit:
    """Take policies of these types away from the client."""

    def edit(state: State) -> None:
        state.client["Policies"] = [each for each in state.client["Policies"] if each["Type"] not in kinds]

    return edit


def without_exception(prefix: str) -> Edit:
    def edit(state: State) -> None:
        for each in state.client["Policies"]:
            if each["Type"] == "OutBoundNAT":
                each["Settings"]["Exceptions"] = [x for x in each["Settings"].get("Exceptions", ()) if x != prefix]

    return edit


def without_lists(**fields: str) -> Edit:
    """Take away the client's access lists with these values."""

    def edit(state: State) -> None:
        state.client["Policies"] = [
            policy
            for policy in state.client["Policies"]
            if policy["Type"] != "ACL" or not fields.items() <= policy["Settings"].items()
        ]

    return edit


def stray(state: State) -> None:
    # as kube-proxy does before the other node's range is routed
    for each in filter(endpoints.is_remote, state.service.endpoints(state.network)):
        each["Policies"] = [{"Type": "ProviderAddress", "Settings": {"ProviderAddress": NODE}}]


def rerouted(**values: Any) -> Edit:
    """Change the route to the other node's pods."""

    def edit(state: State) -> None:
        for each in state.service.get("Network", state.network)["Policies"]:
            if each["Type"] == "RemoteSubnetRoute":
                each["Settings"] |= values

    return edit


MUTATIONS: dict[str, tuple[Mode, Edit, set[str]]] = {
    "no OutBoundNAT": ("overlay", without("OutBoundNAT"), {"other node", "outside", "own node", "own service"}),
    "no SDNRoute": ("overlay", without("SDNRoute"), {"service", "own service"}),
    "no ProviderAddress": ("overlay", without("ProviderAddress"), {"remote", "service"}),
    "Services translated": ("overlay", without_exception("10.96.0.0/12"), {"service", "own service"}),
    "VSID of the route": ("overlay", rerouted(IsolationId=4097), {"remote", "service"}),
    "router of a route": ("overlay", rerouted(DistributedRouterMacAddress="00:00:00:00:00:01"), {"remote", "service"}),
    "machine of the route": ("overlay", rerouted(ProviderAddress="10.20.0.9"), {"remote"}),
    "machine of the Service's pod": ("overlay", stray, {"service"}),
    "host rules inwards": ("overlay", without_lists(RuleType="Host", Direction="In"), {"own service", "from the node"}),
    "switch rules outwards": (
        "overlay",
        without_lists(RuleType="Switch", Direction="Out", Action="Allow"),
        {"web", "remote", "service", "own service", "other node", "own node", "outside"},
    ),
    "metadata open": ("overlay", without_lists(Action="Block"), {"metadata"}),
    "bridge: no OutBoundNAT": ("l2bridge", without("OutBoundNAT"), {"outside", "own service"}),
    "bridge: pods translated": ("l2bridge", without_exception("10.244.0.0/14"), {"remote", "service"}),
    "bridge: nodes translated": ("l2bridge", without_exception("10.20.0.0/22"), {"other node", "own node"}),
    "bridge: no SDNRoute": ("l2bridge", without("SDNRoute"), {"service", "own service", "own node"}),
}
"""Mode, change of the client's policies or of the network, and the walks that end elsewhere then."""


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_wrong_policy_changes_exactly_the_walks_that_need_it(mutation: str) -> None:
    mode, edit, changed = MUTATIONS[mutation]
    state = State(mode)
    edit(state)
    ends = state.ends()
    assert {name for name, end in INTENDED[mode].items() if ends[name] != end} == changed
