"""JoinedCluster: what pools take from a cluster that somebody else made, instead of secrets of Mullion's own."""

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import replace

import pulumi
from pulumi import Output, ResourceHook, ResourceHookArgs

from components.machine import pki
from components.plan import ClusterPlan
from components.releases import older
from components.rollout import bootstrap_tokens, joined_nodes, simulation
from components.rollout.authority_gate import Records
from components.rollout.kubernetes_api import Access, KubernetesApi, Refused, Unreachable
from components.rollout.own_kubeconfig import VARIABLE, Unusable, read
from components.rollout.provider_calls import ProviderError
from components.spec.existing import ExistingCluster
from components.wiring.kept_secrets import stash


class JoinedCluster(pulumi.ComponentResource):
    """The authority that machines pin, and the bootstrap token by which they ask for their certificates.

    The cluster has the token only for a time after a machine was created: a resource hook of each machine creates its
    Secret, or extends it, so an `up` that creates no machine leaves no token.
    """

    ca_certificate: Output[str]
    """The cluster's authority, PEM. Not secret."""
    ca_hash: Output[str]
    """sha256:<hex> of its public key. Not secret."""
    hook: ResourceHook
    """Runs before the creation of each machine."""
    access: Access | None
    """How the program reaches the API; None in the unbooted sandbox, and in a preview without a kubeconfig."""

    def __init__(
        self, plan: ClusterPlan, cluster: ExistingCluster, *, simulated: bool, opts: pulumi.ResourceOptions
    ) -> None:
        """simulated: call no API, as in an unbooted sandbox. Raises RunError if `up` has no kubeconfig to call it."""
        super().__init__("mullion:index:JoinedCluster", plan.name, {"endpoint": cluster.endpoint}, opts)
        self._plan, self.access = plan, None if simulated else _access(cluster)
        self._opened = asyncio.Event()
        self._records: Records | None = None
        self.ca_certificate = Output.from_input(cluster.ca)
        self.ca_pinned = [self.ca_certificate]
        self.ca_hash = self.cluster_hash = self.ca_certificate.apply(pki.ca_hash)
        token = stash(
            f"{plan.name}-bootstrap-token",
            bootstrap_tokens.generate(),
            parent=self,
            secret=True,
            trigger=bootstrap_tokens.period(time.time()),
        )
        self._token = token.apply(self._checked)
        self.hook = ResourceHook(f"{plan.name}-join", self._admit)
        self.register_outputs({"ca_hash": self.ca_hash})

    @property
    def stored(self) -> Mapping[str, Output[str]]:
        """Values that the program writes to the cloud's secret store, by name of the secret."""
        return {"join": self._token}

    def open(self, records: Records) -> None:
        """Set the records of machines. Until then the token, for which every machine waits, is not known."""
        self._records = records
        self._opened.set()

    def abandon(self) -> None:
        """Create no token: the program has failed before it could call the cloud.

        The SDK waits for all registrations before it reports the program's error, so without this call for ever.
        """
        self._opened.set()

    async def _admit(self, _: ResourceHookArgs) -> None:
        """Before a machine is created, make the token valid. Raises RuntimeError if that fails: none is created."""
        token = await self._token.future()
        if self.access is None or token is None:
            return
        try:
            await bootstrap_tokens.admit(KubernetesApi(self.access), token, self._plan.name)
        except (Unreachable, Refused) as error:
            raise RuntimeError(
                f"the bootstrap token was not created, so no machine was: {error}. The user of {VARIABLE} must reach"
                f" {self.access.url} and may get, create and patch Secrets in kube-system"
            ) from error

    async def _checked(self, token: str) -> str:
        """Return the token. Raises RunError if the cluster cannot take machines of the plan."""
        if self.access is None or pulumi.runtime.is_dry_run():
            return token
        api, wanted = KubernetesApi(self.access), self._plan.spec.kubernetes
        try:
            version = str((await api.call("GET", "/version")).get("gitVersion")).removeprefix("v")
            if older(version.partition("-")[0].partition("+")[0], wanted):
                raise pulumi.RunError(
                    f"kubernetes: {wanted} is newer than the API server at {api.url}, which has {version}; upgrade the"
                    f" cluster's control plane first, or write {version}"
                )
            await self._make_room(api)
        except (Unreachable, Refused, ProviderError) as error:
            raise pulumi.RunError(
                f"existing_cluster: no bootstrap token was created, and no machine was changed: {error}. The user of"
                f" {VARIABLE} must reach {api.url} and may read Nodes"
            ) from error
        return token

    async def _make_room(self, api: KubernetesApi) -> None:
        """Delete the Nodes of lost machines. Raises RunError if Nodes of others have names of planned machines."""
        await self._opened.wait()
        if self._records is None:
            raise pulumi.RunError("the program failed before it could ask the machines")
        await self._records.known()
        try:
            for name in await joined_nodes.clear(api, self._plan, self._records):
                pulumi.log.info(f"{name}: its instance is gone, so its Node was deleted", self)
        except joined_nodes.Taken as error:
            raise pulumi.RunError(
                f"existing_cluster: Nodes of the cluster that are no machines of this stack have names of its machines:"
                f" {error}. Nothing was changed. Give the pool another name, whose Nodes are called POOL-0, POOL-1 and"
                " so on; or, if such a Node is left of a machine that is gone, run: kubectl delete node NAME"
            ) from error


def _access(cluster: ExistingCluster) -> Access | None:
    """Return the way to the API by the user's kubeconfig. Its server must have a certificate of the stack's authority.

    Raises RunError in `up` if there is no usable kubeconfig; None in a preview, which calls no API.
    """
    try:
        found = read(os.environ.get(VARIABLE, ""))
    except Unusable as error:
        if pulumi.runtime.is_dry_run():
            return None
        raise pulumi.RunError(
            f"existing_cluster: {error}. Set {VARIABLE} to a kubeconfig of the cluster's administrator, by which the"
            " program creates a bootstrap token and drains nodes"
        ) from None
    return replace(found, url=simulation.api() or found.url, ca_certificate=cluster.ca)
