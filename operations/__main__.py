"""The `mullion` command. Thin: each command imports what it needs, so that `--help` and `plan` stay fast."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from operations.exits import ending

app = typer.Typer(
    name="mullion",
    help="Kubernetes clusters that run Windows.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Sandbox = Annotated[bool, typer.Option("--sandbox", help="In the embedded sandbox cloud instead of a real account.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
StackName = Annotated[str, typer.Argument(metavar="STACK", help="Name of the stack: stacks/Pulumi.STACK.yaml.")]


def command(body: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command: errors that a person can act on become a message and an exit code."""

    @app.command()
    @functools.wraps(body)
    def run(*args: Any, **options: Any) -> None:
        try:
            body(*args, **options)
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, typer.Exit) or (end := ending(error)) is None:
                raise
            sys.stdout.flush()
            print(f"mullion: {end[1]}", file=sys.stderr)
            raise typer.Exit(end[0]) from None

    return run


@command
def plan(
    stack: StackName,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
    resources: Annotated[
        bool, typer.Option("--resources", help="Also run the wiring and count its resources.")
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An earlier `plan --json` or `pulumi stack export`: say what is replaced."),
    ] = None,
) -> None:
    """Show what a stack will be: machines, files' sizes, rules, warnings. Offline; changes nothing."""
    from operations import plan as planning

    planning.plan(stack, as_json=as_json, resources=resources, earlier=against)


@command
def render(
    stack: StackName,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="A folder that is new or empty.")],
    force: Annotated[bool, typer.Option("--force", help="Replace what an earlier render wrote there.")] = False,
) -> None:
    """Write every file of every machine to a folder."""
    from operations import render as rendering

    rendering.render(stack, output, force=force)


@command
def up(stack: StackName, sandbox: Sandbox = False, yes: Yes = False) -> None:
    """Build a stack's cluster, or make it what its file says now."""
    from operations import runs

    runs.up(stack, sandbox=sandbox, yes=yes)


@command
def down(
    stack: StackName,
    sandbox: Sandbox = False,
    yes: Yes = False,
    confirm: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of a protected cluster, not to be asked.")
    ] = None,
) -> None:
    """Remove a stack's cluster. Snapshots of a cluster that does not expire are kept."""
    from operations import runs

    runs.down(stack, sandbox=sandbox, yes=yes, confirmed=confirm)


@command
def scale(
    stack: StackName,
    pool: Annotated[str, typer.Argument(metavar="POOL", help="Name of a pool.")],
    count: Annotated[int, typer.Argument(metavar="N", min=0, help="How many machines it shall have.")],
    sandbox: Sandbox = False,
    yes: Yes = False,
) -> None:
    """Change how many machines a pool has: in the stack file, then in the cluster."""
    from operations import scale as scaling

    scaling.scale(stack, pool, count, sandbox=sandbox, yes=yes)


@command
def outputs(
    stack: StackName, as_json: Annotated[bool, typer.Option("--json", help="Print the outputs as JSON.")] = False
) -> None:
    """Show what a built stack gives: endpoint, stores, machines. Secrets are not shown."""
    from operations import kubeconfigs

    kubeconfigs.outputs(stack, as_json=as_json)


@command
def kubeconfig(
    stack: StackName,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write it; - for standard output.")
    ] = None,
) -> None:
    """Write the administrator's kubeconfig, with a certificate that lasts at least five days."""
    from operations import kubeconfigs

    kubeconfigs.kubeconfig(stack, output)


@command
def doctor(
    stack: Annotated[str | None, typer.Argument(metavar="[STACK]", help="Also look at this stack's file.")] = None,
) -> None:
    """Say whether this machine has what mullion needs, and which world each stack is in."""
    from operations import doctor as doctoring

    doctoring.doctor(stack)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
