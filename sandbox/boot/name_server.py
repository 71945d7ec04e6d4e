"""Name server of a booted cluster's network: the private zones of its world, and the names of the cloud's services.

It knows addresses (A) only, and asks nobody else.
"""

import asyncio
import struct
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any

from sandbox.boot.cloud_services import services_of
from sandbox.cloud_state import CloudState

MIRROR = "mirror.sandbox.internal"
A, IN = 1, 1
_ANSWER, _NO_SUCH_NAME, _TTL = 0x8580, 0x8583, 5
"""Flags: a response with authority, recursion there; the second with code NXDOMAIN. Seconds an answer is good for."""


def addresses(cloud_state: CloudState, name: str, services: str) -> list[str] | None:
    """Return all addresses of a name; None if it does not exist. services: address of the cloud's services."""
    cloud_services = services_of(cloud_state)
    if name == MIRROR or cloud_services.services.fullmatch(name):
        return [services]
    return cloud_services.names(cloud_state, name)


def answer(question: bytes, find: Callable[[str], list[str] | None]) -> bytes:
    """The answer to one DNS message (RFC 1035, 4.1). ValueError where it is not one question."""
    number, _, questions = struct.unpack_from(">HHH", question)
    if questions != 1:
        raise ValueError(f"{questions} questions in one message")
    labels: list[str] = []
    at = 12
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    kind, _ = struct.unpack_from(">HH", question, at + 1)
    found = find(".".join(labels).lower())
    given = [IPv4Address(each).packed for each in found or []] if kind == A else []
    flags = _NO_SUCH_NAME if found is None else _ANSWER
    head = struct.pack(">HHHHHH", number, flags, 1, len(given), 0, 0)
    # 0xC00C: the name that stands at byte 12
    body = b"".join(struct.pack(">HHHIH", 0xC00C, A, IN, _TTL, 4) + address for address in given)
    return head + question[12 : at + 5] + body


class Names(asyncio.DatagramProtocol):
    """The server."""

    def __init__(self, find: Callable[[str], list[str] | None]) -> None:
        self._find = find

    def connection_made(self, transport: Any) -> None:
        """Keep the way back."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Answer; what is no question is not answered."""
        try:
            self._transport.sendto(answer(data, self._find), addr)
        except (ValueError, IndexError, struct.error):
            return
