"""`exec` and `port-forward` over a WebSocket, with the API's subprotocol v4.channel.k8s.io.

The first byte of each message is its channel: 0 input (or the port's data), 1 output, 2 errors, 3 the status.
"""

from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from components.rollout.kubernetes_api import TIMEOUT, KubernetesApi

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

PROTOCOL = "v4.channel.k8s.io"
OUTPUT, PORT_DATA = 1, 0
"""Channels."""


def execute(api: KubernetesApi, pod: str, command: list[str]) -> str:
    """Return the standard output of a command in a pod. pod: its path."""
    query = urlencode([("stdout", "true"), ("stderr", "true"), *(("command", word) for word in command)])
    return _exchange(api.websocket(f"{pod}/exec?{query}", PROTOCOL), b"").get(OUTPUT, b"").decode(errors="replace")


def port_forward(api: KubernetesApi, pod: str, port: int, sent: bytes) -> str:
    """Return the answer of a pod's port to these bytes. pod: its path."""
    connection = api.websocket(f"{pod}/portforward?ports={port}", PROTOCOL)
    # the channel's first two bytes are the port's number
    return _exchange(connection, sent).get(PORT_DATA, b"")[2:].decode(errors="replace")


def _exchange(connection: "ClientConnection", sent: bytes) -> dict[int, bytes]:
    """Return what the API sends until it closes the connection, by channel. Raises TimeoutError after 10 s."""
    from websockets.exceptions import ConnectionClosed

    by_channel: dict[int, bytes] = {}
    with connection, suppress(ConnectionClosed):
        if sent:
            connection.send(bytes([0]) + sent)
        while True:
            message = connection.recv(timeout=TIMEOUT)
            content = message.encode() if isinstance(message, str) else message
            if content:
                by_channel[content[0]] = by_channel.get(content[0], b"") + content[1:]
    return by_channel
