"""Obstacles to a machine's boot on AWS: routes, security groups, the source/destination check, the build of Windows."""

import json
import re
from dataclasses import replace
from typing import Any

from components import releases
from sandbox import simulated_boot
from sandbox.aws import images, private_ways
from sandbox.aws import machine as one
from sandbox.aws.network import EGRESS, GATEWAY, GROUP, INSTANCE, NAT
from sandbox.aws.s3 import is_versioned
from sandbox.aws.secretsmanager import ENTRY
from sandbox.cloud_state import CloudState
from sandbox.machines import Machines
from sandbox.records import Record

HTTPS = 443
_YEAR = re.compile(r"Windows_Server-(\d{4})-")
"""The release in the parameter name of an image of Windows."""


def _no_way_out(cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """Return why a machine has no route to an internet gateway, by a public address or a NAT gateway, and no private
    endpoints; empty if it has one of them.
    """
    subnet = machine.inputs.get("subnetId", "")
    gateway, nat = _default_route(cloud_state, subnet)
    if gateway:
        return "" if machine.outputs.get("publicIp") else f"{subnet} routes to {gateway}, but it has no public address"
    if nat is None:
        services = ["s3", "secretsmanager", *(["ec2"] if "compute_service" in found["facts"] else [])]
        lacks = next(filter(None, (private_ways.missing(cloud_state, machine, each) for each in services)), "")
        return f"{subnet} has no route to the internet, and {lacks}" if lacks else ""
    further, _ = _default_route(cloud_state, nat.inputs.get("subnetId", ""))
    return "" if further else f"{nat.id} is in a subnet without a route to an internet gateway"


def _pods(cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """Return why packets of pods are dropped: the source/destination check refuses their addresses."""
    dropped = "pod_cidr" in found["machine"] and machine.inputs.get("sourceDestCheck") is not False
    return "its source/destination check drops what its pods send" if dropped else ""


def _default_route(cloud_state: CloudState, subnet: str) -> tuple[str, Record | None]:
    """Return the id of the internet gateway or NAT gateway behind 0.0.0.0/0 of a subnet."""
    for route in private_ways.default_routes(cloud_state, subnet):
        gateway = cloud_state.find(GATEWAY, route.get("gatewayId") or "")
        return gateway.id if gateway else "", cloud_state.find(NAT, route.get("natGatewayId") or "")
    return "", None


def _firewall(cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """Return why no security group allows https to everywhere; machines without groups use the VPC's default group."""
    groups = machine.inputs.get("vpcSecurityGroupIds") or []
    for group in groups:
        record = cloud_state.find(GROUP, group)
        inline = (record.inputs.get("egress") or []) if record else []
        rules = [{**rule, "ipProtocol": rule["protocol"], "peers": rule.get("cidrBlocks") or []} for rule in inline]
        rules += [
            one.inputs | {"peers": [one.inputs.get("cidrIpv4")]}
            for one in cloud_state.referrers(GROUP, group, "vanish")
            if one.type == EGRESS
        ]
        if any(_lets_out(rule) for rule in rules):
            return ""
    return f"no rule of {', '.join(groups)} lets tcp {HTTPS} out to 0.0.0.0/0" if groups else ""


def _lets_out(rule: dict[str, Any]) -> bool:
    if "0.0.0.0/0" not in rule["peers"]:
        return False
    if str(rule["ipProtocol"]) in ("-1", "all"):
        return True
    return str(rule["ipProtocol"]) in ("tcp", "6") and rule["fromPort"] <= HTTPS <= rule["toPort"]


def _build(cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """Return why the executor refuses the machine's Windows: error 501, its build is not the plan's."""
    image = images.source(cloud_state, machine.region, machine.inputs.get("ami") or "")
    year, stored = _YEAR.search(image), cloud_state.object(*one.place(found["bundle"]["url"]))
    plan = simulated_boot.in_bundle(stored, "plan.json")
    if not year or not plan:
        return ""
    phases = json.loads(plan)["phases"]
    wanted = [each["build"] for phase in phases for each in phase["steps"] if each["kind"] == "build"]
    release = releases.WINDOWS.get(f"windows-{year[1]}")
    actual = release.build if release else f"of Windows Server {year[1]}"
    if not wanted or wanted[0] == actual:
        return ""
    return f"error 501: the image has build {actual}, the plan needs {wanted[0]}"


def _stop(cloud_state: CloudState, machine: Record) -> None:
    cloud_state.put(replace(machine, outputs={**machine.outputs, "instanceState": "stopped"}))


def _key(cloud_state: CloudState, name: str) -> str:
    return next((entry.id for entry in cloud_state.resources(ENTRY) if entry.inputs.get("name") == name), "")


MACHINES = Machines(
    INSTANCE,
    one.user_data,
    lambda machine: machine.id,
    one.place,
    one.not_allowed,
    "s3:GetObject",
    "s3:PutObject",
    is_versioned,
    _key,
    (_no_way_out, _firewall, _pods, _build),
    _stop,
)
start, settle = simulated_boot.starting(MACHINES), simulated_boot.settling(MACHINES)
