"""Free ports of 127.0.0.1."""

import random
import socket
from contextlib import suppress


def held_ports(count: int) -> list[socket.socket]:
    """Return sockets that hold ports of 127.0.0.1, below the system's ephemeral ports."""
    found: list[socket.socket] = []
    for port in random.sample(range(20000, 30000), 1000):
        with suppress(OSError):
            found.append(socket.create_server(("127.0.0.1", port)))
        if len(found) == count:
            break
    return found
