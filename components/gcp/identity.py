"""Service accounts of the machines, each with the least rights that its machines need."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pulumi
import pulumi_gcp as gcp
from pulumi import Input, Output, ResourceOptions

from components.gcp import volumes
from components.gcp.place import Place
from components.gcp.storage import Storage
from components.naming import CONTROL_PLANE, within
from components.plan import ClusterPlan, MachineGroup
from components.wiring.access_rights import Grant, grants, identities
from components.wiring.context import ClusterContext

LONGEST_ACCOUNT = 30
"""Maximum characters of a service account's id."""
_ENDING = len("-") + 6
"""Characters of an id's end: the cluster's random letters."""

BUILT_IN = {
    "snapshots": "roles/storage.objectUser",  # all operations on objects
    "secret": "roles/secretmanager.secretAccessor",
    "join": "roles/secretmanager.secretVersionManager",  # add a version, destroy the one before
}
"""Google's predefined roles, by the role of a Grant."""

PULL = "roles/artifactregistry.reader"
"""Google's predefined role that may read images and their list, and nothing else."""

ROLES: Mapping[str, tuple[str, ...]] = {
    "machines": ("compute.instances.get", "compute.instances.list"),  # to learn that an etcd member's machine is gone
    "records": ("storage.objects.create", "storage.objects.delete"),  # overwriting an object needs both
    "read": ("storage.objects.get",),
}
"""Permissions of custom roles, where Google's smallest predefined role allows too much. Source for objects: Cloud
Storage, "IAM permissions for XML requests". roles/storage.legacyObjectReader has `read` too, but it stands for an entry
of an access control list, and no page of Google's says that a policy takes such a role with a condition."""


def condition(bucket: str, title: str, prefixes: Iterable[str]) -> dict[str, Any]:
    """Return an IAM condition that is true for objects whose names have one of the prefixes."""
    folder = f"projects/_/buckets/{bucket}/objects/"
    return {
        "title": title,
        "expression": " || ".join(f'resource.name.startsWith("{folder}{prefix}")' for prefix in prefixes),
    }


def account_stem(cluster: str, own: str) -> str:
    """Return the id of an identity's service account without its end: a hyphen and the cluster's letters."""
    return within(LONGEST_ACCOUNT - _ENDING, f"{cluster}-{own}")


def rights(group: MachineGroup, own: str) -> Iterator[Grant]:
    """Yield the rights of an identity of a group.

    Workers with accounts of their own read the requests for logs to their whole pool: grants of the same role under the
    same condition are one binding with several members, so the reading of a pool takes one of the conditional bindings
    that a policy may have, and the writing of each worker another one. A request has only a random number. Reading and
    writing cannot be one role with one condition: a machine may not read announcements, its own included, because a
    token of its predecessor would read the number from which its bootstrap token is derived.
    """
    requests = f"{group.name}-" if group.chose_own_identity else None
    return grants(own, control_plane=group.is_control_plane, requests=requests)


class Identity(pulumi.ComponentResource):
    """A service account for the control plane, and one for each worker or each pool (`worker_identity`).

    Each right is an IAMMember, not an IAMBinding with all members: it depends on its own account only, so a worker that
    is removed keeps its rights until its machine is gone, and no run removes members that it does not know.
    """

    accounts: Mapping[str, Output[str]]
    """E-mail addresses of the service accounts by name of the identity (components/wiring/access_rights.py)."""
    granted: Mapping[str, list[pulumi.Resource]]
    """IAM bindings by name of the identity; machines lack rights before these exist."""

    def __init__(
        self,
        context: ClusterContext,
        place: Place,
        zones: Output[list[str]],
        storage: Storage,
        opts: ResourceOptions | None = None,
    ) -> None:
        name, suffix = context.plan.name, context.generated.suffix
        named = identities(context.plan)
        super().__init__("mullion:gcp:Identity", name, {"identities": list(named)}, opts)
        self._cluster, self._child, self._storage = name, ResourceOptions(parent=self), storage
        self._project = place.project
        custom = {key: self._custom_role(key, permissions, suffix) for key, permissions in ROLES.items()}
        self._roles: Mapping[str, Input[str]] = {**BUILT_IN, **custom}
        accounts = {own: self._account(own, suffix) for own in named}
        self.accounts = {own: account.email for own, account in accounts.items()}
        self.granted = {
            own: [self._bind(own, grant, accounts[own].member) for grant in rights(group, own)]
            for own, group in named.items()
        }
        if "gar" in context.plan.spec.registry_credentials:
            for own, resources in self.granted.items():
                resources.append(self._bind_project(f"{own}-pull", PULL, accounts[own].member))
        if volumes.is_used(context.plan):
            limits, uses = self._volumes(context.plan, zones, accounts, suffix)
            self.granted[CONTROL_PLANE] += [*limits, *uses.values()]
            # a worker that is removed keeps its binding until its disks are detached and its machine is gone
            for own, bound in uses.items():
                self.granted[own].append(bound)
        self.register_outputs({"accounts": self.accounts})

    def _volumes(
        self,
        plan: ClusterPlan,
        zones: Output[list[str]],
        accounts: Mapping[str, gcp.serviceaccount.Account],
        suffix: Output[str],
    ) -> tuple[list[pulumi.Resource], dict[str, pulumi.Resource]]:
        """Return the rights of control planes for the driver of persistent disks.

        First those on the project, then those on the account of each identity that gets disks.
        """
        member = accounts[CONTROL_PLANE].member
        roles = {key: self._custom_role(key, permissions, suffix) for key, permissions in volumes.ROLES.items()}
        limited = Output.all(self._project, zones).apply(lambda known: volumes.condition(plan.name, *known))
        uses: dict[str, pulumi.Resource] = {
            own: gcp.serviceaccount.IAMMember(
                f"{self._cluster}-{own}-attach",
                service_account_id=accounts[own].name,
                role=roles["attach"],
                member=member,
                opts=self._child,
            )
            for own in volumes.attached(plan)
        }
        return [
            self._bind_project("volumes", roles["volumes"], member, limited),
            self._bind_project("volume-places", roles["volume_places"], member),
        ], uses

    def _account(self, own: str, suffix: Output[str]) -> gcp.serviceaccount.Account:
        """Return an identity's service account. Its id ends in the cluster's letters, which `reap` reads."""
        name, stem = f"{self._cluster}-{own}", account_stem(self._cluster, own)
        return gcp.serviceaccount.Account(
            name,
            account_id=suffix.apply(lambda letters: f"{stem}-{letters}"),
            display_name=f"Kubernetes machines: {name}",
            opts=self._child,
        )

    def _bind(self, own: str, grant: Grant, member: Output[str]) -> pulumi.Resource:
        """Bind the grant's role to the member on a secret, a bucket, or the project."""
        name, role = f"{self._cluster}-{own}-{grant.name}", self._roles[grant.role]
        if grant.target in self._storage.secrets:
            secret = self._storage.secrets[grant.target].id
            return gcp.secretmanager.SecretIamMember(name, secret_id=secret, role=role, member=member, opts=self._child)
        if grant.target in self._storage.buckets:
            bucket = self._storage.buckets[grant.target]
            limited = bucket.apply(lambda bucket_name: condition(bucket_name, grant.name, grant.prefixes))
            when: Any = limited if grant.prefixes else None
            return gcp.storage.BucketIAMMember(
                name, bucket=bucket, role=role, member=member, condition=when, opts=self._child
            )
        return self._bind_project(grant.name, role, member)

    def _bind_project(
        self, name: str, role: Input[str], member: Input[str], condition: Output[dict[str, Any]] | None = None
    ) -> pulumi.Resource:
        when: Any = condition
        return gcp.projects.IAMMember(
            f"{self._cluster}-{name}",
            project=self._project,
            role=role,
            member=member,
            condition=when,
            opts=self._child,
        )

    def _custom_role(self, key: str, permissions: Iterable[str], suffix: Output[str]) -> Output[str]:
        """Return the name of a custom role. GCP keeps ids of deleted roles for 37 days, hence the suffix."""
        return gcp.projects.IAMCustomRole(
            f"{self._cluster}-{key}",
            role_id=suffix.apply(lambda letters: f"{self._cluster.replace('-', '_')}_{key}_{letters}"),
            title=f"{key.capitalize().replace('_', ' ')} of {self._cluster}",
            permissions=list(permissions),
            opts=self._child,
        ).name
