"""Workarounds for limits of the Pulumi SDK with a thousand machines (tried with 3.272).

For each `depends_on` the SDK walks all earlier dependencies recursively: a chain of a thousand machines takes minutes
and then overflows the stack. A dependency that has only a URN ends the walk, and the engine sees the same dependency.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pulumi
from pulumi.resource import DependencyResource
from pulumi.runtime import settings

_Result = TypeVar("_Result")
_threads = ThreadPoolExecutor(16, thread_name_prefix="mullion")


async def run_in_thread(call: Callable[..., _Result], *arguments: Any) -> _Result:
    """Run a hook's blocking call in a separate thread pool: the SDK's threads may all wait for the engine, which waits
    for the hook.
    """
    return await asyncio.get_running_loop().run_in_executor(_threads, call, *arguments)


async def is_known(resource: pulumi.Resource) -> bool:
    """Return whether the engine has answered the registration of a resource."""
    answer = asyncio.ensure_future(resource.urn.future())
    return bool((await asyncio.wait({answer}, timeout=0.1))[0])


def urn_dependency(resource: pulumi.Resource) -> pulumi.Output[pulumi.Resource]:
    """Return a `depends_on` entry with only the resource's URN; it resolves once the resource is registered."""

    async def dependency() -> pulumi.Resource:
        urn = await resource.urn.future()
        if urn is None:
            raise RuntimeError("a resource was registered without a URN")
        return DependencyResource(urn)

    async def known() -> bool:
        return True

    return pulumi.Output(set(), asyncio.ensure_future(dependency()), asyncio.ensure_future(known()))


def add_pending_rpc() -> None:
    """Add a pending RPC that ends at once, so that `wait_for_rpcs` waits for RPCs before it waits for outputs.

    While no RPC is pending, it looks at all outputs each time one resolves: quadratic in their number, which does not
    end with a thousand machines.
    """
    rpcs: list[Any] = settings._get_rpc_manager().rpcs  # noqa: SLF001 # pyright: ignore
    rpcs.append(asyncio.ensure_future(asyncio.sleep(0)))
