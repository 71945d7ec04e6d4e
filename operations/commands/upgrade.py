"""`mullion upgrade`: upgrade Kubernetes in the stack file, then in the cluster."""

import json

from operations.commands import stack_change
from operations.stacks import stack_files, target


def upgrade(name: str, version: str, *, sandbox: bool, yes: bool) -> None:
    """Write the version to the stack file, and run `up`: the control plane first, then the pools, wave by wave.

    An unknown version, an older one, and a step of more than one minor version are refused; the file stays.
    """
    before = stack_files.load(name)
    now = before.spec.kubernetes
    if now == version:
        print(f"{stack_files.file(name).name} has {version} already; `{target.command('up', name)}` applies it")
        return
    heading = f"Kubernetes {now} -> {version}: the control plane first, pools once it reports that version"
    stack_change.change(before, ("kubernetes",), json.dumps(version), heading, sandbox=sandbox, yes=yes)
