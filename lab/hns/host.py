"""State of HNS outside its API: the host's adapters, and a file on the machine's disk that is written at each change.

The machine's stand-ins of NetAdapter and NetTCPIP (sandbox/boot/windows/modules) read the adapters in it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.hns import endpoints, networks
from lab.hns.service import Service, policies

STATE_FILE = "drive_c/windows/hns.json"
"""File of a machine with its HNS objects and adapters."""


def adapters(service: Service) -> Iterator[dict[str, str]]:
    """Yield the host's adapters that HNS made: `name`, and of an endpoint `id`, `address`, `subnet`, `gateway` ("": no
    default route).
    """
    external = [each for each in service.all("Network") if each["Type"] in networks.EXTERNAL]
    bound = (settings["NetworkAdapterName"] for each in external for settings in policies(each, "NetAdapterName"))
    for adapter in (each for each in dict.fromkeys(bound) if each in service.adapters):
        yield {"name": f"vEthernet ({adapter})"}
    for network in service.all("Network"):
        if network["Type"] == "NAT":
            yield {"name": f"vEthernet ({network['Name']})"}
    for endpoint in service.all("Endpoint"):
        if endpoints.HOST in endpoints.holders(service, endpoint):
            given = next((each["NextHop"] for each in endpoint.get("Routes") or () if each.get("NextHop")), "")
            ((subnet, gateway), *_) = networks.subnets(service.get("Network", endpoint["HostComputeNetwork"]))
            yield {
                "name": f"vEthernet ({endpoint['Name']})" + (" 2" if service.numbered else ""),
                "id": endpoint["ID"],
                "address": endpoints.address(endpoint),
                "subnet": str(subnet),
                # without 0.0.0.0 as its gateway, the host gets a default route through the network's
                "gateway": "" if given == "0.0.0.0" else str(gateway),  # noqa: S104 - flannel-io/flannel#1763
            }


def write(service: Service, machine: Path) -> None:
    """Replace the machine's file in one step, so readers see the old state or the new one."""
    state: dict[str, Any] = {"build": service.build.number, "made": service.made, "objects": service.objects}
    state["cards"], state["adapters"] = dict(service.adapters), list(adapters(service))
    new = machine / f"{STATE_FILE}.new"
    new.write_text(json.dumps(state), encoding="utf-8")
    new.replace(machine / STATE_FILE)


def restore(service: Service, machine: Path) -> None:
    """Load the objects from the machine's disk, if there are any."""
    place = machine / STATE_FILE
    if place.exists():
        service.objects = json.loads(place.read_text("utf-8"))["objects"]
