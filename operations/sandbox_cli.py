"""Commands of the sandbox: faults, changes by hand, booted machines, chaos."""

from typing import Annotated

import typer

from operations.cli_options import AsJson, StackName
from operations.console.help_text import PanelGroup, adder

SANDBOX, FAULTS, MACHINES = "Sandbox", "Faults", "Booted machines"

group = typer.Typer(cls=PanelGroup, no_args_is_help=True, help="Boot a stack's sandbox, or inject faults.")
app = typer.Typer()
app.add_typer(group, name="sandbox", rich_help_panel=SANDBOX)
command = adder(group)
ResourceName = Annotated[str, typer.Argument(metavar="NAME", help="Logical name, id, or TYPE/NAME of the resource.")]
MachineName = Annotated[str, typer.Argument(metavar="MACHINE", help="Machine name, as `mullion plan` shows it.")]
Undo = Annotated[bool, typer.Option("--undo", help="Undo it.")]


@adder(app)(SANDBOX, "mullion chaos aws-dev --seed 7 --runs 3")
def chaos(
    stack: StackName,
    seed: Annotated[int | None, typer.Option(metavar="N", min=0, help="Seed of the first sequence.")] = None,
    runs: Annotated[int, typer.Option(metavar="K", min=1, help="Number of sequences, each with the next seed.")] = 1,
    length: Annotated[int, typer.Option(metavar="C", min=0, help="Changes in each sequence.")] = 4,
) -> None:
    """Break a throw-away copy of a stack in the sandbox with random changes and faults, and check it after each."""
    from operations.chaos import run as breaking
    from operations.commands import joined

    joined.refuse(stack, "chaos")
    breaking.chaos(stack, seed=seed, runs=runs, length=length)


@command(FAULTS, "mullion sandbox fault aws-dev --fail 3", "mullion sandbox fault aws-dev --list")
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
        int | None, typer.Option(metavar="N", min=1, help="The provider dies after the Nth call acted.")
    ] = None,
    unseen: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The Nth machine's profile is not found for --tries tries.")
    ] = None,
    slow: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="A call takes this long.")] = None,
    late: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="A call's answer is this late.")] = None,
    at: Annotated[int, typer.Option(metavar="N", min=1, help="With --slow, --late: number of the call.")] = 1,
    tries: Annotated[int, typer.Option(metavar="K", min=1, help="With --throttle, --unseen: number of tries.")] = 3,
    type_: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Count only calls of this type.")] = None,
    times: Annotated[int, typer.Option(metavar="N", min=1, help="Number of matching calls in a row.")] = 1,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all faults.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the faults that have not happened yet.")] = False,
) -> None:
    """Inject a fault into one of the cloud's next calls (create, update, delete). It happens once."""
    from operations.commands import sandbox_faults

    calls = {"fail": fail, "throttle": throttle, "die-before": die_before, "die-after": die_after, "unseen": unseen}
    amounts = {"throttle": float(tries), "unseen": float(tries)}
    faults = {kind: (nth, amounts.get(kind, 0)) for kind, nth in calls.items() if nth is not None}
    faults |= {kind: (at, seconds) for kind, seconds in (("slow", slow), ("late", late)) if seconds is not None}
    if clear:
        sandbox_faults.clear(stack)
    if faults or not (clear or list_):
        sandbox_faults.plan(stack, faults, type_, times)
    elif list_:
        sandbox_faults.show(stack)


@command(SANDBOX, "mullion sandbox network aws-dev")
def network(stack: StackName) -> None:
    """Create the networks of yours that the stack file names in its sandbox, as an owner would have built them."""
    from operations.commands import sandbox_network

    sandbox_network.create(stack)


@command(SANDBOX, "mullion sandbox key aws-dev")
def key(
    stack: StackName,
    disabled: Annotated[bool, typer.Option("--disabled", help="Disable the key: the cloud refuses to use it.")] = False,
) -> None:
    """Create the key of encryption_key in the stack's sandbox, usable by all services."""
    from operations.commands import sandbox_key

    sandbox_key.create(stack, disabled=disabled)


@command(FAULTS, "mullion sandbox quota aws-dev", "mullion sandbox quota aws-dev 'VPCs per region' 1")
def quota(
    stack: StackName,
    name: Annotated[str | None, typer.Argument(metavar="QUOTA", help="Name of a quota, as the list has it.")] = None,
    limit: Annotated[int | None, typer.Argument(metavar="N", min=0, help="The account's limit.")] = None,
) -> None:
    """List the quotas of the account in the stack's sandbox, or change one: `up` and the cloud then refuse more."""
    from operations.commands import sandbox_quota

    if name is None:
        sandbox_quota.show(stack)
    elif limit is None:
        raise typer.BadParameter("write the limit too, or no quota to list them", param_hint="N")
    else:
        sandbox_quota.change(stack, name, limit)


@command(FAULTS, "mullion sandbox change aws-dev web-0 instanceType=m6i.2xlarge")
def change(
    stack: StackName,
    name: ResourceName,
    settings: Annotated[list[str], typer.Argument(metavar="PROPERTY=VALUE", help="The value is JSON or plain text.")],
) -> None:
    """Change a resource in the sandbox by hand: Pulumi's state does not learn of it."""
    from operations.commands import sandbox_faults

    sandbox_faults.change(stack, name, settings)


@command(FAULTS, "mullion sandbox remove aws-dev web-0")
def remove(stack: StackName, name: ResourceName) -> None:
    """Delete a resource in the sandbox by hand: Pulumi's state does not learn of it."""
    from operations.commands import sandbox_faults

    sandbox_faults.remove(stack, name)


@command(FAULTS, "mullion sandbox interrupt aws-dev batch-0", "mullion sandbox interrupt aws-dev batch-0 --seconds 10")
def interrupt(
    stack: StackName,
    machine: MachineName,
    seconds: Annotated[
        float | None,
        typer.Option(min=0, metavar="S", help="Time from the notice to the machine's end. Default: the cloud's."),
    ] = None,
) -> None:
    """Let the sandbox's cloud take a spot machine back: it announces that to the machine, then deletes it."""
    from operations.commands import sandbox_faults

    sandbox_faults.interrupt(stack, machine, seconds)


@command(FAULTS, "mullion sandbox boots aws-dev")
def boots(stack: StackName) -> None:
    """Show whether each machine of the sandbox could fetch its bundle, and what prevents it."""
    from operations.commands import sandbox_faults

    sandbox_faults.boots(stack)


@command(MACHINES, "mullion sandbox boot aws-dev")
def boot(
    stack: StackName,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="Longest wait: 90s, 20m.")] = "20m",
) -> None:
    """Boot the machines of the sandbox from their user-data, and show the cluster that they form."""
    from operations.commands import joined
    from operations.commands import sandbox_boot as booting

    joined.refuse(stack, "sandbox boot")
    booting.boot(stack, timeout)


@command(MACHINES, "mullion sandbox stop aws-dev")
def stop(stack: StackName) -> None:
    """Cut the power of every booted machine, and stop the network. Disks are kept for another boot."""
    from operations.commands import sandbox_boot as booting

    booting.stop(stack)


@command(MACHINES, "mullion sandbox ls aws-dev")
def ls(stack: StackName, as_json: AsJson = False) -> None:
    """Show the power, network and progress of each booted machine."""
    from operations.commands import sandbox_boot as booting

    booting.ls(stack, as_json=as_json)


@command(MACHINES, "mullion sandbox reboot aws-dev web-0")
def reboot(stack: StackName, machine: MachineName) -> None:
    """Cut a machine's power, then start it again."""
    from operations.commands import sandbox_boot as booting

    booting.change(stack, machine, on=True, boots=1)


@command(MACHINES, "mullion sandbox cut aws-dev web-0", "mullion sandbox cut aws-dev web-0 --undo")
def cut(stack: StackName, machine: MachineName, undo: Undo = False) -> None:
    """Cut a machine's power; with --undo start it again."""
    from operations.commands import sandbox_boot as booting

    booting.change(stack, machine, on=undo)


@command(MACHINES, "mullion sandbox isolate aws-dev web-0", "mullion sandbox isolate aws-dev web-0 --undo")
def isolate(stack: StackName, machine: MachineName, undo: Undo = False) -> None:
    """Disconnect a machine's network; with --undo connect it again."""
    from operations.commands import sandbox_boot as booting

    booting.change(stack, machine, connected=undo)


@command(MACHINES, "mullion sandbox throttle aws-dev web-0 512kbit", "mullion sandbox throttle aws-dev web-0")
def throttle(
    stack: StackName,
    machine: MachineName,
    rate: Annotated[str, typer.Argument(metavar="RATE", help="Limit in each direction: 512kbit, 10mbit.")] = "",
) -> None:
    """Limit the rate of a machine's network; without RATE remove the limit."""
    from operations.commands import sandbox_boot as booting

    booting.change(stack, machine, rate=rate)
