"""Name server of a booted cluster's network: the private zones of the cloud state, and names of the cloud's services.

It answers address records (A) only, and forwards nothing.
"""

import asyncio
import struct
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any

from sandbox.boot.cloud_services import services_of
from sandbox.cloud_state import CloudState

MIRROR = "mirror.sandbox.internal"
NOWHERE = "203.0.113.1"
"""Address (RFC 5737, documentation) of services that machines have no way to: as public ones, it answers nothing."""
A, IN = 1, 1
_ANSWER, _NO_SUCH_NAME, _TTL = 0x8580, 0x8583, 5
"""Flags: authoritative response with recursion available; the same with code NXDOMAIN. Time to live in seconds."""


def addresses(cloud_state: CloudState, name: str, services: str) -> list[str] | None:
    """Return all addresses of a name; None if it does not exist. services: address of the cloud's services."""
    cloud_services = services_of(cloud_state)
    if name == MIRROR:
        return [services]
    if cloud_services.services.fullmatch(name):
        return [services if cloud_services.reached(cloud_state, name) else NOWHERE]
    return cloud_services.names(cloud_state, name)


def answer(question: bytes, find: Callable[[str], list[str] | None]) -> bytes:
    """Return the answer to a DNS message (RFC 1035, 4.1). Raises ValueError unless it holds one question."""
    number, _, questions = struct.unpack_from(">HHH", question)
    if questions != 1:
        raise ValueError(f"{questions} questions in one message")
    labels: list[str] = []
    at = 12
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    kind, _ = struct.unpack_from(">HH", question, at + 1)
    addresses = find(".".join(labels).lower())
    packed = [IPv4Address(address).packed for address in addresses or []] if kind == A else []
    flags = _NO_SUCH_NAME if addresses is None else _ANSWER
    head = struct.pack(">HHHHHH", number, flags, 1, len(packed), 0, 0)
    # 0xC00C: pointer to the name at byte 12
    body = b"".join(struct.pack(">HHHIH", 0xC00C, A, IN, _TTL, 4) + address for address in packed)
    return head + question[12 : at + 5] + body


class Names(asyncio.DatagramProtocol):
    """The name server's UDP protocol."""

    def __init__(self, find: Callable[[str], list[str] | None]) -> None:
        self._find = find

    def connection_made(self, transport: Any) -> None:
        """Keep the transport for answers."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Answer a question; ignore other messages."""
        try:
            self._transport.sendto(answer(data, self._find), addr)
        except (ValueError, IndexError, struct.error):
            return
