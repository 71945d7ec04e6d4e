"""What machines are told in their user-data: the plan's part, and what the cloud's wiring found out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pulumi import Input, Output

from components import facts, userdata
from components.firewall import Group
from components.plan import Machine, MachineGroup


@dataclass(frozen=True)
class Told:
    """What the wiring of a cloud knows."""

    bundle_urls: Mapping[str, Output[str]]
    """By machine group."""
    facts: Output[dict[str, str]]
    """All but status_url."""
    status_urls: Mapping[Group, Output[str]]

    def user_data(self, group: MachineGroup, made: Output[MachineGroup]) -> Callable[[Machine], Output[str]]:
        """User-data by machine: what a group's machines share is made once.

        made: the group as it is in this run (components/upgrade.py).
        """
        control_plane = group.is_control_plane
        given = Output.all(self.bundle_urls[group.name], self.facts, self.status_urls[group.group], made).apply(
            lambda known: (
                known[0],
                facts.for_role({**known[1], "status_url": known[2]}, control_plane=control_plane),
                known[3].bundle.sha256,
            )
        )

        def of(machine: Machine) -> Output[str]:
            mine = group.machine_document(machine)
            return given.apply(lambda known: group.user_data(userdata.document(known[0], known[2], mine, known[1])))

        return of


def group_tags(group: MachineGroup, made: Output[MachineGroup]) -> dict[str, Input[str]]:
    """Tags of a group's machines, besides what all of the cluster has. made: the group as it is in this run."""
    tags: dict[str, Input[str]] = {"pool": group.name}
    if not group.is_control_plane:  # which changes in place, so it is never what it was made as
        tags["digest"] = made.apply(lambda known: known.replace_digest[:16])
    return tags


def status_url(bundle_store: Output[str], role: str | Output[str]) -> Output[str]:
    """Where machines with this role put their status records, up to the instance's id; %3A is a colon."""
    return Output.concat(bundle_store, "/status/", role, "%3A")
