"""Launch data: the content of user-data, from the plan and from outputs of cloud resources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from pulumi import Input, Output

from components.machine import facts
from components.machine import user_data as userdata
from components.plan import Machine, MachineGroup
from components.wiring.context import ClusterContext
from components.wiring.stores import SECRETS, Stores


@dataclass(frozen=True)
class _Shared:
    """Values that user-data of several machines contains.

    No list or dictionary, because Pulumi would unwrap each value in it again for each machine.
    """

    bundle_url: str
    facts: Mapping[str, str]
    group: MachineGroup
    """The group at its version in this run."""


@dataclass(frozen=True)
class LaunchData:
    """Outputs that user-data contains."""

    bundle_urls: Mapping[str, Output[str]]
    """URLs of bundles, by name of the machine group."""
    facts: Output[dict[str, str]]
    """Facts that are the same for all machines."""
    own: Mapping[str, Output[dict[str, str]]]
    """Facts that differ by identity: status_url, and on Azure identity. By name of the identity."""

    def user_data(self, group: MachineGroup, current: Output[MachineGroup]) -> Callable[[Machine], Output[str]]:
        """Return a function that gives the user-data of a machine; it computes the group's shared part once.

        current: the group at its version in this run (components/rollout/upgrade.py).
        """
        control_plane = group.is_control_plane
        shared = Output.all(self.bundle_urls[group.name], self.facts, current).apply(lambda values: _Shared(*values))

        @cache
        def of_identity(name: str) -> Output[_Shared]:
            def chosen(values: list[Any]) -> _Shared:
                known = {**values[0].facts, **values[1]}
                if control_plane:  # it has its authorities from the secret store, and this is the cluster's name there
                    known["ca_hash"] = known["cluster_hash"]
                return replace(values[0], facts=facts.for_role(known, control_plane=control_plane))

            return Output.all(shared, self.own[name]).apply(chosen)

        def of(machine: Machine) -> Output[str]:
            mine = group.machine_document(machine)

            def text(known: _Shared) -> str:
                document = userdata.document(known.bundle_url, known.group.bundle.sha256, mine, known.facts)
                return group.user_data(document)

            return of_identity(group.identity_of(machine)).apply(text)

        return of


@dataclass(frozen=True)
class ServiceAccess:
    """How the machines of one cloud reach its services."""

    roles: Mapping[str, Input[str]]
    """Prefix of the names of status records, by name of the identity (access_rights.py)."""
    secret_names: Mapping[str, Input[str]]
    """Names in the secret store, by secret."""
    services: Mapping[str, Input[str]]
    """Region and URLs of cloud services, by fact."""
    identities: Mapping[str, Input[str]] = field(default_factory=dict[str, Input[str]])
    """Client ids, by name of the identity, on clouds where a machine must name its identity."""


def launch_data(context: ClusterContext, stores: Stores, access: ServiceAccess) -> LaunchData:
    """Return the launch data with every fact of components/machine/facts.py."""
    plan = context.plan
    common = Output.all(
        world=context.target,
        cloud=plan.spec.cloud.value,
        cluster=plan.name,
        api_host=plan.endpoint.host,
        api_url=plan.endpoint.url,
        ca_hash=context.secrets.ca_hash,
        cluster_hash=context.secrets.cluster_hash,
        ca_url=stores.ca_url,
        bundle_store=stores.bundle_store,
        snapshot_store=stores.snapshot_store,
        **{fact: name for fact, secret in SECRETS.items() if (name := access.secret_names.get(secret)) is not None},
        **access.services,
    )
    client_ids = {name: {"identity": client_id} for name, client_id in access.identities.items()}
    own = {
        # URL of a machine's status record without the instance's id; %3A is a colon
        name: Output.all(
            status_url=Output.concat(stores.bundle_store, "/status/", role, "%3A"), **client_ids.get(name, {})
        )
        for name, role in access.roles.items()
    }
    return LaunchData(stores.bundle_urls, common, own)


def group_tags(group: MachineGroup, current: Output[MachineGroup]) -> dict[str, Input[str]]:
    """Return the tags of a group's machines besides the cluster's. current: the group at its version in this run."""
    tags: dict[str, Input[str]] = {"pool": group.name}
    if not group.is_control_plane:  # the control plane changes in place, so its digest would be outdated
        tags["digest"] = current.apply(lambda group: group.replace_digest[:16])
    return tags
