"""`exec` and `port-forward` over a websocket, as the API offers them (subprotocol v4.channel.k8s.io).

Frames are RFC 6455's; the first byte of each message is the channel: 0 in, 1 out, 2 errors, 3 the status.
"""

import os
import socket
import struct
from urllib.parse import urlencode

from components.rollout.kubernetes_api import KubernetesApi

PROTOCOL = "v4.channel.k8s.io"
OUTPUT, PORT_DATA = 1, 0
BINARY, CLOSE = 2, 8
FINAL, MASKED = 0x80, 0x80


def execute(api: KubernetesApi, pod: str, command: list[str]) -> str:
    """What a command in a pod writes. pod: its path."""
    query = urlencode([("stdout", "true"), ("stderr", "true"), *(("command", each) for each in command)])
    return _exchange(api.upgraded(f"{pod}/exec?{query}", PROTOCOL), b"").get(OUTPUT, b"").decode(errors="replace")


def forwarded(api: KubernetesApi, pod: str, port: int, sent: bytes) -> str:
    """What a port of a pod answers. pod: its path."""
    stream = api.upgraded(f"{pod}/portforward?ports={port}", PROTOCOL)
    # the first two bytes say which port it is
    return _exchange(stream, sent).get(PORT_DATA, b"")[2:].decode(errors="replace")


def _exchange(stream: socket.socket, sent: bytes) -> dict[int, bytes]:
    """All that comes, by channel, until the other side ends; OSError where it is silent."""
    found: dict[int, bytes] = {}
    with stream:
        if sent:
            stream.sendall(frame(bytes([0]) + sent))
        with stream.makefile("rb") as coming:
            while (head := coming.read(2)) and head[0] & 0xF != CLOSE:
                size = head[1] & 0x7F
                if size > 125:
                    size = int.from_bytes(coming.read(2 if size == 126 else 8), "big")
                message = coming.read(size)
                if message:
                    found[message[0]] = found.get(message[0], b"") + message[1:]
    return found


def frame(message: bytes) -> bytes:
    """A client's message of less than 64 KiB; clients mask theirs."""
    mask = os.urandom(4)
    size = bytes([MASKED | len(message)]) if len(message) < 126 else struct.pack(">BH", MASKED | 126, len(message))
    return bytes([FINAL | BINARY]) + size + mask + bytes(each ^ mask[at % 4] for at, each in enumerate(message))
