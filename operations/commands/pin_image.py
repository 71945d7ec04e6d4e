"""`mullion pin image POOL`: look up the newest machine image of a pool's system, and write it into the stack file."""

import tempfile
from pathlib import Path

import yaml

from components import releases
from components.spec.models import OperatingSystem
from components.stack_files.stack import CLUSTER, Stack, read_stack, stack_file_config
from operations.clouds import cloud_tables
from operations.console.exits import Exit, Stop
from operations.engine.scratch_stack import passing
from operations.stacks import stack_files, target
from operations.stacks.edit import node_at, text_of, write_whole

FOUND = "image"


def pin(name: str, pool: str, *, sandbox: bool) -> None:
    """Set `images.<os>` in the stack file to the provider's newest image. Nothing changes in the cloud."""
    stack = stack_files.load(name)
    groups = {"control-plane": stack.spec.control_plane, **stack.spec.pools}
    if pool not in groups:
        raise Stop(Exit.USAGE, f"stack {name} has no pool {pool!r}; it has {', '.join(groups)}")
    os = groups[pool].os.value
    if command := cloud_tables.CLOUDS[stack.spec.cloud.value].versions:
        image = releases.image(stack.spec.cloud.value, os)
        raise Stop(
            Exit.USAGE,
            f"the provider of {stack.spec.cloud.value} lists no versions of an image, so none was looked up. "
            f"Choose one ({command.format(*image.split(':'))}) and write into {stack_files.file(name).name}: "
            f"images: {{{os}: {image}:VERSION}}",
        )
    newest = look_up(name, os, sandbox=sandbox)
    if stack.spec.images.get(groups[pool].os) == newest:
        print(f"{os}: {stack_files.file(name).name} has the newest image already, {newest}")
        return
    set_image(stack, groups[pool].os, newest)


def set_image(stack: Stack, os: OperatingSystem, image: str) -> None:
    """Set `images.<os>` in the stack file, and print its pools. Raises Stop if the file cannot be edited in place."""
    path, before, spec = stack_files.file(stack.name), stack.spec.images.get(os), stack.spec
    _write_if_right(stack.name, path, with_image(text_of(path), os.value, image, path))
    groups = {"control-plane": spec.control_plane, **spec.pools}
    users = ", ".join(each for each, group in groups.items() if group.os is os)
    print(
        f"{os.value}: {before or 'the image of the first `up`'} -> {image} in {path.name}\nPools that use it: {users}. "
        f"`{target.command('preview', stack.name)}` shows which machines it replaces; "
        f"`{target.command('up', stack.name)}` replaces them."
    )


def look_up(name: str, os: str, *, sandbox: bool) -> str:
    """Return the newest image, by a program without resources on a temporary state."""
    cloud = stack_files.load(name).spec.cloud.value

    def program() -> None:
        import pulumi

        pulumi.export(FOUND, cloud_tables.provider(cloud).newest_image(os))

    with passing(name, program, sandbox=sandbox) as run:
        return run.up(show_secrets=False, color="never").outputs[FOUND].value


def with_image(text: str, os: str, image: str, path: Path) -> str:
    """Return the stack file's text with one image set and every other character unchanged.

    Raises Stop if the text cannot be edited in place.
    """
    cluster = node_at(yaml.compose(text, Loader=yaml.SafeLoader), "config", CLUSTER)
    by_hand = Stop(Exit.USAGE, f"{path.name} cannot be edited in place; add to {CLUSTER}: images: {{{os}: {image}}}")
    if not isinstance(cluster, yaml.MappingNode) or cluster.flow_style or not cluster.value:
        raise by_hand
    images = node_at(cluster, "images")
    if images is None:
        first = cluster.value[0][0].start_mark
        line = " " * first.column
        return f"{text[: first.index]}images: {{{os}: {image}}}\n{line}{text[first.index :]}"
    known = node_at(images, os)
    inside = cluster.start_mark.index <= images.start_mark.index and images.end_mark.index <= cluster.end_mark.index
    if not isinstance(images, yaml.MappingNode) or not images.value or not inside:
        raise by_hand
    if known is not None:
        return text[: known.start_mark.index] + image + text[known.end_mark.index :]
    first = images.value[0][0].start_mark
    follows = ", " if images.flow_style else "\n" + " " * first.column
    return f"{text[: first.index]}{os}: {image}{follows}{text[first.index :]}"


def _write_if_right(name: str, path: Path, text: str) -> None:
    """Write the stack file if its new text has no errors."""
    with tempfile.TemporaryDirectory() as scratch:
        tried = Path(scratch) / path.name
        tried.write_text(text, "utf-8")
        read_stack(name, stack_file_config(tried))
    write_whole(path, text.encode(), path.stat().st_mode)
