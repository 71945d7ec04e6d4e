"""Load balancers of a booted cluster: TCP forwarders at their planned addresses, to targets that pass health checks.

Without a healthy target they forward to all, as those of the clouds do (sources in sandbox/<cloud>/boot_services.py).
Health checks run every second, not every 30 as in the clouds.
"""

import asyncio
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

CHECK_SECONDS, CHECK_TIMEOUT, CONNECT_TIMEOUT = 1.0, 2.0, 3.0
"""Seconds between health checks; limits of one check, and of one connection to a target."""


@dataclass
class Forwarder:
    """One listener at one address."""

    address: str
    port: int
    check: dict[str, Any]
    """Health check: protocol, path, port, matcher."""
    targets: list[tuple[str, int]]
    healthy: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    listener: socket.socket | None = None
    """Socket to listen on instead of the address; connections to targets then come from `source`."""
    source: str = ""
    """With a listener: source address of connections; empty: the network's gateway."""
    _turn: "count[int]" = field(default_factory=count)

    @property
    def calls_from(self) -> tuple[str, int] | None:
        """Return the source address of connections, which the targets' security groups allow; None: the gateway's."""
        source = self.address if self.listener is None else self.source
        return (source, 0) if source else None

    def choose(self) -> list[tuple[str, int]]:
        """Return the targets to try in order; each call begins with the next one."""
        targets = [target for target in self.targets if target in self.healthy] or self.targets
        first = next(self._turn) % len(targets) if targets else 0
        return targets[first:] + targets[:first]


async def serve(forwarder: Forwarder) -> None:
    """Forward and check until cancelled."""
    # asyncio holds tasks weakly: without this set, a task whose one side has ended could be collected at any moment,
    # and both of its connections with it
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_forward(forwarder, reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listener = forwarder.listener or socket.create_server((forwarder.address, forwarder.port))
    async with await asyncio.start_server(connected, sock=listener):
        while True:
            # the target of a listener is a load balancer, which checks for itself
            targets = forwarder.targets if forwarder.listener is None else []
            checks = (_passes(forwarder.check, *target, forwarder.calls_from) for target in targets)
            passed = await asyncio.gather(*checks)
            forwarder.healthy = {target for target, passes in zip(targets, passed, strict=True) if passes}
            await asyncio.sleep(CHECK_SECONDS)


async def _forward(forwarder: Forwarder, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    opened = [writer]
    try:
        for target in forwarder.choose():
            with suppress(OSError, asyncio.TimeoutError):
                connecting = asyncio.open_connection(*target, local_addr=forwarder.calls_from)
                target_reader, target_writer = await asyncio.wait_for(connecting, CONNECT_TIMEOUT)
                opened.append(target_writer)
                await asyncio.gather(_copy(reader, target_writer), _copy(target_reader, writer))
                break
        for connection in opened:
            await _close(connection)
    finally:
        # a cancelled task awaits nothing: the other side may be gone with its network
        for connection in opened:
            connection.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the reader ends, then end the writer's side too."""
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
    """Return whether one health check succeeds; certificates are not verified, as by the clouds' load balancers."""
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
