"""Commands that build, change, use and remove clusters."""

from pathlib import Path
from typing import Annotated

import typer

from operations.cli_options import (
    AsJson,
    Confirm,
    IgnoredErrors,
    Kubeconfig,
    OnlyMachine,
    OptionalPoolName,
    OptionalStackName,
    Pause,
    PoolName,
    Resume,
    Sandbox,
    StackName,
    Yes,
)
from operations.console.help_text import NegativeValue, adder

CLUSTERS, CHANGE = "Clusters", "Change"

app = typer.Typer()
command = adder(app)


@command(CLUSTERS, "mullion new team-a --cloud gcp --windows 2025", "mullion new team-b --from team-a")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new stack and of its cluster.")],
    cloud: Annotated[str | None, typer.Option(metavar="aws|azure|gcp", help="Cloud to build in.")] = None,
    windows: Annotated[
        str | None, typer.Option(metavar="2019|2022|2025", help="Windows Server of the worker. Default: 2022.")
    ] = None,
    kubernetes: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Kubernetes version. Default: the newest supported one.")
    ] = None,
    region: Annotated[str | None, typer.Option(metavar="REGION", help="Region of the cloud.")] = None,
    source: Annotated[str | None, typer.Option("--from", metavar="STACK", help="Copy the file of this stack.")] = None,
) -> None:
    """Write a commented stack file for a new cluster."""
    from operations.commands import new as writing

    writing.new(name, cloud=cloud, windows=windows, kubernetes=kubernetes, region=region, source=source)


@command(CLUSTERS, "mullion up aws-dev --sandbox", "mullion up aws-dev --refresh")
def up(
    stack: StackName,
    sandbox: Sandbox = False,
    yes: Yes = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Read the cloud first, and revert changes made by hand.")
    ] = False,
    bootable: Annotated[
        bool, typer.Option("--bootable", help="With --sandbox: build machines that `mullion sandbox boot` can start.")
    ] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Only show what would change, as `mullion preview` does.")
    ] = False,
    kubernetes: Annotated[
        str | None, typer.Option(metavar="VERSION", help="With --bootable: use this version, not the stack file's.")
    ] = None,
) -> None:
    """Build the cluster of a stack, or apply the changes of its stack file."""
    from operations.commands import joined, up_and_down
    from operations.stacks.boot_overlay import As

    if (bootable and not sandbox) or (kubernetes and not bootable):
        raise typer.BadParameter("--bootable needs --sandbox, and --kubernetes needs --bootable")
    if preview and bootable:
        raise typer.BadParameter("--preview cannot be combined with --bootable")
    if preview:
        _preview(stack, sandbox)
        return
    if bootable:
        joined.refuse(stack, "sandbox boot")
    up_and_down.up(stack, sandbox=sandbox, yes=yes, refresh=refresh, bootable_as=As(kubernetes) if bootable else None)


def _preview(stack: str, sandbox: bool) -> None:
    from operations.commands import preview

    preview.preview(stack, sandbox=sandbox)


@command(CHANGE, "mullion preview aws-dev --sandbox")
def preview(stack: StackName, sandbox: Sandbox = False) -> None:
    """Show what `up` would create, change, replace and remove, why, in which waves, and how long it takes."""
    _preview(stack, sandbox)


@command(
    CLUSTERS,
    "mullion down aws-dev --sandbox",
    "mullion down aws-prod --confirm aws-prod",
    "mullion down --all --sandbox",
)
def down(
    stack: OptionalStackName = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Remove every stack built in real accounts; with --sandbox, in the sandbox.")
    ] = False,
    sandbox: Sandbox = False,
    yes: Yes = False,
    confirm: Confirm = None,
) -> None:
    """Remove the cluster of a stack. Snapshots of a cluster that does not expire are kept."""
    from operations.commands import down_all, up_and_down

    if all_ and (stack or confirm):
        raise typer.BadParameter("--all takes neither STACK nor --confirm")
    if all_:
        down_all.down_all(sandbox=sandbox, yes=yes)
        return
    if stack is None:
        raise typer.BadParameter("name the stack, or give --all")
    up_and_down.down(stack, sandbox=sandbox, yes=yes, confirmed=confirm)


@command(CLUSTERS, "mullion wait aws-dev", "mullion wait aws-dev --timeout 20m")
def wait(
    stack: StackName,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="Longest wait: 90s, 45m, 2h.")] = "45m",
) -> None:
    """Wait until every machine of a stack is ready, and print the progress of each."""
    from operations.commands import wait as waiting

    waiting.wait(stack, timeout)


@command(
    CLUSTERS,
    "mullion kubeconfig aws-dev",
    "mullion kubeconfig aws-dev --oidc -o team.kubeconfig",
    "mullion kubeconfig aws-dev --user alice --role edit --hours 4 -o alice.kubeconfig",
)
def kubeconfig(
    stack: StackName,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="File to write. - is standard output, the default in a pipe.",
        ),
    ] = None,
    oidc: Annotated[
        bool, typer.Option("--oidc", help="Write a kubeconfig without secrets, for users who sign in through api.oidc.")
    ] = False,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Write a kubeconfig of this person instead.")] = None,
    role: Annotated[
        str | None, typer.Option(metavar="ROLE", help="Of --user: view, edit, admin or cluster-admin.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="GROUP", help="Of --user: group to name in the certificate too.")
    ] = None,
    hours: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=24, help="Of --user: life of the certificate. Default: 1.")
    ] = None,
    public_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of --user: their public key; their private key stays theirs.")
    ] = None,
) -> None:
    """Write the administrator's kubeconfig, valid for at least five days, or a person's, valid for some hours."""
    from operations.commands import joined
    from operations.commands import kubeconfig as kubeconfigs

    if user is None and (role or group or hours or public_key):
        raise typer.BadParameter("--role, --group, --hours and --public-key need --user")
    if user is not None and oidc:
        raise typer.BadParameter("--oidc takes no --user: the provider names the person")
    joined.refuse(stack, "kubeconfig")
    if user is not None:
        from operations.commands import person_kubeconfig as persons

        persons.write(stack, persons.person(user, role, group or (), hours or 1, public_key), output)
        return
    kubeconfigs.kubeconfig(stack, output, oidc=oidc)


@command(
    CLUSTERS,
    "mullion connect aws-dev",
    "mullion connect aws-dev web-0",
    "mullion connect azure-dev web-0 -- Get-Service kubelet",
)
def connect(
    stack: StackName,
    machine: Annotated[
        str | None, typer.Argument(metavar="[NODE]", help="Machine to open a shell on, as `mullion plan` shows it.")
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND]", help="Azure: command to run there."),
    ] = None,
) -> None:
    """Open a tunnel to a private API until Ctrl-C, or a shell on a machine. Needs access: session; no port is open."""
    from operations.commands import connect as connecting

    if machine and words:
        raise typer.Exit(connecting.run(stack, machine, words))
    connecting.connect(stack, machine)


@command(CLUSTERS, "mullion kubectl aws-dev -- get nodes")
def kubectl(
    stack: StackName,
    words: Annotated[list[str], typer.Argument(metavar="-- ARGUMENTS", help="Arguments of kubectl.")],
) -> None:
    """Run kubectl as the cluster's administrator, through a tunnel if the API needs one. Ends with kubectl's code."""
    from operations.commands import connect as connecting

    raise typer.Exit(connecting.kubectl(stack, words))


@command(CLUSTERS, "mullion outputs aws-dev", "mullion outputs aws-dev --json")
def outputs(stack: StackName, as_json: AsJson = False) -> None:
    """Show the endpoint, stores and machines of a built stack. Secrets are not shown."""
    from operations.commands import kubeconfig

    kubeconfig.outputs(stack, as_json=as_json)


@command(CHANGE, "mullion scale aws-dev web 3 --sandbox", cls=NegativeValue)
def scale(
    stack: StackName,
    pool: PoolName,
    count: Annotated[str, typer.Argument(metavar="N", help="New number of machines, 0 to 5000.")],
    sandbox: Sandbox = False,
    yes: Yes = False,
) -> None:
    """Change the number of machines of a pool: write it to the stack file, then run `up`."""
    from operations.commands import scale as scaling

    scaling.scale(stack, pool, count, sandbox=sandbox, yes=yes)


@command(CHANGE, "mullion upgrade aws-prod 1.37.0 --check", "mullion upgrade aws-prod 1.37.0")
def upgrade(
    stack: StackName,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="New Kubernetes version: 1.37.0.")],
    sandbox: Sandbox = False,
    yes: Yes = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only look for what would stop it in the running cluster; change nothing.")
    ] = False,
    ignored: IgnoredErrors = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Upgrade Kubernetes: ask the running cluster what would stop it, upgrade its control plane, then the pools."""
    from operations.commands import joined
    from operations.commands import upgrade as upgrading

    if check and (sandbox or yes):
        raise typer.BadParameter("--check takes neither --sandbox nor --yes")
    joined.refuse(stack, "upgrade")
    if check:
        upgrading.check(stack, version, kubeconfig, ignored or ())
        return
    upgrading.upgrade(stack, version, sandbox=sandbox, yes=yes, own=kubeconfig, ignored=ignored or ())


@command(CHANGE, "mullion roll aws-prod web --machine web-1", "mullion roll aws-prod --pause")
def roll(
    stack: StackName,
    pool: OptionalPoolName = None,
    machine: OnlyMachine = None,
    pause: Pause = False,
    resume: Resume = False,
    sandbox: Sandbox = False,
    yes: Yes = False,
) -> None:
    """Replace the machines of a pool, wave by wave, although their settings did not change; pause and resume a roll."""
    from operations.commands import roll as rolling

    if (pause or resume) and (pool or machine or (pause and (resume or sandbox or yes))):
        raise typer.BadParameter("--pause takes only STACK; --resume only STACK, --sandbox and --yes")
    if pause:
        rolling.pause(stack)
    elif resume:
        rolling.resume(stack, sandbox=sandbox, yes=yes)
    elif pool is None:
        raise typer.BadParameter("name the POOL, or give --pause or --resume")
    else:
        rolling.roll(stack, pool, machine, sandbox=sandbox, yes=yes)
