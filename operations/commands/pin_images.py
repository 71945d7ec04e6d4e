"""`mullion pin images STACK`: the digests of the container images that a stack's machines start."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from components.node.mirrors import EVERY
from components.plan import plan_cluster
from components.plan.images import started_images
from components.spec.models import ClusterSpec
from components.stack_files.artifact_file import DEFAULT
from components.stack_files.stack import Stack
from operations.console.exits import Exit, Stop
from operations.downloads import entry_file, registry
from operations.stacks import stack_files
from operations.stacks.paths import REPOSITORY

AT_ONCE = 8
"""Maximum number of images that are looked up at the same time."""
_ANY = f"sha256:{'0' * 64}"


def pin(name: str, file: str | None) -> None:
    """Write the digest of each image of a stack to the file of entries: all of them, or none."""
    stack = stack_files.load(name)
    wanted, by_tag = images(stack)
    path = Path(file).absolute() if file else REPOSITORY / (stack.spec.artifacts.file or DEFAULT)
    there = entry_file.read(path)
    added = list(_resolved(stack.spec, wanted))
    entry_file.write(path, there, added)
    before = {each["image"]: each["digest"] for each in there if "image" in each}
    for each in added:
        old = before.get(each["image"], each["digest"])
        was = f", was {old}" if old != each["digest"] else ""
        print(f"pinned {each['image']}\n  {each['digest']}{was}\n  from {each['source']}")
    for each in by_tag:
        print(f"not pinned: {each}, because kubeadm {stack.spec.kubernetes} takes no digest for it")
    print(f"{len(added)} images in {path}")


def images(stack: Stack) -> tuple[dict[str, set[str]], list[str]]:
    """Return the operating systems by image without digest, and the images that machines start by tag in any case."""
    planned = plan_cluster(stack.name, stack.spec)
    groups = (planned.control_plane, *planned.pools)
    names: dict[str, set[str]] = {}
    for group in groups:
        for image in started_images(planned, group):
            if "@" in image and image.partition("@")[0] not in stack.spec.artifacts.images:
                continue  # the user's own configuration has it by digest
            names.setdefault(image.partition("@")[0], set()).add("windows" if group.os.is_windows else "linux")
    artifacts = stack.spec.artifacts.model_copy(update={"images": dict.fromkeys(names, _ANY)})
    whole = plan_cluster(stack.name, stack.spec.model_copy(update={"artifacts": artifacts}))
    held = {image for group in (whole.control_plane, *whole.pools) for image in started_images(whole, group)}
    by_tag = sorted(names.keys() & held)
    return {image: systems for image, systems in sorted(names.items()) if image not in by_tag}, by_tag


def _resolved(spec: ClusterSpec, wanted: dict[str, set[str]]) -> Iterator[entry_file.Entry]:
    """Yield an entry for each image. Raises Stop (FAILED) if one has no digest."""

    def resolve(image: str) -> entry_file.Entry | str:
        try:
            digest, url = registry.digest(image, wanted[image], _mirrors(spec, image))
        except registry.NoDigest as error:
            return f"{image}: {error}"
        return {"image": image, "digest": digest, "source": url}

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(resolve, wanted))
    if failed := [each for each in found if isinstance(each, str)]:
        raise Stop(Exit.FAILED, "\n".join([*failed, "Nothing was pinned"]))
    yield from (each for each in found if isinstance(each, dict))


def _mirrors(spec: ClusterSpec, image: str) -> list[str]:
    """Return the mirrors that machines ask for an image, in order, each once."""
    host = registry.Image.of(image).registry
    groups = (spec.control_plane, *spec.pools.values())
    options = (group.containerd.mirrors for group in groups)
    return list(dict.fromkeys(url for each in options for url in each.get(host, each.get(EVERY, []))))
