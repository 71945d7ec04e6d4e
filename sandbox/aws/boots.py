"""What a booted machine does of its own in the cloud: fetch its bundle, and write its status record.

It does both with its own role, over its own routes and security groups; where one of these is in the way it waits and
tries again, as the real loader does, and the world says what is in its way.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sandbox.aws import answers, followers
from sandbox.aws.machine import document, not_allowed, place, status_url, write_status
from sandbox.aws.network import ASSOCIATION, EGRESS, GATEWAY, GROUP, INSTANCE, NAT, ROUTE, SUBNET, TABLE
from sandbox.cloud import Request
from sandbox.records import Boot, Record
from sandbox.world import World, now

BOOTED = "booted"
"""The setting of a world whose machines are real: they, and not the sandbox, write what machines write."""
HTTPS = 443
_RELEASE = re.compile(r"/v(\d+\.\d+\.\d+)/(?:bin/|kubernetes-node)")
"""How the URL of a Kubernetes download names its version."""


def start(request: Request) -> None:
    """Begin the boot of a new instance."""
    if request.old is not None:
        return
    found = document(request.inputs)
    if found is None:
        reason = "its user-data holds no document of Mullion, as plain text or in base64 once"
        boot = Boot(request.id, "", "", "dead", reason, now())
    else:
        boot = Boot(request.id, found["machine"]["name"], found["bundle"]["sha256"], "waiting", "", now())
    request.world.put_boot(boot)


def settle(world: World) -> None:
    """Let every machine that waits try again; nothing happens in a world whose machines are real."""
    if world.setting(BOOTED):
        return
    for boot in world.boots("waiting"):
        machine = world.find(INSTANCE, boot.instance)
        found = document(machine.inputs) if machine else None
        if machine is None or found is None:
            reason = "it was terminated" if machine is None else "its user-data is secret: the world does not keep it"
            world.put_boot(replace(boot, state="dead", reason=f"{reason}; before: {boot.reason}"))
            continue
        reason = _in_the_way(world, machine, found)
        if not reason:
            _ready(world, boot, found)
        world.put_boot(replace(boot, state="waiting" if reason else "ready", reason=reason, at=now()))
    followers.follow(world)
    answers.answer(world)


def _in_the_way(world: World, machine: Record, found: dict[str, Any]) -> str:
    """The first thing that stops the machine on its way to a status record; empty where nothing does."""
    steps: tuple[Callable[[], str], ...] = (
        lambda: _no_way_out(world, machine),
        lambda: _firewall(world, machine),
        lambda: not_allowed(world, machine, "s3:GetObject", found["bundle"]["url"]),
        lambda: _bundle(world, found["bundle"]["url"], found["bundle"]["sha256"]),
        lambda: not_allowed(world, machine, "s3:PutObject", status_url(found, machine.id)),
        lambda: _pods(machine, found),
    )
    return next((reason for step in steps if (reason := step())), "")


def _no_way_out(world: World, machine: Record) -> str:
    """To the internet gateway with a public address of its own, or by a NAT gateway that can do so."""
    subnet = machine.inputs.get("subnetId", "")
    gateway, nat = _default_route(world, subnet)
    if gateway:
        return "" if machine.outputs.get("publicIp") else f"{subnet} routes to {gateway}, but it has no public address"
    if nat is None:
        return f"{subnet} has no route to the internet"
    further, _ = _default_route(world, nat.inputs.get("subnetId", ""))
    return "" if further else f"{nat.id} is in a subnet without a route to an internet gateway"


def _pods(machine: Record, found: dict[str, Any]) -> str:
    """What leaves a machine with routed pods bears their addresses, which the check takes for forged."""
    dropped = "pod_cidr" in found["machine"] and machine.inputs.get("sourceDestCheck") is not False
    return "its source/destination check drops what its pods send" if dropped else ""


def _default_route(world: World, subnet: str) -> tuple[str, Record | None]:
    """Id of the internet gateway, or the NAT gateway, that 0.0.0.0/0 goes to from a subnet."""
    tables = [one.inputs["routeTableId"] for one in world.referrers(SUBNET, subnet) if one.type == ASSOCIATION]
    found = [one.inputs for table in tables for one in world.referrers(TABLE, table) if one.type == ROUTE]
    for table in filter(None, (world.find(TABLE, table) for table in tables)):
        found += [{**row, "destinationCidrBlock": row.get("cidrBlock")} for row in table.inputs.get("routes") or []]
    for route in found:
        if route.get("destinationCidrBlock") == "0.0.0.0/0":
            gateway = world.find(GATEWAY, route.get("gatewayId") or "")
            return gateway.id if gateway else "", world.find(NAT, route.get("natGatewayId") or "")
    return "", None


def _firewall(world: World, machine: Record) -> str:
    """One of its security groups lets https out to everywhere; without groups it has the VPC's own, which does."""
    groups = machine.inputs.get("vpcSecurityGroupIds") or []
    for group in groups:
        record = world.find(GROUP, group)
        inline = (record.inputs.get("egress") or []) if record else []
        rules = [{**rule, "ipProtocol": rule["protocol"], "peers": rule.get("cidrBlocks") or []} for rule in inline]
        rules += [
            one.inputs | {"peers": [one.inputs.get("cidrIpv4")]}
            for one in world.referrers(GROUP, group, "vanish")
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


def _bundle(world: World, url: str, sha256: str) -> str:
    bucket, key = place(url)
    stored = world.object(bucket, key)
    if stored is None:
        return f"there is no object {key} in bucket {bucket}"
    actual = hashlib.sha256(stored.content).hexdigest()
    return "" if actual == sha256 else f"the bundle {key} has sha256 {actual}, not {sha256}"


def _kubernetes(world: World, url: str) -> str | None:
    """The version of Kubernetes that a bundle's downloads make; None where it has none."""
    stored = world.object(*place(url))
    try:
        with zipfile.ZipFile(io.BytesIO(stored.content if stored else b"")) as bundle:
            found = _RELEASE.search(bundle.read("plan.json").decode())
    except (zipfile.BadZipFile, KeyError):
        return None
    return found[1] if found else None


def _ready(world: World, boot: Boot, found: dict[str, Any]) -> None:
    """A machine that reached its last phase says so; a control plane follows the pointer from then on."""
    kubernetes = _kubernetes(world, found["bundle"]["url"])
    write_status(world, boot, found, kubernetes)
    if "desired_state_secret" in found["facts"]:
        followers.add(world, boot.instance, place(found["facts"]["bundle_store"])[0], kubernetes)
