"""The `mullion` command. Thin: each command imports what it needs, so that `--help` and `plan` stay fast."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from components.sdk.garbage import collect_rarely
from operations.console.exits import ending
from operations.console.output import guarded

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
            if isinstance(error, (typer.Exit, typer.Abort, typer.BadParameter)):
                raise
            code, message = ending(error)
            sys.stdout.flush()
            print(f"mullion: {message}", file=sys.stderr)
            raise typer.Exit(code) from None

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
    from operations.commands import plan as planning

    planning.plan(stack, as_json=as_json, resources=resources, earlier=against)


@command
def render(
    stack: StackName,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="A folder that is new or empty.")],
    force: Annotated[bool, typer.Option("--force", help="Replace what an earlier render wrote there.")] = False,
    image: Annotated[bool, typer.Option("--image", help="What makes images of the Windows pools, instead.")] = False,
) -> None:
    """Write every file of every machine to a folder."""
    from operations.commands import render as rendering

    rendering.render(stack, output, force=force, image=image)


@command
def up(
    stack: StackName,
    sandbox: Sandbox = False,
    yes: Yes = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Look at the cloud first, and put right what was changed by hand.")
    ] = False,
    bootable: Annotated[
        bool, typer.Option("--bootable", help="With --sandbox: such machines as `mullion sandbox boot` can start.")
    ] = False,
    kubernetes: Annotated[
        str | None, typer.Option(metavar="VERSION", help="With --bootable: in the place of the file's version.")
    ] = None,
) -> None:
    """Build a stack's cluster, or make it what its file says now."""
    from operations.commands import up_and_down
    from operations.stacks.boot_overlay import As

    if (bootable and not sandbox) or (kubernetes and not bootable):
        raise typer.BadParameter("--bootable goes with --sandbox, and --kubernetes with --bootable")
    up_and_down.up(stack, sandbox=sandbox, yes=yes, refresh=refresh, bootable_as=As(kubernetes) if bootable else None)


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
    from operations.commands import up_and_down

    up_and_down.down(stack, sandbox=sandbox, yes=yes, confirmed=confirm)


@command
def scale(
    stack: StackName,
    pool: Annotated[str, typer.Argument(metavar="POOL", help="Name of a pool.")],
    count: Annotated[int, typer.Argument(metavar="N", min=0, help="How many machines it shall have.")],
    sandbox: Sandbox = False,
    yes: Yes = False,
) -> None:
    """Change how many machines a pool has: in the stack file, then in the cluster."""
    from operations.commands import scale as scaling

    scaling.scale(stack, pool, count, sandbox=sandbox, yes=yes)


@command
def upgrade(
    stack: StackName,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="Of Kubernetes: 1.36.4.")],
    sandbox: Sandbox = False,
    yes: Yes = False,
) -> None:
    """Change the version of Kubernetes: in the stack file, then in the control plane, then in the pools."""
    from operations.commands import upgrade as upgrading

    upgrading.upgrade(stack, version, sandbox=sandbox, yes=yes)


@command
def wait(
    stack: StackName,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="At most so long: 90s, 45m, 2h.")] = "45m",
) -> None:
    """Wait until every machine of a built stack is ready, and say what each one is at."""
    from operations.commands import wait as waiting

    waiting.wait(stack, timeout)


@command
def roll(
    stack: StackName,
    pool: Annotated[str, typer.Argument(metavar="POOL", help="Name of a pool.")],
    machine: Annotated[str | None, typer.Option(metavar="NAME", help="Only this machine of it.")] = None,
    sandbox: Sandbox = False,
    yes: Yes = False,
) -> None:
    """Replace a pool's machines, wave by wave, though nothing of them changed."""
    from operations.commands import roll as rolling

    rolling.roll(stack, pool, machine, sandbox=sandbox, yes=yes)


@command
def replace_control_plane(
    stack: StackName,
    machine: Annotated[str, typer.Argument(metavar="NAME", help="One of its machines, as `mullion plan` shows it.")],
    sandbox: Sandbox = False,
    yes: Yes = False,
) -> None:
    """Make one of three control planes anew: after a loss, for a newer image, for another size."""
    from operations.commands import control_planes

    control_planes.replace(stack, machine, sandbox=sandbox, yes=yes)


@command
def restore(
    stack: StackName,
    snapshot: Annotated[str | None, typer.Option(metavar="KEY", help="Of the snapshot. Default: the newest.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Only show the snapshots.")] = False,
    sandbox: Sandbox = False,
    confirm: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the cluster, not to be asked.")] = None,
) -> None:
    """Make the control plane anew from a snapshot of etcd, when all of it is lost."""
    from operations.commands import control_planes

    control_planes.restore(stack, snapshot, sandbox=sandbox, confirmed=confirm, listed=listed)


@command
def outputs(
    stack: StackName, as_json: Annotated[bool, typer.Option("--json", help="Print the outputs as JSON.")] = False
) -> None:
    """Show what a built stack gives: endpoint, stores, machines. Secrets are not shown."""
    from operations.commands import kubeconfig

    kubeconfig.outputs(stack, as_json=as_json)


@command
def kubeconfig(
    stack: StackName,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write it; - for standard output.")
    ] = None,
) -> None:
    """Write the administrator's kubeconfig, with a certificate that lasts at least five days."""
    from operations.commands import kubeconfig as kubeconfigs

    kubeconfigs.kubeconfig(stack, output)


@command
def verify(
    stack: StackName,
    as_json: Annotated[bool, typer.Option("--json", help="Print every row as JSON.")] = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the rows as JUnit's XML.")] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of an administrator. Default: the stack's own.")
    ] = None,
    outside: Annotated[
        list[str] | None, typer.Option(metavar="NAME:PORT", help="What pods shall reach beyond the cluster.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="Of Linux pods; it has busybox. Default: busybox's own.")
    ] = None,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="For nodes to be Ready: 90s, 10m.")] = "10m",
    reboot: Annotated[
        bool, typer.Option("--reboot", help="Once more after a reboot of each machine (sandbox).")
    ] = False,
    upstream: Annotated[
        Path | None,
        typer.Option(metavar="E2E.TEST", help="Run Kubernetes' suite for Windows too, by this program."),
    ] = None,
    images: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --upstream: list of its test images for Windows.")
    ] = None,
) -> None:
    """Say whether the cluster works: nodes, pods, Services, names, ways in and out. It cleans up after itself."""
    from operations.commands import verify as verifying
    from operations.verification.upstream import Suite

    verifying.run(
        stack,
        kubeconfig=kubeconfig,
        outside=outside or [],
        image=image,
        timeout=timeout,
        as_json_text=as_json,
        junit=junit,
        suite=Suite(upstream, images) if upstream else None,
        reboot=reboot,
    )


@command
def logs(
    stack: StackName,
    machine: Annotated[str, typer.Argument(metavar="NODE", help="Name of a machine, as `mullion plan` shows it.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write it. Default: .mullion/STACK/logs/."),
    ] = None,
) -> None:
    """Fetch a machine's logs and settings, redacted; it needs no open port and no kubelet."""
    from operations.commands import logs as fetching_logs

    fetching_logs.logs(stack, machine, output)


@command
def drift(
    stack: StackName, as_json: Annotated[bool, typer.Option("--json", help="Print the differences as JSON.")] = False
) -> None:
    """Say what somebody changed or removed by hand. Changes nothing; ends with 5 where something is not as recorded."""
    from operations.commands import drift as drifting

    drifting.drift(stack, as_json=as_json)


@command
def doctor(
    stack: Annotated[str | None, typer.Argument(metavar="[STACK]", help="Also look at this stack's file.")] = None,
) -> None:
    """Say whether this machine has what mullion needs, and which world each stack is in."""
    from operations.commands import doctor as doctoring

    doctoring.doctor(stack)


@command
def chaos(
    stack: StackName,
    seed: Annotated[int | None, typer.Option(metavar="N", min=0, help="Of the first sequence. Default: drawn.")] = None,
    runs: Annotated[int, typer.Option(metavar="K", min=1, help="How many sequences, each with the next seed.")] = 1,
    length: Annotated[int, typer.Option(metavar="C", min=0, help="Changes in each, after it was built.")] = 4,
) -> None:
    """Break a throw-away copy of a stack in the sandbox: random changes, faults and cuts, and what must hold after."""
    from operations.chaos import run as breaking

    breaking.chaos(stack, seed=seed, runs=runs, length=length)


@command
def pin(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A download (kubernetes-node, ...), or: image.")
    ] = None,
    version: Annotated[str | None, typer.Argument(metavar="VERSION", help="Its version; with image, a pool.")] = None,
    os_: Annotated[str | None, typer.Option("--os", metavar="linux|windows", help="Only for this system.")] = None,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="The file of entries. Default: artifacts.json.")
    ] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Address of the download.")] = None,
    checksums: Annotated[str | None, typer.Option(metavar="URL", help="Address of a checksum file.")] = None,
    digest: Annotated[str | None, typer.Option(metavar="DIGEST", help="The digest, from a source you trust.")] = None,
    first_use: Annotated[bool, typer.Option("--first-use", help="Trust what comes now.")] = False,
    download: Annotated[bool, typer.Option(help="Fetch the download too, and check it.")] = True,
    verify: Annotated[bool, typer.Option("--verify", help="Compare entries (of NAME) with their publishers.")] = False,
    stack: Annotated[str | None, typer.Option(metavar="STACK", help="With image: the stack.")] = None,
    sandbox: Sandbox = False,
) -> None:
    """Keep a download's published digest as an entry, or a pool's newest machine image in the stack file."""
    from operations.commands import pin as pinning

    if verify:
        pinning.verify(name, file)
    elif name is None or version is None:
        raise typer.BadParameter("give NAME and VERSION, or image and a pool, or --verify")
    elif name == "image":
        from operations.commands import pin_image

        if stack is None:
            raise typer.BadParameter("with image, name the stack: --stack STACK")
        pin_image.pin(stack, version, sandbox=sandbox)
    else:
        pinning.pin(pinning.Wanted(name, version, os_, url, checksums, digest, first_use, download), file)


@command
def mirror(
    target: Annotated[str, typer.Argument(metavar="DIR|URL", help="A folder, or a web server that takes PUT.")],
    stack: StackName,
) -> None:
    """Copy all that a stack's machines download, for places without a way out. Twice copies nothing twice."""
    from operations.commands import mirror as mirroring

    mirroring.mirror(target, stack)


@command
def versions(
    stack: Annotated[str | None, typer.Argument(metavar="[STACK]", help="Only what concerns this stack.")] = None,
) -> None:
    """Show which versions fit together, when their support ends, and what to move to."""
    from operations.commands import versions as supported

    supported.versions(stack)


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
    late: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="A call's answer comes so late.")] = None,
    at: Annotated[int, typer.Option(metavar="N", min=1, help="With --slow, --late: which call.")] = 1,
    tries: Annotated[int, typer.Option(metavar="K", min=1, help="With --throttle, --unseen: how often.")] = 3,
    type_: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Count only calls of this type.")] = None,
    times: Annotated[int, typer.Option(metavar="N", min=1, help="For so many matching calls in a row.")] = 1,
    clear: Annotated[bool, typer.Option("--clear", help="Forget all faults.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Show the faults that wait.")] = False,
) -> None:
    """Plan a fault of the sandbox's cloud at one of its next calls (create, update, delete). It comes once."""
    from operations.commands import sandbox_faults

    calls = {"fail": fail, "throttle": throttle, "die-before": die_before, "die-after": die_after, "unseen": unseen}
    asked = {"throttle": float(tries), "unseen": float(tries)}
    wanted = {kind: (nth, asked.get(kind, 0)) for kind, nth in calls.items() if nth is not None}
    wanted |= {kind: (at, seconds) for kind, seconds in (("slow", slow), ("late", late)) if seconds is not None}
    if clear:
        sandbox_faults.clear(stack)
    if wanted or not (clear or list_):
        sandbox_faults.plan(stack, wanted, type_, times)
    elif list_:
        sandbox_faults.show(stack)


@sandbox_command
def change(
    stack: StackName,
    name: ThingName,
    settings: Annotated[list[str], typer.Argument(metavar="PROPERTY=VALUE", help="The value as JSON or plain text.")],
) -> None:
    """Change a thing in the sandbox behind the program's back."""
    from operations.commands import sandbox_faults

    sandbox_faults.change(stack, name, settings)


@sandbox_command
def remove(stack: StackName, name: ThingName) -> None:
    """Delete a thing in the sandbox behind the program's back."""
    from operations.commands import sandbox_faults

    sandbox_faults.remove(stack, name)


@sandbox_command
def boots(stack: StackName) -> None:
    """Show how far each machine of the sandbox got, and what is in its way."""
    from operations.commands import sandbox_faults

    sandbox_faults.boots(stack)


MachineName = Annotated[str, typer.Argument(metavar="MACHINE", help="Name of a machine, as `mullion plan` shows it.")]
Undo = Annotated[bool, typer.Option("--undo", help="Take it back.")]


@sandbox_command
def boot(
    stack: StackName,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="At most so long: 90s, 20m.")] = "20m",
) -> None:
    """Boot the machines of the sandbox for real, from their own user-data, and show the cluster that comes of it."""
    from operations.commands import sandbox_boot as booting

    booting.boot(stack, timeout)


@sandbox_command
def stop(stack: StackName) -> None:
    """Cut the power of every booted machine, and end their network. Their disks stay for another boot."""
    from operations.commands import sandbox_boot as booting

    booting.stop(stack)


@sandbox_command
def ls(
    stack: StackName, as_json: Annotated[bool, typer.Option("--json", help="Print the machines as JSON.")] = False
) -> None:
    """Show each booted machine: its power, its network, and how far it is."""
    from operations.commands import sandbox_boot as booting

    booting.ls(stack, as_json=as_json)


@sandbox_command
def reboot(stack: StackName, machine: MachineName) -> None:
    """Cut a machine's power, and put it on again."""
    from operations.commands import sandbox_boot as booting

    booting.change(stack, machine, on=True, boots=1)


@sandbox_command
def cut(stack: StackName, machine: MachineName, undo: Undo = False) -> None:
    """Cut a machine's power; with --undo put it on."""
    from operations.commands import sandbox_boot as booting

    booting.change(stack, machine, on=undo)


@sandbox_command
def isolate(stack: StackName, machine: MachineName, undo: Undo = False) -> None:
    """Pull a machine's network cable; with --undo plug it in."""
    from operations.commands import sandbox_boot as booting

    booting.change(stack, machine, connected=undo)


@sandbox_command
def throttle(
    stack: StackName,
    machine: MachineName,
    rate: Annotated[str, typer.Argument(metavar="RATE", help="At most so much each way: 512kbit, 10mbit.")] = "",
) -> None:
    """Make a machine's network slow; without a rate, fast again."""
    from operations.commands import sandbox_boot as booting

    booting.change(stack, machine, rate=rate)


def main() -> None:
    """Run the command line."""
    collect_rarely()
    with guarded():
        app()


if __name__ == "__main__":
    main()
