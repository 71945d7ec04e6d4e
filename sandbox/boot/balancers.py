"""Load balancers of a booted cluster: TCP forwarders at their planned addresses, to targets that pass health checks.

As those of the clouds do, one without any healthy target forwards to all (sandbox/<cloud>/booted.py cite this). Its
checks come every second here, not every 30.
"""

import asyncio
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

CHECK_SECONDS, CHECK_TIMEOUT, CONNECT_TIMEOUT = 1.0, 2.0, 3.0


@dataclass
class Forwarder:
    """One listener at one address."""

    address: str
    port: int
    check: dict[str, Any]
    """How targets are checked: protocol, path, port, matcher."""
    targets: list[tuple[str, int]]
    healthy: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    listener: socket.socket | None = None
    """Where it listens instead of at its address: then it speaks for nobody, and calls from the network's own."""
    _turn: "count[int]" = field(default_factory=count)

    @property
    def calls_from(self) -> tuple[str, int] | None:
        """Its own address, which the targets' security groups know."""
        return (self.address, 0) if self.listener is None else None

    def choose(self) -> list[tuple[str, int]]:
        """Targets to try, the next in turn first."""
        open_to = [each for each in self.targets if each in self.healthy] or self.targets
        first = next(self._turn) % len(open_to) if open_to else 0
        return open_to[first:] + open_to[:first]


async def serve(forwarder: Forwarder) -> None:
    """Forward and check until cancelled."""
    # a loop holds what it listens to and no more: where one side has ended its half, nothing would hold the task that
    # waits for the other, and both connections would go with it at any moment
    held: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_forward(forwarder, reader, writer))
        held.add(task)
        task.add_done_callback(held.discard)

    here = forwarder.listener or socket.create_server((forwarder.address, forwarder.port))
    async with await asyncio.start_server(connected, sock=here):
        while True:
            asked = forwarder.targets if forwarder.listener is None else []  # behind a way in there is one that checks
            found = await asyncio.gather(*(_passes(forwarder.check, *each, forwarder.calls_from) for each in asked))
            forwarder.healthy = {each for each, good in zip(asked, found, strict=True) if good}
            await asyncio.sleep(CHECK_SECONDS)


async def _forward(forwarder: Forwarder, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    opened = [writer]
    try:
        for target in forwarder.choose():
            with suppress(OSError, asyncio.TimeoutError):
                connecting = asyncio.open_connection(*target, local_addr=forwarder.calls_from)
                there = await asyncio.wait_for(connecting, CONNECT_TIMEOUT)
                opened.append(there[1])
                await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))
                break
        for each in opened:
            await _close(each)
    finally:
        # where all of it is cancelled nothing is awaited any more: the other side may be gone with its network
        for each in opened:
            each.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side ends; then the other's writing ends too."""
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
        return
    writer.close()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _passes(check: dict[str, Any], address: str, port: int, calls_from: tuple[str, int] | None = None) -> bool:
    """Whether one health check succeeds; load balancers do not judge certificates."""
    protocol, path = check.get("protocol", "TCP"), check.get("path", "/")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    async def ask() -> bool:
        wrapped = context if protocol == "HTTPS" else None
        place = (address, int(check.get("port") or port))
        reader, writer = await asyncio.open_connection(*place, ssl=wrapped, local_addr=calls_from)
        try:
            if protocol == "TCP":
                return True
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
            status = (await reader.readline()).split()
            return len(status) > 1 and status[1].decode() == check.get("matcher", "200")
        finally:
            writer.transport.abort()

    with suppress(OSError, ValueError, asyncio.TimeoutError):
        return await asyncio.wait_for(ask(), CHECK_TIMEOUT)
    return False
