"""State of the Host Networking Service by area of tests/conformance/state.py, in the lab's imitation (lab/hns)."""

import json
from collections.abc import Mapping
from typing import Any

from lab.hns import endpoints, first_api, load_balancers, networks, server
from lab.hns.service import NON_PERSISTENT, REMOTE, VERSION, Object, Service

AREAS = (
    *("networks", "endpoints", "policies", "linger", "taken", "attach", "attach_refusals", "numbered", "keeps"),
    "no_gateway_refused",
)
"""Areas that a case may set up, in this order."""

BACKEND = "10.244.200.7"
"""Pod of another node, behind the load balancers of cases."""


def forget(hns: Service) -> None:
    """Remove all objects: the service is that of a new machine."""
    with hns.lock:
        hns.objects = {kind: {} for kind in hns.objects}
        hns.made, hns.lingers, hns.attaches_twice, hns.leaving = 0, 0, False, []
        hns.taken, hns.refuses_attach, hns.numbered, hns.keeps = 0, 0, False, 0
        hns.refuses_no_gateway = False
        hns.changed()


def arrange(hns: Service, system: Mapping[str, Any], forwarding: dict[str, str]) -> dict[str, str]:
    """Set up the areas of a state; return how endpoints forward then, by id. The networks count as made before."""
    made = hns.made
    with hns.lock:
        for area in AREAS:
            if area in system:
                forwarding = _SET_UP[area](hns, system[area], forwarding) or forwarding
        hns.made = made
        hns.changed()
    return forwarding


def _call(hns: Service, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """Return what the first API answers. Raises AssertionError if HNS refuses what a case wants."""
    _, text, _ = server.handle(hns, ("HNSCall", method, path, json.dumps(body) if body else ""))
    answer = json.loads(text)
    assert answer["Success"], (hns.refusals[-1], body)
    return answer.get("Output")


def network(name: str, wanted: Mapping[str, Any]) -> Object:
    """Return the request for a network; flanneld's are lost at a boot."""
    policies = [{"Type": "VSID", "VSID": wanted["vni"]}] if "vni" in wanted else []
    subnet = {"AddressPrefix": wanted["subnet"], "GatewayAddress": wanted["gateway"], "Policies": policies}
    flags = NON_PERSISTENT if wanted["type"] == "Overlay" else 0
    return {"Name": name, "Type": wanted["type"], "Flags": flags, "Subnets": [subnet]}


def _networks(hns: Service, wanted: Mapping[str, Any], _: Any) -> None:
    for known in hns.all("Network"):
        if known["Name"] in wanted:
            networks.delete(hns, known["ID"])
    for name, each in wanted.items():
        if each is not None:
            _call(hns, "POST", "/networks", network(name, each))


def _endpoints(hns: Service, wanted: Mapping[str, Any], forwarding: Mapping[str, str]) -> dict[str, str]:
    known = {each["Name"]: each for each in hns.all("Endpoint")}
    left = dict(forwarding)
    for name, endpoint in wanted.items():
        if name in known and endpoint is None:
            endpoints.delete(hns, known[name]["ID"])
        elif name in known:
            if not endpoint.get("attached", True):
                known[name].pop("_host", None)
            if not endpoint.get("forwarding", True):
                left.pop(known[name]["ID"], None)
        elif endpoint is not None:
            place = {
                "VirtualNetwork": hns.named("Network", endpoint["network"])["ID"],
                "IPAddress": endpoint["address"],
            }
            made = _call(hns, "POST", "/endpoints", {"Name": name, **place})
            if endpoint.get("attached"):
                _call(hns, "POST", f"/endpoints/{made['ID']}/attach", {"SystemType": "Host", "CompartmentId": 1})
    return left


def _policies(hns: Service, wanted: Mapping[str, Any], _: Any) -> None:
    """Make load balancers as kube-proxy does, for a pod of another node."""
    for known in hns.all("LoadBalancer"):
        if known.get("Name") in wanted:
            load_balancers.delete(hns, known["ID"])
    for number, name in enumerate((name for name, each in wanted.items() if each is not None), 10):
        remote = [each for each in hns.all("Endpoint") if endpoints.is_remote(each)]
        balance(hns, name, remote[0] if remote else backend(hns), f"10.96.0.{number}")


def backend(hns: Service) -> Object:
    """Create the endpoint of a pod of another node on the first network, as kube-proxy does."""
    place = hns.all("Network")[0]
    document: Object = {"IpConfigurations": [{"IpAddress": BACKEND}], "Flags": REMOTE, "SchemaVersion": VERSION}
    document["Policies"] = [{"Type": "ProviderAddress", "Settings": {"ProviderAddress": "10.20.1.9"}}]
    if place["Type"] != "Overlay":
        del document["Policies"]
    return endpoints.create(hns, place["ID"], "", json.dumps(document))


def balance(hns: Service, name: str, endpoint: Mapping[str, Any], vip: str) -> None:
    """Create a load balancer in front of an endpoint."""
    ports = [{"Protocol": 6, "InternalPort": 8080, "ExternalPort": 80}]
    document = {"Name": name, "HostComputeEndpoints": [endpoint["ID"]], "FrontendVIPs": [vip], "PortMappings": ports}
    load_balancers.create(hns, "", json.dumps({**document, "SchemaVersion": VERSION}))


def _linger(hns: Service, wanted: int, _: Any) -> None:
    hns.lingers = wanted


def _attach(hns: Service, wanted: bool, _: Any) -> None:
    hns.attaches_twice = wanted


def _taken(hns: Service, wanted: int, _: Any) -> None:
    hns.taken = wanted


def _attach_refusals(hns: Service, wanted: int, _: Any) -> None:
    hns.refuses_attach = wanted


def _keeps(hns: Service, wanted: int, _: Any) -> None:
    hns.keeps = wanted


def _no_gateway(hns: Service, wanted: bool, _: Any) -> None:
    hns.refuses_no_gateway = wanted


def _numbered(hns: Service, wanted: bool, _: Any) -> None:
    hns.numbered = wanted


_SET_UP = {
    "networks": _networks,
    "endpoints": _endpoints,
    "policies": _policies,
    "linger": _linger,
    "attach": _attach,
    "taken": _taken,
    "attach_refusals": _attach_refusals,
    "no_gateway_refused": _no_gateway,
    "numbered": _numbered,
    "keeps": _keeps,
}


def seen(hns: Service, area: str, forwarding: Mapping[str, str]) -> Any:
    """Return networks, endpoints or policies in the form of cases."""
    if area == "policies":
        return {each["Name"]: True for each in hns.all("LoadBalancer")}
    if area == "networks":
        return {each["Name"]: _seen_network(each) for each in map(first_api.network_form, hns.all("Network"))}
    local = [each for each in hns.all("Endpoint") if not endpoints.is_remote(each)]
    return {
        endpoint["Name"]: {
            "network": hns.get("Network", endpoint["HostComputeNetwork"])["Name"],
            "address": endpoints.address(endpoint),
            "attached": endpoints.HOST in endpoints.holders(hns, endpoint),
            "forwarding": forwarding.get(endpoint["ID"]) == "Enabled",
        }
        for endpoint in local
    }


def _seen_network(shown: Mapping[str, Any]) -> Any:
    (subnet,) = shown["Subnets"]
    isolated = [each["VSID"] for each in subnet["Policies"] if each["Type"] == "VSID"]
    vni = {"vni": isolated[0]} if isolated else {}
    return {"type": shown["Type"], "subnet": subnet["AddressPrefix"], "gateway": subnet["GatewayAddress"], **vni}
