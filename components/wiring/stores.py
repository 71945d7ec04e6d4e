"""The stores of a cluster, in any cloud: one with what machines fetch and write, one with snapshots of etcd."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import Input, Output, ResourceOptions

from components.plan import MachineGroup
from components.rollout.signed_documents import MEMBERS, POINTER
from components.wiring.bundle_files import asset
from components.wiring.context import ClusterContext
from components.wiring.published_documents import member_list, pointer

JSON = "application/json"

OLDER_DAYS = 30
"""What was written over or deleted in a versioned store can be had back for so long, then it costs no more."""

SECRETS = {"join_secret": "join", "pki_secret": "pki", "desired_state_secret": "desired-state"}
"""Secrets by the fact with what the store calls them. The first is written by the control plane, the others here."""


@dataclass(frozen=True)
class Content:
    """An object of the bundle store: a text or an asset."""

    name: str
    """Of its resource, after the cluster's."""
    key: Input[str]
    """Its name in the store."""
    text: Output[str] | None = None
    asset: Output[pulumi.Asset] | None = None
    options: ResourceOptions | None = None

    @property
    def content_type(self) -> str | None:
        """Where it is not the cloud's own default."""
        return JSON if self.key in (POINTER, MEMBERS) else None


class Stores(pulumi.ComponentResource, ABC):
    """Bundle objects stay when the program no longer names them: a machine may still fetch them.

    They go with their store. The snapshot store outlives the cluster unless that expires.
    """

    bundle_store: Output[str]
    """URL of the bundle store."""
    snapshot_store: Output[str]
    """URL of the snapshot store."""
    bundle_urls: Mapping[str, Output[str]]
    """URL of each machine group's bundle, known once it is there."""
    ca_url: Output[str]
    """URL of the CA bundle."""
    members: pulumi.Resource
    """The list of planned members: a machine that is not on it is not let in, so it comes before machines."""

    @abstractmethod
    def _put(self, each: Content) -> tuple[pulumi.Resource, Output[str]]:
        """Put an object into the bundle store: its resource, and its name there once it is there."""

    def _publish(self, context: ClusterContext) -> None:
        """Put into the bundle store what machines fetch."""
        plan, made = context.plan, context.upgrade.groups()
        self.bundle_urls = {each.name: self._bundle(each.name, made[each.name]) for each in plan.machine_groups}
        self.ca_url = self._url(self._put(Content("ca", "ca.crt", context.generated.ca_certificate)))
        pointed = pointer(plan, context.generated, context.upgrade, self.bundle_urls[plan.control_plane.name], self)
        reached = ResourceOptions(hooks=context.upgrade.hooks)
        self._put(Content("desired-state", POINTER, pointed, options=reached))
        self.members, _ = self._put(Content("members", MEMBERS, member_list(plan, context.generated, self)))

    def _bundle(self, name: str, group: Output[MachineGroup]) -> Output[str]:
        key = group.apply(lambda each: each.bundle.key)
        source: Output[pulumi.Asset] = group.apply(lambda each: asset(each.bundle))
        kept = ResourceOptions(retain_on_delete=True)
        return self._url(self._put(Content(f"bundle-{name}", key, asset=source, options=kept)))

    def _url(self, stored: tuple[pulumi.Resource, Output[str]]) -> Output[str]:
        return Output.concat(self.bundle_store, "/", stored[1])
