"""What machines are told in their user-data: the plan's part, and what the cloud's wiring found out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pulumi import Input, Output

from components.machine import facts
from components.machine import user_data as userdata
from components.plan import Machine, MachineGroup
from components.topology.firewall import SecurityGroup
from components.wiring.context import ClusterContext
from components.wiring.stores import SECRETS, Stores


@dataclass(frozen=True)
class LaunchData:
    """What the wiring of a cloud knows."""

    bundle_urls: Mapping[str, Output[str]]
    """By machine group."""
    facts: Output[dict[str, str]]
    """All but those of `own`."""
    own: Mapping[SecurityGroup, Output[dict[str, str]]]
    """Facts that differ by the machines' group: status_url, and on Azure identity."""

    def user_data(self, group: MachineGroup, made: Output[MachineGroup]) -> Callable[[Machine], Output[str]]:
        """User-data by machine: what a group's machines share is made once.

        made: the group as it is in this run (components/rollout/upgrade.py).
        """
        control_plane = group.is_control_plane
        shared = Output.all(self.bundle_urls[group.name], self.facts, self.own[group.group], made).apply(
            lambda known: (
                known[0],
                facts.for_role({**known[1], **known[2]}, control_plane=control_plane),
                known[3].bundle.sha256,
            )
        )

        def of(machine: Machine) -> Output[str]:
            mine = group.machine_document(machine)
            return shared.apply(lambda known: group.user_data(userdata.document(known[0], known[2], mine, known[1])))

        return of


def launch_data(
    context: ClusterContext,
    stores: Stores,
    public_host: Output[str],
    roles: Mapping[SecurityGroup, Input[str]],
    secret_names: Mapping[str, Input[str]],
    services: Mapping[str, Input[str]],
    identities: Mapping[SecurityGroup, Input[str]] | None = None,
) -> LaunchData:
    """Every fact of components/machine/facts.py.

    roles: what names of status records begin with. secret_names: by secret. services: the cloud's, by fact, and the
    region. identities: of a cloud whose machines have to say which is theirs.
    """
    plan = context.plan
    common = Output.all(
        world=context.target,
        cloud=plan.spec.cloud.value,
        cluster=plan.name,
        api_host=plan.endpoint.host,
        api_url=plan.endpoint.url,
        api_public_host=public_host,
        ca_hash=context.generated.ca_hash,
        ca_url=stores.ca_url,
        bundle_store=stores.bundle_store,
        snapshot_store=stores.snapshot_store,
        **{fact: secret_names[secret] for fact, secret in SECRETS.items()},
        **services,
    )
    named = {group: {"identity": each} for group, each in (identities or {}).items()}
    by_group = {
        # where machines put their status records, up to the instance's id; %3A is a colon
        group: Output.all(
            status_url=Output.concat(stores.bundle_store, "/status/", role, "%3A"), **named.get(group, {})
        )
        for group, role in roles.items()
    }
    return LaunchData(stores.bundle_urls, common, by_group)


def group_tags(group: MachineGroup, made: Output[MachineGroup]) -> dict[str, Input[str]]:
    """Tags of a group's machines, besides what all of the cluster has. made: the group as it is in this run."""
    tags: dict[str, Input[str]] = {"pool": group.name}
    if not group.is_control_plane:  # which changes in place, so it is never what it was made as
        tags["digest"] = made.apply(lambda known: known.replace_digest[:16])
    return tags
