"""Signed documents that each run of the program uploads to the bundle store (rollout/signed_documents.py)."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import Input, Output

from components.plan import ClusterPlan
from components.rollout.signed_documents import members, members_document, pointer_document
from components.rollout.upgrade import Upgrade
from components.wiring.kept_secrets import Generated, stash


def pointer(
    plan: ClusterPlan, generated: Generated, upgrade: Upgrade, bundle_url: Output[str], parent: pulumi.Resource
) -> Output[str]:
    """Return the desired-state pointer. Its serial is the time of the last change of bundle or version, Unix seconds.

    The pointer changes only after the pools' version is decided, which needs the control plane's reported versions.
    """
    bundle, version = plan.control_plane.bundle, plan.spec.kubernetes
    serial = stash(f"{plan.name}-serial", int(time.time()), parent=parent, trigger=[bundle.sha256, version])
    values = Output.all(generated.desired_state_key, bundle_url, bundle.sha256, version, serial, upgrade.version)
    # the MAC does not reveal its key
    return Output.unsecret(values.apply(lambda current: pointer_document(*current)))


@dataclass(frozen=True)
class Members:
    """What only the cloud knows of the machines.

    roles: prefix of the names of records, without the colon at its end, by name of the identity (access_rights.py).
    zones: names of the planned zones.
    """

    roles: Mapping[str, Input[str]]
    region: Output[str]
    zones: Output[list[str]]


def member_list(plan: ClusterPlan, generated: Generated, found: Members, parent: pulumi.Resource) -> Output[str]:
    """Return members.json. Its serial is the time of its last change, Unix seconds."""
    owners = {machine.name: group.identity_of(machine) for group in plan.machine_groups for machine in group.machines}
    listed = Output.all(Output.all(**found.roles), found.region, found.zones).apply(
        lambda known: members(plan, {name: f"{known[0][own]}:" for name, own in owners.items()}, *known[1:])
    )
    serial = stash(f"{plan.name}-members-serial", int(time.time()), parent=parent, trigger=listed)
    # as a function: Pulumi would unwrap each field of each member of a list again
    document = listed.apply(_with_members)
    values = Output.all(generated.desired_state_key, serial, document)
    return Output.unsecret(values.apply(lambda current: current[2](current[0], current[1])))


def _with_members(listed: list[dict[str, Any]]) -> Callable[[str, int], str]:
    """Return a function of key and serial that returns members.json."""
    return lambda key, serial: members_document(key, listed, serial)
