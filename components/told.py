"""What machines are told in their user-data: the plan's part, and what the cloud's wiring found out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pulumi import Input, Output

from components import facts, userdata
from components.firewall import Group
from components.plan import ClusterPlan, Machine, MachineGroup


@dataclass(frozen=True)
class Told:
    """What the wiring of a cloud knows."""

    bundle_urls: Mapping[str, Output[str]]
    """By machine group."""
    facts: Output[dict[str, str]]
    """All but those of `own`."""
    own: Mapping[Group, Output[dict[str, str]]]
    """Facts that differ by the machines' group: status_url, and on Azure identity."""

    def user_data(self, group: MachineGroup, made: Output[MachineGroup]) -> Callable[[Machine], Output[str]]:
        """User-data by machine: what a group's machines share is made once.

        made: the group as it is in this run (components/upgrade.py).
        """
        control_plane = group.is_control_plane
        given = Output.all(self.bundle_urls[group.name], self.facts, self.own[group.group], made).apply(
            lambda known: (
                known[0],
                facts.for_role({**known[1], **known[2]}, control_plane=control_plane),
                known[3].bundle.sha256,
            )
        )

        def of(machine: Machine) -> Output[str]:
            mine = group.machine_document(machine)
            return given.apply(lambda known: group.user_data(userdata.document(known[0], known[2], mine, known[1])))

        return of


class Stores(Protocol):
    """What machines are told of a cloud's stores."""

    ca_url: Output[str]
    bundle_store: Output[str]
    snapshot_store: Output[str]


def common(
    plan: ClusterPlan, ca_hash: Output[str], stores: Stores, public_host: Output[str], world: str, **own: Input[str]
) -> Output[dict[str, str]]:
    """Every fact of components/facts.py but those of Told.own. own: region, services and names of secrets."""
    return Output.all(
        world=world,
        cloud=plan.spec.cloud.value,
        cluster=plan.name,
        api_host=plan.endpoint.host,
        api_url=plan.endpoint.url,
        api_public_host=public_host,
        ca_hash=ca_hash,
        ca_url=stores.ca_url,
        bundle_store=stores.bundle_store,
        snapshot_store=stores.snapshot_store,
        **own,
    )


def group_tags(group: MachineGroup, made: Output[MachineGroup]) -> dict[str, Input[str]]:
    """Tags of a group's machines, besides what all of the cluster has. made: the group as it is in this run."""
    tags: dict[str, Input[str]] = {"pool": group.name}
    if not group.is_control_plane:  # which changes in place, so it is never what it was made as
        tags["digest"] = made.apply(lambda known: known.replace_digest[:16])
    return tags


def status_url(bundle_store: Output[str], role: str | Output[str]) -> Output[str]:
    """Where machines with this role put their status records, up to the instance's id; %3A is a colon."""
    return Output.concat(bundle_store, "/status/", role, "%3A")
