"""A copy of the clone, in which tests run the command as a person does: in processes of its own."""

from pathlib import Path

from operations import agreement, clouds
from operations.engine import Engine
from operations.replica import Replica
from sandbox.boot.around import of


class Clone(Replica):
    """A copy for one stack, aws-ci unless another is named."""

    def __init__(self, folder: Path, engine: Engine, stack: str = "aws-ci") -> None:
        super().__init__(folder, engine, stack)

    def built(self) -> "Clone":
        """The same, with its cluster built."""
        up = self.up()
        assert up.returncode == 0, up.stderr
        return self

    @property
    def cloud(self) -> clouds.Cloud:
        """The stack's."""
        return clouds.CLOUDS[self.document()["cloud"]]

    def store(self, purpose: str) -> str:
        """The bucket of the world for this (bundles, snapshots), as machines are told."""
        with self.world() as world:
            machines = of(world).machines
            documents = filter(None, (machines.document(each.inputs) for each in of(world).records(world)))
            urls = (each["facts"].get(f"{purpose.removesuffix('s')}_store") for each in documents)
            return machines.place(f"{next(filter(None, urls))}/x")[0]

    def machines(self) -> dict[str, str]:
        """What instances in the world call themselves, by name."""
        cloud = self.cloud
        with self.world() as world:
            return {
                each.name.removeprefix(f"{self.stack}-"): str({**each.outputs, "id": each.id}[cloud.instance])
                for each in world.resources(cloud.machine)
            }

    def differences(self) -> agreement.Disagreement:
        """Where state and world differ."""
        return agreement.compare(self.resources(), agreement.in_sandbox(self.sandbox / "world.db"))
