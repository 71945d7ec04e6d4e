"""`mullion render`: every file of every machine, written to a folder.

DIR/<pool>/plan.json        the node plan, readable
DIR/<pool>/bundle.zip       what its machines fetch, byte for byte
DIR/<pool>/bundle/...       the same, unpacked
DIR/<machine>/user-data     with <fact:name> where only the cloud knows the value
"""

import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from components import facts, userdata
from components.plan import ClusterPlan, Machine, MachineGroup, plan_cluster
from operations import stacks
from operations.exits import Exit, Stop

README = """What mullion renders for cluster {cluster}.

<pool>/plan.json     what each machine of the pool becomes: phases of steps
<pool>/bundle.zip    the archive its machines fetch, byte for byte; bundle/ is the same, unpacked
<machine>/user-data  the loader that fetches it

Facts are known once the cloud has made something (names of endpoint and stores, hashes of certificates). They are
not known here: user-data shows each as <fact:name>. None of them is a secret.
"""


def render(name: str, folder: Path, *, force: bool) -> None:
    """Write all files of a stack's machines. Nothing is written where the stack has errors."""
    planned = plan_cluster(name, stacks.load(name).spec)
    _check(folder, force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Written beside and moved: a full disk leaves what was there.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        whole = Path(scratch) / "whole"
        count = 0
        for path, content in files(planned):
            target = whole / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            count += 1
        if folder.exists():
            shutil.rmtree(folder)
        whole.rename(folder)
    print(f"{count} files of {len(planned.machines)} machines in {folder}")


def _check(folder: Path, force: bool) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise Stop(Exit.USAGE, f"{folder} is no folder; name one that is new or empty")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not force:
        raise Stop(Exit.USAGE, f"{folder} is not empty; name another folder, or --force to replace what mullion wrote")
    # --force replaces our own output, never somebody's home
    if not (folder / "README.txt").is_file() or not (folder / "README.txt").read_text("utf-8").startswith(
        "What mullion"
    ):
        raise Stop(Exit.REFUSED, f"{folder} holds files that mullion did not write; name another folder")


def files(planned: ClusterPlan) -> Iterator[tuple[str, bytes]]:
    """Path below the folder, and content, of everything."""
    yield "README.txt", README.format(cluster=planned.name).encode()
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
