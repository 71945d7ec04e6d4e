"""Lookups of an existing network: what differs from the stack file, or does not let machines reach what they need.

They run in the preview too, so that a wrong network is refused before anything is created.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import IPv4Network
from typing import Any, cast

import pulumi
from pulumi import Output

from components.rollout.provider_calls import ProviderCalls, ProviderError
from components.spec.models import ClusterSpec, ExistingNetwork

_ABSENT = re.compile(r"\bno (\w+ )+found|not ?found|could(n't| not) (be )?f(i|ou)nd", re.IGNORECASE)
"""Matches the providers' messages about an object that does not exist, or that the caller cannot see: "no matching EC2
VPC found" (terraform-provider-aws, tfresource.SingularDataSourceFindError), "No hosted zone found" (Route 53), "... was
not found" (Compute Engine, Azure Resource Manager), "Resource group ... could not be found"."""


_SEVERAL = re.compile(r"\bmultiple \w+( \w+)* matched")
"""Matches the provider's message about several objects (terraform-provider-aws, SingularDataSourceFindError)."""


class Lookups:
    """Lookups of one existing network, and what is wrong with it."""

    def __init__(self, parent: pulumi.Resource, version: str, spec: ClusterSpec) -> None:
        """parent: the resource whose provider is asked. version: of the cloud's SDK."""
        self.spec, self._parent, self._problems = spec, parent, list[str]()
        self._calls = ProviderCalls(parent, version)

    @property
    def existing(self) -> ExistingNetwork:
        """The network as the stack file describes it. Raises ValueError if it describes none."""
        if self.spec.network.existing is None:
            raise ValueError("the stack file names no existing network")
        return self.spec.network.existing

    async def find(
        self, path: str, what: str, token: str, arguments: dict[str, Any], create: str = ""
    ) -> dict[str, Any]:
        """Return the result of a provider function; empty, with a problem at the path, if it fails.

        create: what to do if the object does not exist.
        """
        try:
            return await self._calls.invoke(token, arguments)
        except ProviderError as error:
            absent = _ABSENT.search(str(error))
            if absent:
                reason = f"{what} does not exist in this account and region, or these credentials cannot see it"
            else:
                reason = f"{what} cannot be looked up: {error}"
            known = "write the id of one that exists, or give these credentials the right to read it"
            self.wrong(path, reason, f"{known}; or {create}" if absent and create else known)
            return {}

    async def optional(self, token: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of a provider function; None if it fails."""
        try:
            return await self._calls.invoke(token, arguments)
        except ProviderError:
            return None

    async def only(self, token: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of a function that finds one object: empty if several match, None if it fails otherwise."""
        try:
            return await self._calls.invoke(token, arguments)
        except ProviderError as error:
            return {} if _SEVERAL.search(str(error)) else None

    def wrong(self, path: str, reason: str, fix: str) -> None:
        """Add a problem. path: below network.existing."""
        self._problems.append(f"network.existing.{path}: {reason}\n    {fix}")

    def warn(self, text: str) -> None:
        """Print a warning."""
        pulumi.warn(text, self._parent)

    def compare_range(self, index: int, found: str) -> None:
        """Add a problem unless a subnet has the range that the stack file says."""
        subnet = self.existing.subnets[index]
        if _version_4(found) and IPv4Network(found) != subnet.range:
            reason = f"{subnet.id} has the range {found}, not {subnet.range}"
            self.wrong(f"subnets.{index}.range", reason, f"write range: {found}")

    def refuse_overlaps(self, ranges: Iterable[str]) -> None:
        """Add a problem for each range of the network that overlaps pods or Services. Ranges of IPv6 overlap none."""
        for text in filter(_version_4, ranges):
            for name in ("pods", "services"):
                own: IPv4Network = getattr(self.spec.network, name)
                if own.overlaps(IPv4Network(text)):
                    reason = f"the network has the range {text}, which overlaps network.{name}, {own}"
                    self.wrong("network", reason, f"write another range in network.{name}")

    def finish(self) -> None:
        """Raise RunError with all problems, if there are any."""
        if self._problems:
            text = "\n  ".join(dict.fromkeys(self._problems))
            raise pulumi.RunError(f"the existing network does not fit; nothing was changed:\n  {text}")


def _version_4(text: str) -> bool:
    """Return whether a text is a range of IPv4: not of IPv6, and not empty as that of a subnet with IPv6 only."""
    return bool(text) and ":" not in text


def listed(document: dict[str, Any], member: str) -> list[dict[str, Any]]:
    """Return the objects in a member of a function's result; empty if it is missing."""
    return cast(list[dict[str, Any]], document.get(member) or [])


def looked_up(lookups: Lookups, look: Callable[[], Awaitable[list[str]]]) -> Output[list[str]]:
    """Return the zones that `look` finds; the output raises RunError if it finds problems."""

    async def zones() -> list[str]:
        found = await look()
        lookups.finish()
        return found

    return Output.from_input(asyncio.ensure_future(zones()))
