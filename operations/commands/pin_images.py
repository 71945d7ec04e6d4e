"""`mullion pin images STACK`: the digests of the container images that a stack's machines start."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from components.node.mirrors import EVERY
from components.plan import ClusterPlan, plan_cluster
from components.plan.images import started_images
from components.spec.models import ClusterSpec
from components.spec.report import SpecError
from components.stack_files.artifact_file import DEFAULT, is_image
from components.stack_files.stack import CLUSTER
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
    wanted, by_tag = images(plan_cluster(stack.name, stack.spec))
    path = Path(file).absolute() if file else REPOSITORY / (stack.spec.artifacts.file or DEFAULT)
    there = entry_file.read(path)
    found = _resolved(stack.spec, wanted)
    added: list[entry_file.Entry] = [
        {"image": image, "digest": each.digest, "source": each.url} for image, each in found.items()
    ]
    entry_file.write(path, there, added)
    before = {each["image"]: each["digest"] for each in there if is_image(each)}
    for each in added:
        old = before.get(each["image"], each["digest"])
        was = f", was {old}" if old != each["digest"] else ""
        print(f"pinned {each['image']}\n  {each['digest']}{was}\n  from {each['source']}")
    for image in (image for image, each in found.items() if not each.confirmed):
        print(
            f"warning: only a mirror gave the digest of {image}, and its writers could have chosen it: compare it with "
            f"{registry.Image.of(image).registry} from a network that reaches it"
        )
    if sharing := _sharing(name, path):
        print(f"{path} is also read by: {', '.join(sharing)}; their next `up` uses the same digests")
    for each in by_tag:
        print(f"not pinned: {each}, because kubeadm {stack.spec.kubernetes} takes no digest for it")
    print(f"{len(added)} images in {path}")


def images(planned: ClusterPlan) -> tuple[dict[str, set[str]], list[str]]:
    """Return the operating systems by image without digest, and the images that machines always start by tag."""
    names: dict[str, set[str]] = {}
    for group in planned.machine_groups:
        for image in started_images(planned, group):
            if "@" in image and image.partition("@")[0] not in planned.spec.artifacts.images:
                continue  # the user's own configuration already names its digest
            names.setdefault(image.partition("@")[0], set()).add("windows" if group.os.is_windows else "linux")
    artifacts = planned.spec.artifacts.model_copy(update={"images": dict.fromkeys(names, _ANY)})
    whole = plan_cluster(planned.name, planned.spec.model_copy(update={"artifacts": artifacts}))
    held = {image for group in (whole.control_plane, *whole.pools) for image in started_images(whole, group)}
    by_tag = sorted(names.keys() & held)
    return {image: systems for image, systems in sorted(names.items()) if image not in by_tag}, by_tag


def _resolved(spec: ClusterSpec, wanted: dict[str, set[str]]) -> dict[str, registry.Found]:
    """Return the digest of each image. Raises Stop (FAILED) if one has none."""

    def resolve(image: str) -> registry.Found | str:
        try:
            return registry.digest(image, wanted[image], _mirrors(spec, image))
        except registry.NoDigest as error:
            return f"{image}: {error}"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(wanted, pool.map(resolve, wanted), strict=True))
    if failed := [each for each in found.values() if isinstance(each, str)]:
        raise Stop(Exit.FAILED, "\n".join([*failed, "Nothing was pinned"]))
    return {image: each for image, each in found.items() if not isinstance(each, str)}


def _sharing(name: str, path: Path) -> list[str]:
    """Return the other stacks of the clone that read this file of entries."""
    shared: list[str] = []
    for other in stack_files.names():
        try:
            artifacts = (stack_files.written(other).get(CLUSTER) or {}).get("artifacts") or {}
            read = artifacts.get("file") or DEFAULT
        except (AttributeError, ValueError, OSError, Stop, SpecError):
            continue  # the stack's own commands say what is wrong with its file
        if other != name and (REPOSITORY / str(read)).resolve() == path.resolve():
            shared.append(other)
    return shared


def _mirrors(spec: ClusterSpec, image: str) -> list[str]:
    """Return the mirrors that machines ask for an image, in order, each once."""
    host = registry.Image.of(image).registry
    groups = (spec.control_plane, *spec.pools.values())
    options = (group.containerd.mirrors for group in groups)
    return list(dict.fromkeys(url for each in options for url in each.get(host, each.get(EVERY, []))))
