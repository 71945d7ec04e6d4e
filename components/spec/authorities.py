"""What `rotation.certificate_authorities` means: three numbers for each rotation of the authorities (docs/pki.md).

Generation 0 is the authorities that the cluster began with. 0: generation 0 is trusted and signs. 1: generation 1 is
trusted too. 2: it signs, and 0 is still trusted. 3: only generation 1 is trusted. 4 to 6 bring generation 2.
"""

from enum import Enum
from typing import NamedTuple

NUMBERS = 3
"""Numbers of one rotation."""


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

        One step at a time, because each number's machines accept those of the numbers beside it alone; and not back
        over the end of a rotation, because machines have ceased to trust the old authority.
        """
        if abs(self.number - before) > 1:
            beside = before + 1 if self.number > before else before - 1
            return f"from {before} to {self.number} is more than one step; write {beside}, and wait for all machines"
        if self.number < before and self.stage is Stage.SIGN:
            return f"rotation {before // NUMBERS} has ended, and machines do not trust the authority before it any more"
        return ""

    def member(self, file: str) -> str:
        """Return the member of the secret `pki` with a file of this stage."""
        return f"{self.number}/{file}" if self.number else file
