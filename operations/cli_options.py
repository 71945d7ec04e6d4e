"""Arguments and options that many commands share."""

from pathlib import Path
from typing import Annotated

import typer


def _stacks(incomplete: str) -> list[str]:
    """Return the stack names that begin with `incomplete`, for shell completion."""
    from operations.stacks import stack_files

    return [name for name in stack_files.names() if name.startswith(incomplete)]


_FILE = "Name of the stack, whose file is stacks/Pulumi.STACK.yaml."

StackName = Annotated[str, typer.Argument(metavar="STACK", help=_FILE, autocompletion=_stacks)]
OptionalStackName = Annotated[str | None, typer.Argument(metavar="[STACK]", help=_FILE, autocompletion=_stacks)]
PoolName = Annotated[str, typer.Argument(metavar="POOL", help="Name of the pool.")]
Sandbox = Annotated[bool, typer.Option("--sandbox", help="Use the embedded sandbox cloud, not a real account.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Confirm = Annotated[
    str | None, typer.Option("--confirm", metavar="NAME", help="Name of the cluster, to confirm without a question.")
]
Kubeconfig = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Administrator's kubeconfig. Default: the stack's.")
]
OptionalPoolName = Annotated[str | None, typer.Argument(metavar="[POOL]", help="Name of the pool.")]
OnlyMachine = Annotated[
    str | None, typer.Option("--machine", metavar="NAME", help="Replace only this machine of the pool.")
]
Pause = Annotated[bool, typer.Option("--pause", help="Make the run in progress stop before the next worker.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the rolls that a pause or an interruption left.")]
IgnoredErrors = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore-preflight-errors",
        metavar="NAMES",
        help="Questions that only warn: budgets,disk, or all. May be repeated.",
    ),
]
