"""Commands that repair machines, store snapshots and restore clusters."""

from enum import Enum
from typing import Annotated

import typer

from operations.cli_options import Confirm, Kubeconfig, Sandbox, StackName, Yes
from operations.console.help_text import adder

RECOVER = "Recover"


class SnapshotPlace(str, Enum):
    """Where a snapshot is read."""

    STORE = "store"
    COPY = "copy"


app = typer.Typer()
command = adder(app)


@command(RECOVER, "mullion repair aws-prod", "mullion repair aws-prod --after 30m")
def repair(
    stack: StackName,
    after: Annotated[
        str, typer.Option(metavar="TIME", help="Watch this long first: 90s, 10m, 2h. Default: 10m.")
    ] = "10m",
    sandbox: Sandbox = False,
    yes: Yes = False,
) -> None:
    """Watch the workers, and replace those that stay not ready."""
    from operations.commands import repair as repairing

    repairing.repair(stack, after, sandbox=sandbox, yes=yes)


@command(RECOVER, "mullion revoke aws-prod web-1")
def revoke(
    stack: StackName,
    node: Annotated[str, typer.Argument(metavar="NODE", help="Machine name, as `mullion plan` shows it.")],
    kubeconfig: Kubeconfig = None,
) -> None:
    """Revoke a compromised worker: it gets no certificate, its token is deleted. Replace it afterwards."""
    from operations.commands import joined
    from operations.commands import revoke as revoking

    joined.refuse(stack, "revoke")
    revoking.revoke(stack, node, kubeconfig)


@command(RECOVER, "mullion replace-control-plane aws-prod control-plane-1")
def replace_control_plane(
    stack: StackName,
    machine: Annotated[str, typer.Argument(metavar="NAME", help="Machine name, as `mullion plan` shows it.")],
    sandbox: Sandbox = False,
    yes: Yes = False,
) -> None:
    """Replace one of three control-plane machines: after a loss, for a newer image, for another size."""
    from operations.commands import control_planes, joined

    joined.refuse(stack, "replace-control-plane")
    control_planes.replace(stack, machine, sandbox=sandbox, yes=yes)


@command(RECOVER, "mullion snapshot aws-prod")
def snapshot(
    stack: StackName,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Store a snapshot of etcd now, beside the regular ones, and print its key."""
    from operations.commands import joined
    from operations.commands import snapshot as snapshots

    joined.refuse(stack, "snapshot")
    snapshots.snapshot(stack, kubeconfig)


@command(
    RECOVER,
    "mullion restore aws-prod --list",
    "mullion restore aws-prod --drill",
    "mullion restore aws-prod --confirm aws-prod",
)
def restore(
    stack: StackName,
    snapshot: Annotated[
        str | None, typer.Option(metavar="KEY", help="Snapshot to restore. Default: the newest.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Only list the snapshots.")] = False,
    place: Annotated[
        SnapshotPlace, typer.Option("--from", help="Choose from the snapshot store, or from its copies.")
    ] = SnapshotPlace.STORE,
    drill: Annotated[
        bool, typer.Option("--drill", help="Restore beside the running etcd, read, remove; change nothing.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    sandbox: Sandbox = False,
    confirm: Confirm = None,
) -> None:
    """Rebuild the control plane from a snapshot of etcd, when every control-plane machine is lost."""
    from operations.commands import control_planes, joined
    from operations.commands import drill as drills

    joined.refuse(stack, "restore")
    drills.refuse_mixed(drill=drill, listed=listed, confirmed=confirm is not None, kubeconfig=kubeconfig)
    if drill:
        drills.drill(stack, snapshot, place.value, kubeconfig)
        return
    copied = place is SnapshotPlace.COPY
    control_planes.restore(stack, snapshot, sandbox=sandbox, confirmed=confirm, listed=listed, copied=copied)
