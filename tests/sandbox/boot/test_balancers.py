"""Load balancers of a booted cluster, on loopback."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sandbox.boot import balancers
from sandbox.boot.balancers import Forwarder

HTTP = {"protocol": "HTTP", "path": "/readyz", "matcher": "200"}


@asynccontextmanager
async def target(name: str, *, ready: bool) -> AsyncIterator[tuple[str, int]]:
    """Start a server that answers its name, and its readiness over HTTP; return its address."""
    handled: list[asyncio.Task[None]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if request := await reader.readline():
            code = 200 if ready and b"/readyz" in request else 500
            writer.write(f"HTTP/1.1 {code} -\r\n\r\n{name}".encode())
        await balancers._close(writer)

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handled.append(asyncio.create_task(handle(reader, writer)))

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()
    await asyncio.gather(*handled)


async def asked(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\n")
    said = (await reader.read()).decode()
    await balancers._close(writer)
    return said.rpartition("\n")[2]


async def served(forwarder: Forwarder, times: int) -> list[str]:
    """Return the names of answering targets after the first health checks."""
    serving = asyncio.create_task(balancers.serve(forwarder))
    try:
        for _ in range(200):
            await asyncio.sleep(0.02)
            if forwarder.healthy:
                break
        return [await asked(forwarder.port) for _ in range(times)]
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def free_port() -> int:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


def test_connections_go_in_turn_to_healthy_targets() -> None:
    async def run() -> list[str]:
        async with target("a", ready=True) as a, target("b", ready=False) as b, target("c", ready=True) as c:
            return await served(Forwarder("127.0.0.1", await free_port(), HTTP, [a, b, c]), 4)

    assert sorted(asyncio.run(run())) == ["a", "a", "c", "c"]


def test_without_a_healthy_target_all_are_tried() -> None:
    forwarder = Forwarder("127.0.0.1", 1, HTTP, [("127.0.0.1", 1), ("127.0.0.1", 2)])
    assert [sorted(forwarder.choose()) for _ in range(2)] == [forwarder.targets] * 2


def test_a_target_that_does_not_answer_fails_its_check() -> None:
    async def run() -> tuple[bool, bool, bool]:
        async with target("a", ready=False) as place:
            return (
                await balancers._passes(HTTP, *place),
                await balancers._passes({"protocol": "TCP"}, *place),
                await balancers._passes({"protocol": "TCP"}, "127.0.0.1", await free_port()),
            )

    assert asyncio.run(run()) == (False, True, False)


def test_a_forwarder_with_a_listener_forwards_without_health_checks() -> None:
    async def run() -> tuple[str, set[tuple[str, int]]]:
        listener = socket.create_server(("127.0.0.1", 0))
        async with target("a", ready=False) as place:
            forwarder = Forwarder("192.0.2.1", 6443, HTTP, [place], listener=listener)
            serving = asyncio.create_task(balancers.serve(forwarder))
            await asyncio.sleep(0)
            said = await asked(listener.getsockname()[1])
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            return said, forwarder.healthy

    assert asyncio.run(run()) == ("a", set())


def test_a_client_that_ended_its_half_still_gets_its_answer_after_garbage_collection() -> None:
    async def run() -> bytes:
        may_answer = asyncio.Event()
        handled: list[asyncio.Task[None]] = []

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if asked := await reader.read():  # up to the end of the stream, which the forwarder copies
                await may_answer.wait()
                writer.write(b"answer to " + asked)
            await balancers._close(writer)

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            handled.append(asyncio.create_task(handle(reader, writer)))

        port = await free_port()
        async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
            forwarder = Forwarder("127.0.0.1", port, {}, [server.sockets[0].getsockname()])
            serving = asyncio.create_task(balancers.serve(forwarder))
            while not forwarder.healthy:
                await asyncio.sleep(0.02)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"all of it")
            writer.write_eof()
            while len(handled) < 2:  # the health check's connection, and this one
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.2)
            gc.collect()
            may_answer.set()
            said = await reader.read()
            await balancers._close(writer)
            serving.cancel()
            await asyncio.gather(serving, *handled, return_exceptions=True)
        return said

    assert asyncio.run(run()) == b"answer to all of it"
