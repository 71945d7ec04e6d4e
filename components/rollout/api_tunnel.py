"""The way to a private API: directly where its name resolves and answers, else by a tunnel to a control plane."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from components.plan import ClusterPlan, Machine
from components.rollout import session_commands
from components.rollout.kubernetes_api import Access, KubernetesApi, Refused, Unreachable
from components.rollout.session_commands import MachinePlace
from components.rollout.tunnel import NoTunnel, Tunnel
from components.sdk.registration import run_in_thread
from components.spec.choices import ApiAccess, MachineAccess
from components.spec.models import ClusterSpec
from components.topology.firewall import API_PORT

DIRECT_SECONDS = 3.0
"""Longest wait for a direct connection."""


def uses_tunnel(spec: ClusterSpec) -> bool:
    """Return whether a cluster's API is reached by tunnel from outside its network."""
    return spec.access is MachineAccess.SESSION and spec.api.access is ApiAccess.PRIVATE


def answers_directly(url: str) -> bool:
    """Return whether something accepts connections at a URL's address. Blocks for at most DIRECT_SECONDS."""
    parts = urlsplit(url)
    with suppress(OSError), socket.create_connection((parts.hostname or "", parts.port or 443), DIRECT_SECONDS):
        return True
    return False


def open_tunnel(places: Sequence[MachinePlace], access: Access, before: Sequence[str] = ()) -> Tunnel:
    """Return a tunnel to the first control plane whose API answers. Blocks.

    before: words before the cloud's command; those of a sandbox start its stand-in. Raises NoTunnel with the reason for
    every control plane.
    """
    reasons: list[str] = []
    if places and not before and (lacking := session_commands.missing(places[0].cloud)):
        raise NoTunnel(lacking)
    for place in places:
        try:
            tunnel = Tunnel(lambda port, place=place: [*before, *session_commands.forward(place, API_PORT, port)])
        except NoTunnel as error:
            reasons.append(f"{place.instance}: {error}")
            continue
        try:
            KubernetesApi(replace(access, url=tunnel.url)).ask("GET", "/version")
        except Refused:
            return tunnel
        except Unreachable as error:
            reasons.append(f"{place.instance}: {error} {tunnel.output()}".strip())
            tunnel.close()
        else:
            return tunnel
    reasons += dict.fromkeys(place.hint for place in places if place.hint and not before)
    raise NoTunnel("no tunnel to a control plane: " + ("; ".join(reasons) or "no control plane runs"))


class ApiTunnel:
    """The way of one run to a cluster's private API. The first call opens the tunnel; it ends with this process."""

    def __init__(
        self, plan: ClusterPlan, place: Callable[[Machine], Awaitable[MachinePlace | None]], before: Sequence[str]
    ) -> None:
        """place: returns where a machine is; None if it does not run. before: see `open_tunnel`."""
        self._machines = plan.control_plane.machines
        self._place, self._before = place, before
        self._lock = asyncio.Lock()
        self._tunnel: Tunnel | None = None

    async def reached(self, access: Access) -> Access:
        """Return the access with a URL that answers here. Raises NoTunnel."""
        async with self._lock:
            if not self._before and not self._tunnel and await run_in_thread(answers_directly, access.url):
                return access
            if self._tunnel is None or not self.is_open:
                found = await asyncio.gather(*map(self._place, self._machines))
                places = [place for place in found if place]
                self._tunnel = await run_in_thread(open_tunnel, places, access, self._before)
            return replace(access, url=self._tunnel.url)

    @property
    def is_open(self) -> bool:
        """Whether the tunnel is open."""
        return self._tunnel is not None and self._tunnel.is_open

    def drop(self) -> None:
        """Close the tunnel, because the API behind it does not answer; the next call opens another."""
        if self._tunnel:
            self._tunnel.close()
            self._tunnel = None
