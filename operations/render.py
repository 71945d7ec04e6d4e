"""`mullion render`: every file of every machine, written to a folder.

DIR/<pool>/plan.json        the node plan, readable
DIR/<pool>/bundle.zip       what its machines fetch, byte for byte
DIR/<pool>/bundle/...       the same, unpacked
DIR/<machine>/user-data     with <fact:name> where only the cloud knows the value
"""

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from components import facts, userdata
from components.plan import ClusterPlan, Machine, MachineGroup, plan_cluster
from operations import stacks
from operations.exits import Exit, Stop

README_NAME = "README.txt"
README = """What mullion renders for cluster {cluster}.

<pool>/plan.json     what each machine of the pool becomes: phases of steps
<pool>/bundle.zip    the archive its machines fetch, byte for byte; bundle/ is the same, unpacked
<machine>/user-data  the loader that fetches it

Facts are known once the cloud has made something (names of endpoint and stores, hashes of certificates). They are
not known here: user-data shows each as <fact:name>. None of them is a secret.
"""
WRITTEN = "\nFiles that this render wrote; --force replaces them and no others:\n"
"""In README.txt, before one path a line."""


def render(name: str, folder: Path, *, force: bool) -> None:
    """Write all files of a stack's machines. Nothing is written where the stack has errors."""
    planned = plan_cluster(name, stacks.load(name).spec)
    contents = dict(files(planned))
    contents[README_NAME] += (WRITTEN + "\n".join(contents) + "\n").encode()
    try:
        _check(folder, force)
        _replace(folder.resolve(), contents)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links, before Python 3.13
        raise Stop(Exit.USAGE, f"-o {folder}: {error}; name a folder that can be written") from error
    print(f"{len(contents)} files of {len(planned.machines)} machines in {folder}")


def _replace(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Put the files where the folder is. Written beside and moved: a full disk leaves what was there."""
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
    """Stop unless the folder is new, empty, or holds what an earlier render wrote and nothing else."""
    here = Path.cwd().resolve()
    if folder.resolve() in (here, *here.parents):
        raise Stop(
            Exit.USAGE, f"-o {folder or '.'}: the current directory lies in it; name a folder that is new or empty"
        )
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise Stop(Exit.USAGE, f"{folder} is no folder; name one that is new or empty")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not force:
        raise Stop(Exit.USAGE, f"{folder} is not empty; name another folder, or --force to replace what mullion wrote")
    # --force replaces our own output, never somebody's home
    if foreign := _foreign(folder):
        raise Stop(
            Exit.REFUSED, f"{folder} holds files that mullion did not write, such as {foreign[0]}; name another folder"
        )


def _foreign(folder: Path) -> list[str]:
    """Paths below the folder that no earlier render wrote, as its README.txt says."""
    readme = folder / README_NAME
    text = readme.read_text("utf-8", "replace") if readme.is_file() else ""
    listed = text.partition(WRITTEN)[2].splitlines()
    known = {path for each in listed for path in (PurePosixPath(each), *PurePosixPath(each).parents)}
    # symbolic links are listed and not followed; removing one removes nothing elsewhere
    found = (PurePosixPath(each.relative_to(folder).as_posix()) for each in folder.rglob("*"))
    return sorted(str(each) for each in found if each not in known)


def files(planned: ClusterPlan) -> Iterator[tuple[str, bytes]]:
    """Path below the folder, and content, of everything."""
    yield README_NAME, README.format(cluster=planned.name).encode()
    for group in planned.machine_groups:
        plan_text = json.dumps(group.node_plan.document(), indent=2, sort_keys=True) + "\n"
        yield f"{group.name}/plan.json", plan_text.encode()
        yield f"{group.name}/bundle.zip", group.bundle.content
        with zipfile.ZipFile(io.BytesIO(group.bundle.content)) as archive:
            for entry in archive.namelist():
                yield f"{group.name}/bundle/{entry}", archive.read(entry)
        for machine in group.machines:
            yield f"{machine.name}/user-data", user_data(group, machine).encode()


def user_data(group: MachineGroup, machine: Machine) -> str:
    """User-data of a machine with <fact:name> for each fact."""
    known = facts.for_role({name: f"<fact:{name}>" for name in facts.FACTS}, control_plane=group.is_control_plane)
    url = f"{known['bundle_store']}/{group.bundle.key}"
    document = userdata.document(url, group.bundle.sha256, group.machine_document(machine), known)
    return userdata.user_data(group.family, document).replace("\\u003cfact:", "<fact:")
