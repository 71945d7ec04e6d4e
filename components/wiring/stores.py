"""The stores of a cluster in any cloud: the bundle store and the snapshot store."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi import Input, Output, ResourceOptions

from components.plan import MachineGroup
from components.rollout.signed_documents import MEMBERS, POINTER
from components.wiring.bundle_files import asset
from components.wiring.context import ClusterContext
from components.wiring.published_documents import Members, member_list, pointer

JSON = "application/json"

OLDER_DAYS = 30
"""Days for which a versioned store keeps overwritten and deleted objects."""

SECRETS = {"join_secret": "join", "pki_secret": "pki", "desired_state_secret": "desired-state"}
"""Name of a secret, by the fact that holds it. The control plane writes `join`, the program the others."""


def after(made: pulumi.CustomResource | None, text: Output[str]) -> Output[str]:
    """Return the text once the resource is made."""
    return Output.all(text, made.id).apply(lambda known: str(known[0])) if made else text


@dataclass(frozen=True)
class Content:
    """An object of the bundle store, with either a text or an asset."""

    name: str
    """Suffix of the resource's name, after the cluster's name."""
    key: Input[str]
    """Name of the object in the store."""
    text: Output[str] | None = None
    asset: Output[pulumi.Asset] | None = None
    options: ResourceOptions | None = None

    @property
    def content_type(self) -> str | None:
        """Content type; None: the cloud's default."""
        return JSON if self.key in (POINTER, MEMBERS) else None


class Stores(pulumi.ComponentResource, ABC):
    """The bundle store and the snapshot store of a cluster.

    Bundles stay until their store is deleted: a machine may still fetch one that the program no longer declares. The
    snapshot store outlives the cluster, unless the cluster has an expiry date.
    """

    bundle_store: Output[str]
    """URL of the bundle store."""
    snapshot_store: Output[str]
    """URL of the snapshot store."""
    bundle_urls: Mapping[str, Output[str]]
    """URL of each machine group's bundle; resolves once the bundle is uploaded."""
    ca_url: Output[str]
    """URL of the CA bundle."""
    members: pulumi.Resource
    """The object members.json. Machines depend on it, because a machine that is not listed cannot join."""

    @abstractmethod
    def _put(self, content: Content) -> tuple[pulumi.Resource, Output[str]]:
        """Upload an object to the bundle store; return its resource, and its name, which resolves once uploaded."""

    def _publish(self, context: ClusterContext, secrets: Sequence[pulumi.Resource]) -> None:
        """Upload what machines fetch: bundles, the CA certificate, the desired-state pointer.

        secrets: those of the secret store. Control planes that follow the pointer read the values of its run there.
        """
        plan, groups = context.plan, context.upgrade.groups()
        self.bundle_urls = {group.name: self._bundle(group.name, groups[group.name]) for group in plan.machine_groups}
        # those of earlier generations too: a machine may start late. Every machine may read bundles/.
        for generation, pem in enumerate(context.secrets.ca_pinned):
            place = (f"ca-{generation}", f"bundles/ca-{generation}.crt") if generation else ("ca", "ca.crt")
            self.ca_url = self._url(self._put(Content(*place, pem)))
        if plan.joins:  # no agent of Mullion follows a pointer there
            return
        document = pointer(plan, context.generated, context.upgrade, self.bundle_urls[plan.control_plane.name], self)
        options = ResourceOptions(hooks=context.upgrade.hooks, depends_on=secrets)
        self._put(Content("desired-state", POINTER, document, options=options))

    def publish_members(self, context: ClusterContext, found: Members) -> None:
        """Upload the member list."""
        document = member_list(context.plan, context.generated, found, self)
        self.members, _ = self._put(Content("members", MEMBERS, document))

    def _bundle(self, name: str, group: Output[MachineGroup]) -> Output[str]:
        key = group.apply(lambda current: current.bundle.key)
        source: Output[pulumi.Asset] = group.apply(lambda current: asset(current.bundle))
        kept = ResourceOptions(retain_on_delete=True)
        return self._url(self._put(Content(f"bundle-{name}", key, asset=source, options=kept)))

    def _url(self, stored: tuple[pulumi.Resource, Output[str]]) -> Output[str]:
        return Output.concat(self.bundle_store, "/", stored[1])
