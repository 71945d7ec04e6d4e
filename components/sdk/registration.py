"""Workarounds for limits of the Pulumi SDK in large clusters (3.272, tried with a thousand machines).

Long chains: for each `depends_on` the SDK visits all resources before it, recursively. A chain of a thousand machines
takes minutes and then overflows the stack. A stand-in that has only the URN ends the visit at the next link, and the
engine sees the same dependency.
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


async def aside(call: Callable[..., _Result], *arguments: Any) -> _Result:
    """Run a blocking call of a hook in a separate thread pool.

    All threads of the SDK's pool may wait for the engine, which waits for the hook.
    """
    return await asyncio.get_running_loop().run_in_executor(_threads, call, *arguments)


def after(resource: pulumi.Resource) -> pulumi.Output[pulumi.Resource]:
    """Return a stand-in of a resource for `depends_on`, for long chains; it resolves once the resource is
    registered.
    """

    async def stand_in() -> pulumi.Resource:
        urn = await resource.urn.future()
        if urn is None:
            raise RuntimeError("a resource was registered without a URN")
        return DependencyResource(urn)

    async def known() -> bool:
        return True

    return pulumi.Output(set(), asyncio.ensure_future(stand_in()), asyncio.ensure_future(known()))


def begin_registering() -> None:
    """Start registrations before the SDK waits for outputs.

    While no registration is in progress, `wait_for_rpcs` visits all outputs each time one resolves: a quadratic cost
    that a thousand machines never finish. One pending call, which only yields to the others, avoids it.
    """
    rpcs: list[Any] = settings._get_rpc_manager().rpcs  # noqa: SLF001 # pyright: ignore
    rpcs.append(asyncio.ensure_future(asyncio.sleep(0)))
