"""`mullion render`: every file of every machine, written to a folder.

DIR/<pool>/plan.json        the node plan, readable
DIR/<pool>/bundle.zip       what its machines fetch, byte for byte
DIR/<pool>/bundle/...       the same, unpacked
DIR/<machine>/user-data     with <fact:name> where only the cloud knows the value

With --image, instead: DIR/<pool>/plan.json, image.zip and image/..., of Windows pools.
"""

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from components.machine import facts
from components.machine import user_data as userdata
from components.machine.bundle import Bundle, image_bundle
from components.node import baking
from components.node.plan import NodePlan
from components.plan import ClusterPlan, Machine, MachineGroup, plan_cluster
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files

README_NAME = "README.txt"
README = """Files that mullion rendered for cluster {cluster}.

<pool>/plan.json     what each machine of the pool becomes: phases of steps
<pool>/bundle.zip    the archive its machines fetch, byte for byte; bundle/ is the same, unpacked
<machine>/user-data  the loader that fetches it

Facts are known only after the cloud has created something (names of endpoint and stores, hashes of certificates), so
user-data shows each as <fact:name>. No fact is a secret.
"""
IMAGES = """Files that mullion rendered for images of cluster {cluster}'s Windows pools.

<pool>/image.zip  unpack it on a machine started from the stock image, run image\\bake.ps1 there as an administrator;
                  image/ is the same, unpacked
<pool>/plan.json  what the image has: the plan's phases of scope image

The machine restarts once, applies the plan, removes what belongs to one node, runs its cloud's sysprep and stops.
Then create an image of it, and name the image in the stack file, such as images: {{windows-2019: <id>}}.
More: docs/images.md
"""
WRITTEN = "\nFiles that this render wrote; --force replaces them and no others:\n"
"""Heading of the list in README.txt: one path on each line."""


def render(name: str, folder: Path, *, force: bool, image: bool = False) -> None:
    """Write all files of a stack's machines, or of its Windows images. If the stack has errors, write nothing."""
    planned = plan_cluster(name, stack_files.load(name).spec)
    contents = dict(image_files(planned) if image else files(planned))
    contents[README_NAME] += (WRITTEN + "\n".join(contents) + "\n").encode()
    try:
        _check(folder, force)
        _replace(folder.resolve(), contents)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links, before Python 3.13
        raise Stop(Exit.USAGE, f"-o {folder}: {error}; name a folder that can be written") from error
    what = f"images of {len(_windows(planned))} pools" if image else f"{len(planned.machines)} machines"
    print(f"{len(contents)} files of {what} in {folder}")


def _replace(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Replace the folder's content by these files. If the disk is full, the folder stays unchanged."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        whole = Path(scratch) / "whole"
        for path, content in contents.items():
            target = whole / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        if folder.exists():
            folder.rename(Path(scratch) / "earlier")
        whole.rename(folder)


def _check(folder: Path, force: bool) -> None:
    """Raise Stop unless the folder is new, empty, or (with force) contains only files of an earlier render."""
    here = Path.cwd().resolve()
    if folder.resolve() in (here, *here.parents):
        raise Stop(
            Exit.USAGE, f"-o {folder or '.'}: the current directory is inside it; name a folder that is new or empty"
        )
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise Stop(Exit.USAGE, f"{folder} is not a folder; name one that is new or empty")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not force:
        raise Stop(Exit.USAGE, f"{folder} is not empty; name another folder, or --force to replace what mullion wrote")
    # --force replaces our own output, never a folder with other files
    if foreign := _foreign(folder):
        raise Stop(
            Exit.REFUSED,
            f"{folder} contains files that mullion did not write, such as {foreign[0]}; name another folder",
        )


def _foreign(folder: Path) -> list[str]:
    """Return the paths below the folder that its README.txt does not list."""
    readme = folder / README_NAME
    text = readme.read_text("utf-8", "replace") if readme.is_file() else ""
    listed = text.partition(WRITTEN)[2].splitlines()
    known = {path for each in listed for path in (PurePosixPath(each), *PurePosixPath(each).parents)}
    # symbolic links are listed but not followed: removing a link removes no other file
    found = (PurePosixPath(each.relative_to(folder).as_posix()) for each in folder.rglob("*"))
    return sorted(str(each) for each in found if each not in known)


def files(planned: ClusterPlan) -> Iterator[tuple[str, bytes]]:
    """Yield the path below the folder and the content of every file."""
    yield README_NAME, README.format(cluster=planned.name).encode()
    for group in planned.machine_groups:
        yield from _packed(group.name, "bundle", group.node_plan, group.bundle)
        for machine in group.machines:
            yield f"{machine.name}/user-data", user_data(group, machine).encode()


def image_files(planned: ClusterPlan) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of every file for images of the Windows pools. Raises Stop if there are none."""
    if not _windows(planned):
        raise Stop(
            Exit.USAGE, f"{planned.name} has no Windows pool; Linux machines start from the distribution's image"
        )
    yield README_NAME, IMAGES.format(cluster=planned.name).encode()
    for group in _windows(planned):
        made = image_bundle(group.node_plan, planned.spec.cloud.value)
        yield from _packed(group.name, "image", baking.image_plan(group.node_plan), made)


def _windows(planned: ClusterPlan) -> list[MachineGroup]:
    return [each for each in planned.machine_groups if each.family == "windows"]


def _packed(group: str, name: str, plan: NodePlan, made: Bundle) -> Iterator[tuple[str, bytes]]:
    """Yield the node plan as indented JSON, the archive, and each file of the archive."""
    yield f"{group}/plan.json", (json.dumps(plan.document(), indent=2, sort_keys=True) + "\n").encode()
    yield f"{group}/{name}.zip", made.content
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        for entry in archive.namelist():
            yield f"{group}/{name}/{entry}", archive.read(entry)


def user_data(group: MachineGroup, machine: Machine) -> str:
    """Return the user-data of a machine, with <fact:name> in place of each fact."""
    named = {name: f"<fact:{name}>" for name in facts.FACTS} | {"cloud": group.cloud.value}
    known = facts.for_role(named, control_plane=group.is_control_plane)
    url = f"{known['bundle_store']}/{group.bundle.key}"
    document = userdata.document(url, group.bundle.sha256, group.machine_document(machine), known)
    return group.user_data(document).replace("\\u003cfact:", "<fact:")
