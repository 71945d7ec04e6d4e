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


def command(body: Callable[..., None], group: typer.Typer = app) -> Callable[..., None]:
    """Make a function a command: errors that a person can act on become a message and an exit code."""

    @group.command()
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
def up(
    stack: StackName,
    sandbox: Sandbox = False,
    yes: Yes = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Look at the cloud first, and put right what was changed by hand.")
    ] = False,
) -> None:
    """Build a stack's cluster, or make it what its file says now."""
    from operations import runs

    runs.up(stack, sandbox=sandbox, yes=yes, refresh=refresh)


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
def drift(
    stack: StackName, as_json: Annotated[bool, typer.Option("--json", help="Print the differences as JSON.")] = False
) -> None:
    """Say what somebody changed or removed by hand. Changes nothing; ends with 5 where something is not as recorded."""
    from operations import drift as drifting

    drifting.drift(stack, as_json=as_json)


@command
def doctor(
    stack: Annotated[str | None, typer.Argument(metavar="[STACK]", help="Also look at this stack's file.")] = None,
) -> None:
    """Say whether this machine has what mullion needs, and which world each stack is in."""
    from operations import doctor as doctoring

    doctoring.doctor(stack)


# The sandbox group: what goes wrong in the sandbox, on purpose.

sandbox_app = typer.Typer(no_args_is_help=True, help="Make a stack's sandbox go wrong, or change it unseen.")
app.add_typer(sandbox_app, name="sandbox")
sandbox_command = functools.partial(command, group=sandbox_app)
ThingName = Annotated[str, typer.Argument(metavar="NAME", help="Its logical name, its id, or TYPE/NAME.")]


@sandbox_command
def fault(
    stack: StackName,
    fail: Annotated[int | None, typer.Option(metavar="N", min=1, help="The Nth call fails.")] = None,
    throttle: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The Nth call is throttled --tries times.")
    ] = None,
    die_before: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The provider dies before the Nth call acts.")
    ] = None,
    die_after: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The provider dies when the Nth call has acted.")
    ] = None,
    unseen: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The Nth machine's profile is unseen for --tries tries.")
    ] = None,
    slow: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="A call takes so long, really.")] = None,
    at: Annotated[int, typer.Option(metavar="N", min=1, help="With --slow: which call.")] = 1,
    tries: Annotated[int, typer.Option(metavar="K", min=1, help="With --throttle, --unseen: how often.")] = 3,
    type_: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Count only calls of this type.")] = None,
    times: Annotated[int, typer.Option(metavar="N", min=1, help="For so many matching calls in a row.")] = 1,
    clear: Annotated[bool, typer.Option("--clear", help="Forget all faults.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Show the faults that wait.")] = False,
) -> None:
    """Plan a fault of the sandbox's cloud at one of its next calls (create, update, delete). It comes once."""
    from operations import faults

    calls = {"fail": fail, "throttle": throttle, "die-before": die_before, "die-after": die_after, "unseen": unseen}
    asked = {"throttle": float(tries), "unseen": float(tries)}
    wanted = {kind: (nth, asked.get(kind, 0)) for kind, nth in calls.items() if nth is not None}
    if slow is not None:
        wanted["slow"] = (at, slow)
    if clear:
        faults.clear(stack)
    if wanted or not (clear or list_):
        faults.plan(stack, wanted, type_, times)
    elif list_:
        faults.show(stack)


@sandbox_command
def change(
    stack: StackName,
    name: ThingName,
    settings: Annotated[list[str], typer.Argument(metavar="PROPERTY=VALUE", help="The value as JSON or plain text.")],
) -> None:
    """Change a thing in the sandbox behind the program's back."""
    from operations import faults

    faults.change(stack, name, settings)


@sandbox_command
def remove(stack: StackName, name: ThingName) -> None:
    """Delete a thing in the sandbox behind the program's back."""
    from operations import faults

    faults.remove(stack, name)


@sandbox_command
def boots(stack: StackName) -> None:
    """Show how far each machine of the sandbox got, and what is in its way."""
    from operations import faults

    faults.boots(stack)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
