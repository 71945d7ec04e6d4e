"""Searches of an account by a cluster's tag before a removal, with the stack's own provider and credentials."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from operations.clouds import cloud_tables
from operations.engine.scratch_stack import passing

Resource = dict[str, Any]

PROVIDER = "pulumi:providers:aws"
_SETTINGS = {PROVIDER: ("region", "profile"), "pulumi:providers:gcp": ("project", "region")}
"""Inputs of providers that say where a cluster is, by type; none holds a secret."""

Look = Callable[[Any, Any, str], Awaitable[None]]
"""Searches. Gets the module of the cloud (operations/clouds), a parent resource, and the key of the cluster's tag."""


def run(name: str, cluster: str, resources: list[Resource], look: Look, *, sandbox: bool) -> None:
    """Run a search once, in a program of the engine. Raises what the engine raises if it fails."""
    cloud = cloud_tables.of(resources)

    def program() -> None:
        import pulumi

        from components.aws.cloud_controller import CLUSTER_TAG

        provider = cloud_tables.provider(cloud.name)
        parent = pulumi.ComponentResource("mullion:index:Search", name)

        async def done() -> bool:
            await look(provider, parent, f"{CLUSTER_TAG}{cluster}")
            return True

        pulumi.export("done", pulumi.Output.from_input(asyncio.ensure_future(done())))

    with passing(name, program, sandbox=sandbox, settings=_settings(resources)) as stack:
        stack.up(show_secrets=False, color="never")


def _settings(resources: list[Resource]) -> dict[str, str]:
    """Return where the provider that made a state's resources works."""
    made = next((each for each in resources if each["type"] in _SETTINGS), None)
    if made is None:
        return {}
    given, package = made.get("inputs") or {}, made["type"].rpartition(":")[2]
    return {f"{package}:{key}": given[key] for key in _SETTINGS[made["type"]] if isinstance(given.get(key), str)}
