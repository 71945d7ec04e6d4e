"""Commands of temporary clusters: run, ls, extend, reap."""

from pathlib import Path
from typing import Annotated

import typer

from operations.cli_options import AsJson, Sandbox, StackName, Yes
from operations.console.help_text import adder

TEMPORARY = "Temporary clusters"

app = typer.Typer()
command = adder(app)
Boot = Annotated[
    bool, typer.Option("--boot", help="With --sandbox: boot the machines, so the command has a live cluster.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Change an option of the template: pools.web.count=2; += appends to a list."
    ),
]

Regions = Annotated[
    str, typer.Option("--regions", metavar="NAMES", help="With --by-tags: regions to look in, separated by commas.")
]


def _named(regions: str) -> tuple[str, ...]:
    return tuple(filter(None, (each.strip() for each in regions.split(","))))


@command(
    TEMPORARY,
    "mullion run aws-ci --sandbox -- make test",
    "mullion run aws-ci --sandbox --boot --set kubernetes=1.37.1 -- kubectl get nodes",
    "mullion run aws-ci --yes --name ci-4711 --ttl 2h --set pools.windows.count=2 -- ./smoke.sh",
)
def run(
    template: Annotated[str, typer.Argument(metavar="TEMPLATE", help="Stack whose file is copied for this run.")],
    words: Annotated[list[str], typer.Argument(metavar="-- COMMAND", help="Command to run, with its arguments.")],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the new stack. Default: TEMPLATE and six letters.")
    ] = None,
    ttl: Annotated[
        str | None, typer.Option(metavar="TIME", help="Lifetime of the cluster: 2h. Default: the template's, or 2h.")
    ] = None,
    settings: Settings = None,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep-on-failure",
            metavar="TIME",
            help="If the run fails, keep the cluster this long, and print how to use it.",
        ),
    ] = None,
    artifacts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for reports and logs. Default: .mullion/runs/NAME.")
    ] = None,
    collect: Annotated[
        bool, typer.Option("--collect-always", help="Collect logs and events after a success too.")
    ] = False,
    verify: Annotated[
        str, typer.Option(metavar="CHECKS", help="Checks before the command: all, none, or SMK-02,SMK-07.")
    ] = "all",
    timeout: Annotated[str, typer.Option(metavar="TIME", help="Longest wait for the machines: 45m.")] = "45m",
    sandbox: Sandbox = False,
    yes: Yes = False,
    boot: Boot = False,
    credentials: Annotated[
        bool,
        typer.Option("--pass-credentials", help="Let the command have the credentials of the cloud and the state."),
    ] = False,
) -> None:
    """Build a cluster for one command, run the command with its kubeconfig, and always remove the cluster."""
    from operations.commands import run as running

    if boot and not sandbox:
        raise typer.BadParameter("--boot needs --sandbox")
    wanted = running.Wanted(
        template,
        tuple(words),
        name,
        ttl,
        tuple(settings or ()),
        keep,
        artifacts,
        verify,
        timeout,
        sandbox,
        yes,
        collect,
        boot,
        credentials,
    )
    raise typer.Exit(running.run(wanted))


@command(TEMPORARY, "mullion ls", "mullion ls --sandbox --json", "mullion ls --by-tags azure")
def ls(
    sandbox: Annotated[bool, typer.Option("--sandbox", help="List only this clone's sandboxes.")] = False,
    as_json: AsJson = False,
    cloud: Annotated[
        str,
        typer.Option(
            "--by-tags", metavar="CLOUD", help="All clusters of an account instead, by their tags: aws, azure or gcp."
        ),
    ] = "",
    regions: Regions = "",
) -> None:
    """List the clusters of the backend and of this clone's sandboxes: owner, age, expiry, cost so far, health."""
    if cloud:
        from operations.commands import ls_tags

        ls_tags.run(cloud, _named(regions), sandbox=sandbox, as_json=as_json)
        return
    if regions:
        raise typer.BadParameter("--regions needs --by-tags")
    from operations.commands import ls as listing

    listing.ls(sandbox=sandbox, as_json=as_json)


@command(TEMPORARY, "mullion extend ci-4711 1h", "mullion extend ci-4711 30m --sandbox")
def extend(
    stack: StackName,
    duration: Annotated[str, typer.Argument(metavar="TIME", help="Time to add to the expiry: 30m, 1h, 2d.")],
    sandbox: Sandbox = False,
    yes: Yes = False,
) -> None:
    """Let a temporary cluster live longer: write the new expiry to the stack file, then run `up`.

    Refuses if options, machines or the control plane's bundle would change too; it does not compare other resources.
    """
    from operations.commands import extend as extending

    extending.extend(stack, duration, sandbox=sandbox, yes=yes)


@command(
    TEMPORARY,
    "mullion reap",
    "mullion reap --yes --max 20 --format markdown",
    "mullion reap --by-tags aws --regions eu-west-1,eu-central-1",
)
def reap(
    sandbox: Sandbox = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Remove the expired clusters. Default: only list them.")
    ] = False,
    most: Annotated[int, typer.Option("--max", metavar="N", min=1, help="Remove at most N clusters.")] = 10,
    within: Annotated[
        str, typer.Option("--within", metavar="TIME", help="Begin no removal after this time: 90m.")
    ] = "90m",
    form: Annotated[str, typer.Option("--format", metavar="text|json|markdown", help="Format of the report.")] = "text",
    cloud: Annotated[
        str,
        typer.Option(
            "--by-tags", metavar="CLOUD", help="Clusters without a state instead, by their tags: aws, azure or gcp."
        ),
    ] = "",
    regions: Regions = "",
    snapshots: Annotated[
        bool, typer.Option("--snapshots", help="With --by-tags: remove the stores of etcd's snapshots too.")
    ] = False,
) -> None:
    """List the clusters past their expiry; with --yes remove them. Needs their states, not their stack files."""
    from operations.commands import reap as reaping

    limits = reaping.Limits(most, within)
    if cloud:
        from operations.commands import reap_tags

        reap_tags.run(reap_tags.Asked(cloud, limits, _named(regions), sandbox, yes, snapshots, form))
        return
    if regions or snapshots:
        raise typer.BadParameter("--regions and --snapshots need --by-tags")
    reaping.reap(sandbox=sandbox, yes=yes, limits=limits, form=form)
