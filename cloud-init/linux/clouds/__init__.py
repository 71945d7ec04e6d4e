"""A cloud's metadata, secrets and compute service as the machine uses them; loader.py signs the requests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from objects import Listing

from clouds import aws, azure, gcp

if TYPE_CHECKING:
    from run import Run


class Cloud(Protocol):
    """A module of this folder. Its functions raise OSError, ValueError or LookupError; callers raise Failure."""

    MACHINE: re.Pattern[str]
    """Pattern of a providerID; its group is the machine as `gone` expects it."""
    LISTING: Listing
    """How its stores list names."""

    def instance(self) -> str:
        """Return the machine's id, which is never reused, unlike its name."""
        ...

    def proof(self, run: Run, number: str) -> dict[str, str]:
        """Return fields that prove to the agent that this machine announced the number; empty where rights suffice."""
        ...

    def disproof(self, run: Run, announced: dict[str, Any], instance: str) -> str:
        """Return why the machine `instance` did not make an announcement {number, ...}; empty if it did."""
        ...

    def interrupted(self) -> bool:
        """Return whether the cloud has announced that it takes this machine back (spot capacity)."""
        ...

    def provider_id(self) -> str:
        """Return spec.providerID of the machine's Node."""
        ...

    def secret(self, run: Run, name: str) -> str:
        """Return the current text of a secret."""
        ...

    def put_secret(self, run: Run, name: str, text: str) -> None:
        """Store a new text for a secret."""
        ...

    def put_large(self, run: Run, url: str, content: memoryview, **condition: Any) -> None:
        """Write an object that is larger than objects.PART; it appears with its whole content, under the condition."""
        ...

    def gone(self, run: Run, machine: str) -> bool:
        """Return whether the cloud has deleted a machine for good; machine: its `instance`, or MACHINE's group."""
        ...

    def machines(self, run: Run, addresses: dict[str, str]) -> dict[str, str]:
        """Return ids of the cluster's machines by planned name; addresses: private address by planned name."""
        ...

    def names(self, run: Run, machine: str) -> frozenset[str]:
        """Return the names and addresses that a cloud controller adds to the Node of a machine; machine: its id."""
        ...

    def disk(self, run: Run, name: str) -> list[str]:
        """Return the paths at which the machine's further disk may appear, the surest first; name: the cloud's."""
        ...


CLOUDS: dict[str, Cloud] = {"aws": aws, "gcp": gcp, "azure": azure}
"""Module by facts.cloud."""
