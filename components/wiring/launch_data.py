"""Launch data: the content of user-data, from the plan and from outputs of cloud resources."""

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
    """Outputs that user-data contains."""

    bundle_urls: Mapping[str, Output[str]]
    """URLs of bundles, by name of the machine group."""
    facts: Output[dict[str, str]]
    """Facts that are the same for all machines."""
    own: Mapping[SecurityGroup, Output[dict[str, str]]]
    """Facts that differ by security group: status_url, and on Azure identity."""

    def user_data(self, group: MachineGroup, current: Output[MachineGroup]) -> Callable[[Machine], Output[str]]:
        """Return a function that gives the user-data of a machine; it computes the group's shared part once.

        current: the group at its version in this run (components/rollout/upgrade.py).
        """
        control_plane = group.is_control_plane
        shared = Output.all(self.bundle_urls[group.name], self.facts, self.own[group.group], current).apply(
            lambda values: (
                values[0],
                facts.for_role({**values[1], **values[2]}, control_plane=control_plane),
                values[3].bundle.sha256,
            )
        )

        def of(machine: Machine) -> Output[str]:
            mine = group.machine_document(machine)
            return shared.apply(
                lambda values: group.user_data(userdata.document(values[0], values[2], mine, values[1]))
            )

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
    """Return the launch data with every fact of components/machine/facts.py.

    roles: prefix of the names of status records. secret_names: by secret. services: region and URLs of cloud services,
    by fact. identities: client ids, on clouds where a machine must name its identity.
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
    identity = {group: {"identity": client_id} for group, client_id in (identities or {}).items()}
    by_group = {
        # URL of a machine's status record without the instance's id; %3A is a colon
        group: Output.all(
            status_url=Output.concat(stores.bundle_store, "/status/", role, "%3A"), **identity.get(group, {})
        )
        for group, role in roles.items()
    }
    return LaunchData(stores.bundle_urls, common, by_group)


def group_tags(group: MachineGroup, current: Output[MachineGroup]) -> dict[str, Input[str]]:
    """Return the tags of a group's machines besides the cluster's. current: the group at its version in this run."""
    tags: dict[str, Input[str]] = {"pool": group.name}
    if not group.is_control_plane:  # the control plane changes in place, so its digest would be outdated
        tags["digest"] = current.apply(lambda group: group.replace_digest[:16])
    return tags
