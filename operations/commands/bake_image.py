"""`mullion image bake`: bake a golden image of a Windows pool, and write it into the stack file.

The images of a stack are resources of a Pulumi stack of their own, in the same backend: its program names the images
to keep, so the engine deletes the others, and a builder that an earlier run left.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from importlib import import_module
from typing import Any

from pulumi import automation as auto

from components.plan import ClusterPlan, MachineGroup, plan_cluster
from components.spec import expiry
from components.spec.models import ClusterSpec, Egress
from components.stack_files.stack import Stack, refuse_unready
from components.wiring.baking import BUILD, CREATED, FOUND, IMAGE_TYPES, OS, PROJECT, BakedImage, Baking
from operations.commands import extend, pin_image
from operations.console.exits import Exit, Stop
from operations.engine import failures, locks, state
from operations.engine.scratch_stack import lasting
from operations.engine.workspace import backend, refuse_unusable
from operations.stacks import account, stack_files, target
from operations.stacks.edit import text_of

SUFFIX = "-image"
"""End of the names of builders and of their Pulumi stacks; it follows the name of the cluster's stack."""
SPARE = timedelta(hours=3)
"""Time from the longest wait for the builder to the expiry in its tags: the image itself takes up to 90 minutes."""
OWN_WAYS: Mapping[str, Callable[[ClusterSpec], object]] = {
    "network.existing": lambda spec: spec.network.existing,
    "network.egress: none": lambda spec: spec.network.egress is Egress.NONE,
    "proxy": lambda spec: spec.proxy,
}
"""Options by which machines reach downloads in another way than a builder."""
BUILDER = "mullion:{}:Builder"
"""Type of the component that is a builder, by cloud."""
LOST = "aws ec2 deregister-image --image-id {} --delete-associated-snapshots"
PLACEHOLDER = "ami-00000000000000000"


@dataclass(frozen=True)
class Wanted:
    """Options of the command line.

    keep: how many images of each system stay, besides those that the stack file names. pin: write the image into the
    stack file.
    """

    stack: str
    pool: str | None
    keep: int
    timeout: str
    pin: bool
    sandbox: bool
    yes: bool


def bake(wanted: Wanted) -> None:
    """Bake an image, remove the builder, delete old images, and pin the new one. Raises Stop if one of these fails."""
    stack = stack_files.load(wanted.stack)
    refuse_unready(stack)
    planned = plan_cluster(stack.name, stack.spec)
    group = _group(planned, wanted.pool)
    _refuse(planned)
    seconds = extend.seconds("--timeout", wanted.timeout)
    if wanted.pin:
        path = stack_files.file(stack.name)
        pin_image.with_image(text_of(path), group.os.value, PLACEHOLDER, path)  # an uneditable file, before it costs
    if not wanted.sandbox:
        refuse_unusable(stack.name)
    _ask(stack, group, wanted)
    baking = _baking(planned, group, expiry.now(), seconds, sandbox=wanted.sandbox)
    with failures.interruptible(), _opened(stack, sandbox=wanted.sandbox) as images:
        before = images.found()
        made = images.bake(baking, before)
        print(f"baked {made.id}, named {made.name}, of pool {group.name} ({group.os.value}, build {made.tags[BUILD]})")
        if wanted.pin:  # before older images are deleted: that may fail, and this one is good
            pin_image.set_image(stack, group.os, made.id)
        else:
            print(f"To use it, write into {stack_files.file(stack.name).name}: images: {{{group.os.value}: {made.id}}}")
        _tell(images.clean([*before, made], wanted.keep, set(stack.spec.images.values())))
        _tell_lost(images)


def clean(name: str, keep: int | None, *, sandbox: bool) -> None:
    """Remove a builder that an earlier run left, and a stack's old images. keep: as of Wanted; None: all stay."""
    stack = stack_files.load(name)
    if not sandbox:
        refuse_unusable(name)
    with failures.interruptible(), _opened(stack, sandbox=sandbox) as images:
        found = images.found()
        _tell(images.clean(found, len(found) if keep is None else keep, set(stack.spec.images.values())))
        _tell_lost(images)


def _tell(deleted: Sequence[BakedImage]) -> None:
    for each in deleted:
        print(f"deleted {each.id}, named {each.name}")


def _tell_lost(images: "_Images") -> None:
    for each in images.lost():
        print(
            f"warning: {each} has the tag of an image of this stack, and its state does not have it: a run that made it"
            f" was killed, or another backend has it. To delete it with its snapshots: {LOST.format(each)}",
            file=sys.stderr,
        )


def _group(planned: ClusterPlan, pool: str | None) -> MachineGroup:
    """Return the Windows pool of this name; without a name, the only one. Raises Stop if there is no such pool."""
    windows = {each.name: each for each in planned.machine_groups if each.family == "windows"}
    if pool is None and len(windows) == 1:
        return next(iter(windows.values()))
    if pool not in windows:
        known = f"its Windows pools are {', '.join(windows)}" if windows else "it has no Windows pool"
        said = f"stack {planned.name} has no Windows pool {pool!r}" if pool else "name a pool: --pool POOL"
        raise Stop(Exit.USAGE, f"{said}; {known}")
    return windows[pool]


def _refuse(planned: ClusterPlan) -> None:
    """Raise Stop if no builder can bake for this stack."""
    by_hand = "bake by hand: docs/images.md"
    if planned.spec.cloud.value not in IMAGE_TYPES:
        raise Stop(Exit.USAGE, f"mullion image bake builds no images on {planned.spec.cloud.value} yet; {by_hand}")
    if option := next((name for name, used in OWN_WAYS.items() if used(planned.spec)), ""):
        why = "the builder has a network of its own, so it may not reach the downloads"
        raise Stop(Exit.USAGE, f"stack {planned.name} has {option}: {why}; {by_hand}")


def _ask(stack: Stack, group: MachineGroup, wanted: Wanted) -> None:
    if not wanted.sandbox and not wanted.yes:
        what = f"one {group.size} with {group.disk_gb} GB in {stack.region}, for {wanted.timeout} at most, and an image"
        account.confirm(f"This creates {what}.")


def _baking(planned: ClusterPlan, group: MachineGroup, now: datetime, seconds: int, *, sandbox: bool) -> Baking:
    from components.wiring.tags import Tags

    name = f"{planned.name}{SUFFIX}"
    ends = expiry.written(now + timedelta(seconds=seconds) + SPARE)
    temporary = planned.spec.model_copy(update={"expires": ends, "protect": False})
    return Baking(
        planned,
        group,
        name,
        f"{planned.name}-{group.name}-{now:%Y%m%d-%H%M%S}",
        expiry.written(now),
        Tags.of(name, temporary, "").common,
        target.SANDBOX if sandbox else "cloud",
        seconds,
    )


@contextmanager
def _opened(stack: Stack, *, sandbox: bool) -> Iterator["_Images"]:
    """Yield the images of a stack. Raises Stop if another run changes them, or if they are in another region."""
    own = f"{stack.name}{SUFFIX}"
    with failures.reported(own), lasting(stack.name, own, PROJECT, sandbox=sandbox) as run:
        locks.cancel_dead(own, backend())
        images = _Images(own, stack.spec.cloud.value, run)
        if elsewhere := images.regions() - {stack.region}:
            there = ", ".join(sorted(elsewhere))
            raise Stop(
                Exit.REFUSED,
                f"the images of {stack.name} are in {there}, and its stack file says {stack.region}; nothing was "
                f"changed. Remove them first: write {there} and no `images` into the file, then "
                f"{target.command('image clean', stack.name)} --keep 0",
            )
        yield images


@dataclass(frozen=True)
class _Images:
    """The baked images of a stack, as resources of the Pulumi stack `name`."""

    name: str
    cloud: str
    run: auto.Stack
    deleted: list[BakedImage] = field(default_factory=list[BakedImage])
    """Those that `clean` has deleted."""

    def found(self) -> list[BakedImage]:
        """Return the images in the state, the oldest first."""
        rows = [each for each in state.resources(self.run) if each["type"] == IMAGE_TYPES[self.cloud]]
        images = [_image(each) for each in rows if not each.get("delete")]
        return sorted(images, key=lambda each: each.tags[CREATED])

    def regions(self) -> set[str]:
        """Return the regions of the images in the state: the fourth part of their ARNs."""
        rows = [each for each in state.resources(self.run) if each["type"] == IMAGE_TYPES[self.cloud]]
        return {arn.split(":")[3] for each in rows if (arn := str((each.get("outputs") or {}).get("arn") or ""))}

    def lost(self) -> list[str]:
        """Return the ids that the account had with the tag of this stack at the last run, and that no state has."""
        known = {each.id for each in self.found()}
        return sorted({*self.run.outputs()[FOUND].value} - known - {each.id for each in self.deleted})

    def bake(self, baking: Baking, before: Sequence[BakedImage]) -> BakedImage:
        """Return a new image. The builder is removed, also after a failure or a signal, which are raised then.

        before: the images in the state.
        """
        self._without_builder(before)  # of a killed run; its disk may be half baked
        try:
            self._up(baking, before)
            made = next(each for each in self.found() if each.name == baking.image)
        except (Exception, KeyboardInterrupt) as error:
            found = _explained(error)
            try:
                self._removed(before)
            except Stop as left:
                raise Stop(left.code, f"{found}\n{left}") from error
            raise found from None
        try:
            self._removed([*before, made])
        except Stop as left:
            raise Stop(left.code, f"baked {made.id}, named {made.name}, but the builder is left: {left}") from left
        return made

    def clean(self, found: Sequence[BakedImage], keep: int, pinned: Collection[str]) -> list[BakedImage]:
        """Remove a builder, and each system's images but the newest and the pinned ones. Return the deleted images."""
        by_system = {each.tags[OS]: [one for one in found if one.tags[OS] == each.tags[OS]] for each in found}
        newest = [each.id for images in by_system.values() for each in images[max(0, len(images) - keep) :]]
        kept = [each for each in found if each.id in {*newest, *pinned}]
        self._without_builder(found)  # first: an image that the cloud does not delete would keep it
        self._removed(kept)
        self.deleted.extend(each for each in found if each not in kept)
        return self.deleted

    def _without_builder(self, images: Sequence[BakedImage]) -> None:
        """Remove a builder, if the state has one. images: all in the state."""
        if any(each["type"] == BUILDER.format(self.cloud) for each in state.resources(self.run)):
            self._removed(images)

    def _removed(self, kept: Sequence[BakedImage]) -> None:
        """Remove the builder and the images that are not kept. Raises Stop if something is left."""
        with failures.holding("removing the builder; press again to leave it to `mullion image clean`"):
            try:
                self._up(None, kept)
            except Stop as error:
                again = target.command("image clean", self.name.removesuffix(SUFFIX))
                raise Stop(error.code, f"{error}\nNot all is removed; to remove the rest: {again}") from error

    def _up(self, baking: Baking | None, kept: Sequence[BakedImage]) -> None:
        """Create what the program has, delete what it lacks."""
        register = import_module(f"components.{self.cloud}.baking").register
        self.run.workspace.program = partial(register, self.name.removesuffix(SUFFIX), baking, kept)
        with failures.reported(self.name):
            self.run.up(show_secrets=False, color="never")


def _image(resource: dict[str, Any]) -> BakedImage:
    inputs = resource["inputs"]
    return BakedImage(inputs["name"], inputs["sourceInstanceId"], inputs["tags"], resource["id"])


def _explained(error: BaseException) -> BaseException:
    """Return the error to raise; that of an interruption names the command to continue, which this is not."""
    if isinstance(error, KeyboardInterrupt) or (isinstance(error, Stop) and error.code is Exit.INTERRUPTED):
        return Stop(Exit.INTERRUPTED, "interrupted: no image was made")
    return error
