"""Unmanaged instance groups, the targets of load balancers, and their members.

Sources: Compute Engine API, instanceGroups: addInstances, removeInstances; the provider asks the latter to delete a
membership, and takes 404 alone for deleted.
"""

from typing import Any

from sandbox.cloud import Reference, Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import CloudState
from sandbox.gcp import regions
from sandbox.gcp.instances import zonal_name
from sandbox.gcp.names import (
    AUTO_NAME,
    COMPUTE,
    GROUP,
    INSTANCE,
    MEMBERSHIP,
    NAMED,
    NETWORK,
    bare,
    id_of,
    in_use,
    invalid,
    link,
    points_to,
    refuse_missing,
)
from sandbox.records import Record


def _group(request: Request) -> None:
    zone = request.inputs.get("zone")
    for id in points_to(INSTANCE, "instances[]").ids(request):
        record = request.cloud_state.find(INSTANCE, id)
        if record and record.outputs["zone"] != zone:
            raise invalid("instances", id, f"The instance is not in zone '{zone}' of the group.")
    if zone not in regions.zones(request.place.region):
        raise Refusal("notFound", f"googleapi: Error 404: The zone '{zone}' was not found")


def _group_outputs(request: Request) -> dict[str, Any]:
    members = [COMPUTE + id for id in points_to(INSTANCE, "instances[]").ids(request)]
    record = request.cloud_state.find(INSTANCE, members[0].removeprefix(COMPUTE)) if members else None
    network = record.outputs["networkInterfaces"][0]["network"] if record else ""
    given = points_to(NETWORK, "network").ids(request)
    return {"instances": members, "size": len(members), "network": COMPUTE + given[0] if given else network}


def members(cloud_state: CloudState, group: Record) -> list[str]:
    """Return ids of a group's instances: those it names, and those that membership resources add."""
    named = [bare(link) for link in group.outputs.get("instances") or []]
    own = (each.inputs["instance"] for each in cloud_state.referrers(GROUP, group.id) if each.type == MEMBERSHIP)
    return [*named, *map(bare, own)]


_IN_GROUP = Reference(
    "instanceGroup",
    GROUP,
    "notFound",
    "googleapi: Error 404: The resource '{id}' was not found",
    "vanish",
    id=lambda request, value: bare(value) if "/" in value else _group_id(request, value),
)


def _group_id(request: Request, name: str) -> str:
    return f"projects/{request.account}/zones/{request.inputs.get('zone')}/instanceGroups/{name}"


def _member(request: Request) -> None:
    """Check that an instance is in the group's zone and network."""
    group = request.cloud_state.find(GROUP, _IN_GROUP.ids(request)[0])
    machine = request.cloud_state.find(INSTANCE, points_to(INSTANCE, "instance").ids(request)[0])
    if group is None or machine is None:
        return  # the reference check refuses a missing instance
    if machine.outputs["zone"] != group.outputs["zone"]:
        raise invalid("instances", machine.id, f"The instance is not in zone '{group.outputs['zone']}' of the group.")
    network = machine.outputs["networkInterfaces"][0]["network"]
    if group.outputs.get("network") not in ("", None, network):
        raise invalid("instances", machine.id, "The instance is not in the network of the group.")


def _no_member(request: Request) -> None:
    """Refuse to remove an instance from a group that it is not in; one that does not exist is 404, thus gone."""
    group = request.cloud_state.find(GROUP, _IN_GROUP.ids(request)[0])
    machine = request.cloud_state.find(INSTANCE, points_to(INSTANCE, "instance").ids(request)[0])
    if group and machine:
        raise Refusal(
            "invalid", f"googleapi: Error 400: Instance '{machine.id}' is not a member of instance group '{group.id}'."
        )


_TWICE = Unique(
    "member of a group",
    ("instanceGroup", "zone", "instance"),
    "memberAlreadyExists",
    "googleapi: Error 400: Resource '{in_.instance}' is already a member of '{in_.instanceGroup}'",
)

TYPES: dict[str, ResourceType] = {
    MEMBERSHIP: ResourceType(
        id=lambda request: f"{_IN_GROUP.ids(request)[0]}/{bare(request.inputs['instance']).rpartition('/')[2]}",
        immutable=("instance", "instanceGroup", "zone", "project"),
        chosen=("project", "zone"),
        outputs={"project": "{account}"},
        references=(points_to(INSTANCE, "instance", "vanish"), _IN_GROUP),
        unique=(_TWICE,),
        rules=(_member,),
        gone_rules=(_no_member,),
    ),
    GROUP: ResourceType(
        id=id_of(GROUP),
        immutable=("name", "zone", "project", "network", "description"),
        chosen=("name", "project", "zone", "network", "instances"),
        outputs={"project": "{account}", "selfLink": link(GROUP)},
        derive=_group_outputs,
        unordered=("instances",),
        completed=("instances", "network"),
        volatile=("size",),
        auto_name=AUTO_NAME,
        patterns=NAMED,
        references=(points_to(INSTANCE, "instances[]", "dangle"), points_to(NETWORK, "network")),
        unique=(zonal_name(GROUP),),
        in_use=in_use("instance_group"),
        rules=(_group,),
        gone_rules=(refuse_missing,),
    ),
}
