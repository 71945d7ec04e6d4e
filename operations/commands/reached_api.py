"""The way of commands to a cluster's API: at its address, or by a tunnel to a private one (`access: session`)."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from components.plan import ClusterPlan, Machine, plan_cluster
from components.rollout.session_commands import MachinePlace, azure_place, credentials_hint
from components.stack_files.stack import Stack
from operations.commands import joined, kubeconfig
from operations.console.exits import Exit, Stop
from operations.engine import state
from operations.stacks import boot_site, stack_files, target

if TYPE_CHECKING:
    from components.rollout.kubernetes_api import Access, KubernetesApi


def access(text: str) -> "Access":
    """Return address and keys in an administrator's kubeconfig. Raises Stop if it does not have them."""
    from components.rollout.own_kubeconfig import Unusable, parse

    try:
        return parse(text, "the kubeconfig")
    except Unusable as error:
        raise Stop(Exit.USAGE, str(error)) from error


def client(text: str) -> "KubernetesApi":
    """Return a client of the API at the address in a kubeconfig that Mullion wrote."""
    from components.rollout.kubernetes_api import KubernetesApi

    return KubernetesApi(access(text))


def place(stack: Stack, outputs: dict[str, Any]) -> MachinePlace:
    """Return where the cloud's session command finds a machine. outputs: of its instance in the state."""
    cloud = stack.spec.cloud.value
    if cloud == "aws":
        config = stack_files.config(stack.name)
        hint = credentials_hint(
            key.removeprefix("aws:") for key, value in config.items() if key.startswith("aws:") and value
        )
        return MachinePlace(cloud, outputs["id"], stack.region, profile=config.get("aws:profile") or "", hint=hint)
    if cloud == "azure":
        return azure_place(outputs["resource"], stack.name, stack.spec.network.existing)
    return MachinePlace(cloud, outputs["name"], outputs["project"], outputs["zone"])


class ReachedApi:
    """A cluster's API, from a host that may not be in the cluster's network."""

    def __init__(self, plan: ClusterPlan, text: str, resources: state.State) -> None:
        """text: kubeconfig of the administrator. resources: of the stack's state. Opens no connection yet."""
        from components.rollout.api_tunnel import ApiTunnel

        self._access = access(text)
        self._stack, self._machines = stack_files.load(plan.name), state.instances(resources)
        by_tunnel = tunnelled(plan)
        self._tunnel = ApiTunnel(plan, self._place, boot_site.sessions(plan.name)) if by_tunnel else None

    async def _place(self, machine: Machine) -> MachinePlace | None:
        found = self._machines.get(machine.name)
        return place(self._stack, found) if found else None

    async def access(self) -> "Access":
        """Return an access whose URL answers here. Raises NoTunnel."""
        return await self._tunnel.reached(self._access) if self._tunnel else self._access

    async def client(self) -> "KubernetesApi":
        """Return a client of the API. Raises NoTunnel."""
        from components.rollout.kubernetes_api import KubernetesApi

        return KubernetesApi(await self.access())

    @property
    def has_tunnel(self) -> bool:
        """Whether a tunnel is open."""
        return self._tunnel is not None and self._tunnel.is_open

    def close(self) -> None:
        """Close the tunnel, if one is open; the next call opens another."""
        if self._tunnel:
            self._tunnel.drop()


def tunnelled(plan: ClusterPlan) -> bool:
    """Return whether a stack's API may need a tunnel; an unbooted sandbox has no machine to open it to."""
    from components.rollout.api_tunnel import uses_tunnel

    return uses_tunnel(plan.spec) and (not target.in_sandbox(plan.name) or bool(boot_site.api(plan.name)))


@contextmanager
def opened(plan: ClusterPlan, text: str) -> Iterator[tuple[ReachedApi, str]]:
    """Yield the API, with a tunnel open if it needs one, and the kubeconfig with a server that answers here.

    Raises Stop if no tunnel can be opened.
    """
    from components.rollout.tunnel import NoTunnel

    with kubeconfig.built(plan.name) as run:
        api = ReachedApi(plan, text, state.resources(run))
    try:
        document = yaml.safe_load(text)
        document["clusters"][0]["cluster"]["server"] = asyncio.run(api.access()).url
        yield api, yaml.safe_dump(document, sort_keys=False)
    except NoTunnel as error:
        raise Stop(Exit.FAILED, f"the API of {plan.name} is private, and no tunnel to it opens: {error}") from error
    finally:
        api.close()


@contextmanager
def reached(name: str, text: str) -> Iterator[str]:
    """Yield the kubeconfig with a server that answers here, through a tunnel if needed. Raises Stop as `opened`."""
    plan = plan_cluster(name, stack_files.load(name).spec)
    if not tunnelled(plan):
        yield text
        return
    with opened(plan, text) as (_, here):
        yield here


@contextmanager
def administrator(name: str, own: Path | None) -> Iterator[str]:
    """Yield the user's own kubeconfig, or the administrator's with a server that answers here. Raises Stop."""
    if own:
        joins = stack_files.load(name).spec.existing_cluster
        yield joined.kubeconfig(name, own) if joins else own.read_text("utf-8")
        return
    with reached(name, kubeconfig.administrator(name)) as text:
        yield text


@contextmanager
def kept(name: str, text: str) -> Iterator[Path]:
    """Yield a file with the kubeconfig, mode 0600; remove it at the end."""
    path = target.folder(name) / f"kubeconfig-{os.getpid()}"
    target.write(path, text)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def for_command(name: str) -> Iterator[Path]:
    """Yield the administrator's kubeconfig that `up` wrote, or one through a tunnel if needed. Raises Stop as `opened`.

    The tunnel and its kubeconfig end with the block.
    """
    written = target.folder(name) / "kubeconfig"
    if not tunnelled(plan_cluster(name, stack_files.load(name).spec)):
        yield written
        return
    with reached(name, written.read_text("utf-8")) as text, kept(name, text) as path:
        yield path
