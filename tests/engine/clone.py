"""A copy of the clone, in which tests run the command in processes of its own."""

from pathlib import Path

from operations.chaos.clone import ScratchClone
from operations.clouds import cloud_tables
from operations.engine.locate import Engine
from operations.recovery import state_check
from sandbox.boot.cloud_services import services_of

from . import variants


class Clone(ScratchClone):
    """A copy for one stack of stacks/ or of variants.py, aws-ci by default."""

    def __init__(self, folder: Path, engine: Engine, stack: str = "aws-ci") -> None:
        super().__init__(folder, engine, stack, None if variants.has_file(stack) else variants.config(stack))

    def built(self) -> "Clone":
        """A copy with its cluster built."""
        up = self.up()
        assert up.returncode == 0, up.stderr
        return self

    @property
    def cloud(self) -> cloud_tables.Cloud:
        """The stack's cloud."""
        return cloud_tables.CLOUDS[self.document()["cloud"]]

    def store(self, purpose: str) -> str:
        """Return the URL of a bucket (bundles, snapshots), as machines get it."""
        with self.cloud_state() as cloud_state:
            cloud_services = services_of(cloud_state)
            machines = cloud_services.machines
            documents = filter(None, (machines.document(each.inputs) for each in cloud_services.records(cloud_state)))
            urls = (each["facts"].get(f"{purpose.removesuffix('s')}_store") for each in documents)
            return machines.place(f"{next(filter(None, urls))}/x")[0]

    def machines(self) -> dict[str, str]:
        """Return the instance ids in the sandbox, by machine name."""
        cloud = self.cloud
        with self.cloud_state() as cloud_state:
            return {
                machine.name.removeprefix(f"{self.stack}-"): str({**machine.outputs, "id": machine.id}[cloud.instance])
                for machine in cloud_state.resources(cloud.machine)
            }

    def differences(self) -> state_check.Disagreement:
        """Return where state and sandbox differ."""
        return state_check.compare(self.resources(), state_check.in_sandbox(self.sandbox / "world.db"))
