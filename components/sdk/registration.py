"""What large clusters need that the SDK does not do by itself (3.272, tried with a thousand machines).

Chains of any length: for each `depends_on` the SDK walks everything that stands before it, recursively: a chain of a
thousand machines would take minutes and then overflow the stack (tried: 3.272). A stand-in
that knows only the URN ends the walk at the next link, and the engine sees the same dependency.
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
    """Run a call that blocks, of a hook, in a thread of ours: all of the SDK's may be waiting for the engine, which
    waits for the hook.
    """
    return await asyncio.get_running_loop().run_in_executor(_threads, call, *arguments)


def urn_dependency(resource: pulumi.Resource) -> pulumi.Output[pulumi.Resource]:
    """What to put in `depends_on` for a link of a long chain: known once the resource is registered."""

    async def stand_in() -> pulumi.Resource:
        urn = await resource.urn.future()
        if urn is None:
            raise RuntimeError("a resource was registered without a URN")
        return DependencyResource(urn)

    async def known() -> bool:
        return True

    return pulumi.Output(set(), asyncio.ensure_future(stand_in()), asyncio.ensure_future(known()))


def add_pending_rpc() -> None:
    """Let registrations begin before the SDK starts to wait for outputs.

    While none is under way, `wait_for_rpcs` looks at all outputs each time one is done: the
    square of their number, which a thousand machines never finish. One call under way, which
    only lets the others begin, is enough.
    """
    rpcs: list[Any] = settings._get_rpc_manager().rpcs  # noqa: SLF001 # pyright: ignore
    rpcs.append(asyncio.ensure_future(asyncio.sleep(0)))
