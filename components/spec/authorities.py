"""What `rotation.certificate_authorities` means: three numbers for each rotation of the authorities (docs/pki.md).

Generation 0 is the authorities that the cluster began with. 0: generation 0 is trusted and signs. 1: generation 1 is
trusted too. 2: it signs, and 0 is still trusted. 3: only generation 1 is trusted. 4 to 6 bring generation 2.
"""

from enum import Enum
from typing import NamedTuple

NUMBERS = 3
"""Numbers of one rotation."""

KUBERNETES = "kubernetes"
"""kubeadm's common name of the cluster's authority."""


def of_generation(first: str, generation: int) -> str:
    """Return the name of a generation's authority, or of its place in the state; first: that of generation 0.

    Each generation has its own common name: programs tell by the issuer's name which authority signed a certificate.
    """
    return f"{first}-{generation}" if generation else first


class Stage(Enum):
    """Stage of a rotation."""

    SETTLED = "settled"
    """One authority is trusted, and signs."""
    TRUST = "trust"
    """Its successor is trusted too."""
    SIGN = "sign"
    """The successor signs; the old authority is still trusted."""


class Authorities(NamedTuple):
    """Authorities of a cluster by generation."""

    number: int
    """`rotation.certificate_authorities`."""

    @property
    def settled(self) -> int:
        """The generation that signed and was alone when this rotation began; new workers pin it."""
        return self.number // NUMBERS

    @property
    def stage(self) -> Stage:
        """The stage of the rotation."""
        return list(Stage)[self.number % NUMBERS]

    @property
    def trusted(self) -> tuple[int, ...]:
        """Trusted generations; the first one signs."""
        old = self.settled
        return {Stage.SETTLED: (old,), Stage.TRUST: (old, old + 1), Stage.SIGN: (old + 1, old)}[self.stage]

    @property
    def signer(self) -> int:
        """The generation that signs."""
        return self.trusted[0]

    @property
    def newest(self) -> int:
        """The newest generation that exists."""
        return max(self.trusted)

    def refusal(self, before: int) -> str:
        """Return why a cluster with the number `before` cannot get this one; "" if it can.

        One step at a time, because each number's machines accept those of the numbers beside it alone. Back only from
        the second number of a rotation to its first: later, machines have ceased to trust the old authority; earlier,
        the successor would be deleted, and machines still trust it and may have certificates of it.
        """
        if self.number > before + 1:
            return (
                f"from {before} to {self.number} is more than one step; write {before + 1}, and wait for all machines"
            )
        if self.number < before and Authorities(before).stage is Stage.SIGN:
            back = before - 1
            return "" if self.number == back else f"from {before} to {self.number} is more than one step; write {back}"
        if self.number < before:
            return f"{before} has no way back: write {before}, or go on to {before + 1}"
        return ""

    def member(self, file: str) -> str:
        """Return the member of the secret `pki` with a file of this stage."""
        return f"{self.number}/{file}" if self.number else file
