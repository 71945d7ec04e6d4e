"""What each cloud knows of this machine and keeps for it; how a request gets the machine's identity, loader.py says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from clouds import aws, azure, gcp

if TYPE_CHECKING:
    from run import Run


class Cloud(Protocol):
    """A module of this folder. Its functions raise OSError, ValueError or LookupError; who calls says what that is."""

    MACHINE: re.Pattern[str]
    """Of a providerID, what `gone` knows the machine by."""
    LISTING: tuple[str, re.Pattern[str]]
    """What follows a store's URL to list the keys with a prefix, and each key in the answer, escaped as in XML."""

    def instance(self) -> str:
        """The machine's own id: no other machine ever has it, also none of the same name."""
        ...

    def provider_id(self) -> str:
        """The machine as Kubernetes writes it (spec.providerID of a Node)."""
        ...

    def secret(self, run: Run, name: str) -> str:
        """A secret's text as the cloud has it now."""
        ...

    def put_secret(self, run: Run, name: str, text: str) -> None:
        """Gives a secret a new text."""
        ...

    def gone(self, run: Run, machine: str) -> bool:
        """The cloud has ended a machine for good, or has forgotten it; machine: its `instance`, or as in MACHINE."""
        ...


CLOUDS: dict[str, Cloud] = {"aws": aws, "gcp": gcp, "azure": azure}
"""By facts.cloud."""
