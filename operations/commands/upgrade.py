"""`mullion upgrade`: another version of Kubernetes, in the stack file and then in the cluster."""

import json

from operations.commands import stack_change
from operations.stacks import stack_files, target


def upgrade(name: str, version: str, *, sandbox: bool, yes: bool) -> None:
    """Set the version in the stack file and make it so: the control plane first, then the pools, wave by wave.

    Refused, with the file as it was: a version that no table knows, an older one, more than one minor version.
    """
    before = stack_files.load(name)
    now = before.spec.kubernetes
    if now == version:
        print(f"{stack_files.file(name).name} has {version} already; `{target.command('up', name)}` applies it")
        return
    print(f"Kubernetes {now} -> {version}: the control plane first, pools once it reports that version")
    stack_change.change(before, ("kubernetes",), json.dumps(version), sandbox=sandbox, yes=yes)
