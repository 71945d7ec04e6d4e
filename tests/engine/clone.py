"""A copy of the clone, in which tests run the command as a person does: in processes of its own."""

from pathlib import Path

from operations import agreement
from operations.engine import Engine
from operations.replica import Replica


class Clone(Replica):
    """A copy for one stack, aws-ci unless another is named."""

    def __init__(self, folder: Path, engine: Engine, stack: str = "aws-ci") -> None:
        super().__init__(folder, engine, stack)

    def differences(self) -> agreement.Disagreement:
        """Where state and world differ."""
        return agreement.compare(self.resources(), agreement.in_sandbox(self.sandbox / "world.db"))
