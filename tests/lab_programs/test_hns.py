"""Rules of the emulated Host Networking Service: what it refuses and with which code, and what restarts lose."""

import json
from typing import Any

import pytest

from lab.hns.errors import Code
from lab.hns.server import handle
from lab.hns.service import BUILDS, NON_PERSISTENT, Service

NODE = "10.20.0.4"


def service(build: str = "windows-2022") -> Service:
    return Service(BUILDS[build], {"Ethernet": NODE})


def subnet(prefix: str = "10.244.1.0/24", gateway: str = "10.244.1.1", vsid: int | None = 4096) -> dict[str, Any]:
    policies = [] if vsid is None else [{"Type": "VSID", "Settings": {"IsolationId": vsid}}]
    routes = [{"NextHop": gateway, "DestinationPrefix": "0.0.0.0/0"}]
    return {"IpAddressPrefix": prefix, "Routes": routes, "Policies": policies}


def network(kind: str = "Overlay", name: str = "flannel.4096", **more: Any) -> dict[str, Any]:
    ranges = more.pop("subnets", [subnet() if kind == "Overlay" else subnet(vsid=None)])
    return {"Name": name, "Type": kind, "Ipams": [{"Type": "Static", "Subnets": ranges}], **more}


def call(to: Service, *words: str) -> Any:
    code, value, record = handle(to, words)
    assert code == 0, record
    return json.loads(value) if value.startswith(("{", "[")) else value


def create(to: Service, kind: str, document: Any, parent: str = "") -> str:
    return call(to, f"Create{kind}", parent, "", json.dumps(document))


def endpoint(address: str, *policies: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"IpConfigurations": [{"IpAddress": address}], "Policies": list(policies), **more}


def policy(kind: str, **settings: Any) -> dict[str, Any]:
    return {"Type": kind, "Settings": settings}


REMOTE_SUBNET = policy(
    "RemoteSubnetRoute",
    DestinationPrefix="10.244.2.0/24",
    IsolationId=4096,
    ProviderAddress="10.20.0.5",
    DistributedRouterMacAddress="0e:2a:0a:f4:02:01",
)

NETWORKS: dict[str, tuple[dict[str, Any], Code]] = {
    "unknown type": (network("Bridge"), Code.INVALID_NETWORK_TYPE),
    "misspelt field": (network(Subnets=[]), Code.INVALID_JSON),
    "no subnet": (network(subnets=[]), Code.PARAMETER),
    "gateway elsewhere": (network(subnets=[subnet(gateway="10.244.9.1")]), Code.PARAMETER),
    "overlay without VSID": (network(subnets=[subnet(vsid=None)]), Code.INVALID_POLICY),
    "VSID too small": (network(subnets=[subnet(vsid=1)]), Code.INVALID_POLICY),
    "unknown adapter": (network(Policies=[policy("NetAdapterName", NetworkAdapterName="x")]), Code.ADAPTER_NOT_FOUND),
    "adapter of a virtual switch": (
        network(Policies=[policy("NetAdapterName", NetworkAdapterName="vEthernet (Ethernet)")]),
        Code.PARAMETER,
    ),
    "VXLAN of a bridge": (network("L2Bridge", Policies=[REMOTE_SUBNET]), Code.INVALID_POLICY_TYPE),
    "policy of endpoints": (network(Policies=[policy("OutBoundNAT")]), Code.INVALID_POLICY_TYPE),
    "field of a policy": (network(Policies=[policy("VxlanPort", port=4789)]), Code.INVALID_POLICY),
    "address range in use": (network(name="other", subnets=[subnet("10.244.0.0/16")]), Code.NETWORK_EXISTS),
}


@pytest.mark.parametrize("case", NETWORKS)
def test_a_network_is_refused(case: str) -> None:
    document, code = NETWORKS[case]
    to = service()
    if case == "address range in use":
        create(to, "Network", network())

    refused, _, record = handle(to, ["CreateNetwork", "", "", json.dumps(document)])

    assert (refused, json.loads(record)["ErrorCode"]) == (code.value[0], code.value[0])


ENDPOINTS: dict[str, tuple[str, dict[str, Any], Code]] = {
    "outside the range": ("Overlay", endpoint("10.244.2.9"), Code.ADDRESS_INVALID),
    "first address": ("Overlay", endpoint("10.244.1.0"), Code.ADDRESS_INVALID),
    "gateway": ("Overlay", endpoint("10.244.1.1"), Code.ADDRESS_INVALID),
    "no address": ("Overlay", {}, Code.ADDRESS_INVALID),
    "in use": ("Overlay", endpoint("10.244.1.9"), Code.OBJECT_EXISTS),
    "machine of a remote one": ("Overlay", endpoint("10.244.2.9", Flags=1), Code.INVALID_POLICY),
    "VXLAN on a bridge": (
        "L2Bridge",
        endpoint("10.244.1.5", policy("ProviderAddress", ProviderAddress=NODE)),
        Code.INVALID_POLICY_TYPE,
    ),
    "ACL without direction": ("Overlay", endpoint("10.244.1.5", policy("ACL", Action="Block")), Code.INVALID_POLICY),
    "unknown direction": (
        "Overlay",
        endpoint("10.244.1.5", policy("ACL", Action="Block", Direction="Inbound")),
        Code.INVALID_POLICY,
    ),
    "first API's field": (
        "Overlay",
        endpoint("10.244.1.5", policy("OutBoundNAT", ExceptionList=[])),
        Code.INVALID_POLICY,
    ),
    "exception is no range": (
        "Overlay",
        endpoint("10.244.1.5", policy("OutBoundNAT", Exceptions=["pods"])),
        Code.INVALID_POLICY,
    ),
}


@pytest.mark.parametrize("case", ENDPOINTS)
def test_an_endpoint_is_refused(case: str) -> None:
    kind, document, code = ENDPOINTS[case]
    to = service()
    on = create(to, "Network", network(kind))
    create(to, "Endpoint", endpoint("10.244.1.9"), on)

    assert handle(to, ["CreateEndpoint", on, "", json.dumps(document)])[0] == code.value[0]


def balancer(*endpoints: str, **more: Any) -> dict[str, Any]:
    port = {"Protocol": 6, "InternalPort": 8080, "ExternalPort": 80}
    return {"HostComputeEndpoints": list(endpoints), "FrontendVIPs": ["10.96.0.10"], "PortMappings": [port], **more}


def test_load_balancers_are_refused_by_build_frontend_and_endpoints() -> None:
    old, new = service("windows-2019-2018"), service("windows-2022")
    for to, code in ((old, Code.UNSUPPORTED.value[0]), (new, 0)):
        pod = create(to, "Endpoint", endpoint("10.244.1.9"), create(to, "Network", network()))
        assert handle(to, ["CreateLoadBalancer", "", "", json.dumps(balancer(pod, Flags=1))])[0] == code
    pod = new.all("Endpoint")[0]["ID"]
    same = json.dumps(balancer(pod))
    missing = json.dumps(balancer("11111111-1111-1111-1111-111111111111", FrontendVIPs=["10.96.0.11"]))

    assert handle(new, ["CreateLoadBalancer", "", "", same])[0] == Code.FILE_EXISTS.value[0]
    assert handle(new, ["CreateLoadBalancer", "", "", missing])[0] == Code.ENDPOINT_NOT_FOUND.value[0]


def test_load_balancers_without_dsr_use_up_the_dynamic_ports_and_those_with_dsr_do_not() -> None:
    to = service()
    pod = create(to, "Endpoint", endpoint("10.244.1.9"), create(to, "Network", network()))
    vips = [f"10.96.{place // 200}.{place % 200 + 1}" for place in range(257)]
    for vip in vips[:256]:
        create(to, "LoadBalancer", balancer(pod, FrontendVIPs=[vip]))

    last = balancer(pod, FrontendVIPs=[vips[256]])

    assert handle(to, ["CreateLoadBalancer", "", "", json.dumps(last)])[0] == Code.PORT_EXISTS.value[0]
    create(to, "LoadBalancer", {**last, "Flags": 1})


def test_load_balancers_without_direct_server_return_reserve_ports() -> None:
    to = service()
    pod = create(to, "Endpoint", endpoint("10.244.1.9"), create(to, "Network", network()))
    create(to, "LoadBalancer", balancer(pod, Flags=1, FrontendVIPs=["10.96.0.60"]))
    assert call(to, "HNSCall", "GET", "/portpools", "")["Output"] == []
    create(to, "LoadBalancer", balancer(pod))

    (pool,) = call(to, "HNSCall", "GET", "/portpools", "")["Output"]
    assert pool["PortPoolAllocations"] == [
        {"RequiresHostPortReservation": True, "PortRanges": [{"LowerPort": 49152, "UpperPort": 49215}]}
    ]


@pytest.mark.parametrize(("build", "changes"), [("windows-2025-15.4", False), ("windows-2025", True)])
def test_windows_2025_accepts_a_changed_load_balancer_and_first_builds_keep_the_old_endpoints(
    build: str, changes: bool
) -> None:
    to = service(build)
    on = create(to, "Network", network())
    old, new = (create(to, "Endpoint", endpoint(f"10.244.1.{place}"), on) for place in (9, 10))
    balanced = create(to, "LoadBalancer", balancer(old))

    call(to, "ModifyLoadBalancer", balanced, json.dumps(balancer(new)))
    assert to.get("LoadBalancer", balanced)["HostComputeEndpoints"] == [new if changes else old]


def test_a_network_stays_while_a_load_balancer_uses_its_endpoints() -> None:
    to = service()
    on = create(to, "Network", network())
    pod = create(to, "Endpoint", endpoint("10.244.1.9"), on)
    service_vip = create(to, "LoadBalancer", balancer(pod))

    assert handle(to, ["DeleteNetwork", on])[0] == Code.HAS_REFERENCES.value[0]
    call(to, "DeleteLoadBalancer", service_vip)
    call(to, "DeleteNetwork", on)
    assert to.all("Endpoint") == []


def test_a_host_route_needs_a_build_after_2019() -> None:
    request = {"ResourceType": "Policy", "RequestType": "Add", "Settings": {"Policies": [policy("HostRoute")]}}
    codes: dict[str, int] = {}
    for build in ("windows-2019", "windows-2022", "windows-2025"):
        to = service(build)
        codes[build] = handle(to, ["ModifyNetwork", create(to, "Network", network()), json.dumps(request)])[0]

    assert codes == {"windows-2019": Code.INVALID_POLICY_TYPE.value[0], "windows-2022": 0, "windows-2025": 0}


def test_an_endpoint_is_in_one_namespace_at_most() -> None:
    to = service()
    pod = create(to, "Endpoint", endpoint("10.244.1.9"), create(to, "Network", network()))
    add = json.dumps({"ResourceType": "Endpoint", "RequestType": "Add", "Settings": {"EndpointId": pod}})
    first, second = (create(to, "Namespace", {}) for _ in range(2))
    call(to, "ModifyNamespace", first, add)

    assert handle(to, ["ModifyNamespace", second, add])[0] == Code.IN_OTHER_NAMESPACE.value[0]
    assert call(to, "QueryNamespace", first)["Resources"] == [{"Type": "Endpoint", "Data": {"Id": pod}}]
    call(to, "DeleteEndpoint", pod)
    assert call(to, "QueryNamespace", first)["Resources"] == []


def test_a_boot_loses_endpoints_and_networks_that_are_not_persistent() -> None:
    to = service()
    create(to, "Network", network(Flags=NON_PERSISTENT))
    bridge = create(to, "Network", network("L2Bridge", "cbr0", subnets=[subnet("10.244.4.0/24", "10.244.4.1", None)]))
    create(to, "Endpoint", endpoint("10.244.4.3"), bridge)

    to.reboot()

    assert [each["Name"] for each in to.all("Network")] == ["cbr0"]
    assert to.all("Endpoint") == []


@pytest.mark.parametrize("restores", [True, False])
def test_a_restart_of_the_service_loses_local_endpoints_or_all_but_persistent_networks(restores: bool) -> None:
    to = service()
    on = create(to, "Network", network(Flags=NON_PERSISTENT))
    pod = create(to, "Endpoint", endpoint("10.244.1.9"), on)
    provider = policy("ProviderAddress", ProviderAddress="10.20.0.5")
    create(to, "Endpoint", endpoint("10.244.2.9", provider, Flags=1), on)
    create(to, "LoadBalancer", balancer(pod))

    to.restart(restores=restores)

    kept = [each["IpConfigurations"][0]["IpAddress"] for each in to.all("Endpoint")]
    assert kept == (["10.244.2.9"] if restores else [])
    assert len(to.all("Network")) == len(to.all("LoadBalancer")) == int(restores)


def test_both_apis_show_the_same_overlay() -> None:
    to = service()
    create(to, "Network", network(Policies=[REMOTE_SUBNET]))

    (shown,) = call(to, "HNSCall", "GET", "/networks/", "")["Output"]

    assert shown["ManagementIP"] == NODE
    assert shown["Subnets"][0]["Policies"] == [{"Type": "VSID", "VSID": 4096}]
    assert shown["Policies"] == [{"Type": "RemoteSubnetRoute", **REMOTE_SUBNET["Settings"]}]
    assert shown["DrMacAddress"].startswith("00-15-5D-")


def test_the_first_api_refuses_with_an_answer_and_unknown_fields_of_policies() -> None:
    to = service()
    pods = {"AddressPrefix": "10.244.4.0/24", "GatewayAddress": "10.244.4.1"}
    bridge = {"Name": "cbr0", "Type": "L2Bridge", "Subnets": [pods]}
    made = call(to, "HNSCall", "POST", "/networks", json.dumps(bridge))["Output"]["ID"]
    pod = {"Name": "pod", "VirtualNetwork": made, "IPAddress": "10.244.4.3"}
    wrong = {**pod, "Policies": [{"Type": "OutBoundNAT", "Exceptions": ["10.96.0.0/12"]}]}

    refused = call(to, "HNSCall", "POST", "/endpoints/", json.dumps(wrong))
    call(to, "HNSCall", "POST", "/endpoints/", json.dumps(pod))
    host = json.dumps({"SystemType": "Host", "CompartmentId": 1})
    found = call(to, "HNSCall", "GET", "/endpoints/", "")["Output"][0]["ID"]
    attached = [call(to, "HNSCall", "POST", f"/endpoints/{found}/attach", host) for _ in range(2)]

    assert not refused["Success"] and refused["ErrorCode"] == Code.INVALID_POLICY.value[0]
    assert attached[0] == {"Success": True}
    assert attached[1]["Error"].strip() == "This endpoint is already attached to the switch."
