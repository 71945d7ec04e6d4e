"""Commands of the portal's API: `mullion request`."""

from pathlib import Path
from typing import Annotated

import typer

from operations.cli_options import AsJson
from operations.console.help_text import PanelGroup, adder

SELF_SERVICE, REQUESTS, USE, DECISIONS = "Self-service", "Requests", "Use", "Decisions"

group = typer.Typer(
    cls=PanelGroup,
    no_args_is_help=True,
    help="Ask a portal for clusters. Its address: MULLION_PORTAL_URL; the token: MULLION_PORTAL_TOKEN, or a file.",
)
app = typer.Typer()
app.add_typer(group, name="request", rich_help_panel=SELF_SERVICE)
command = adder(group)
Server = Annotated[
    str, typer.Option("--server", metavar="URL", envvar="MULLION_PORTAL_URL", help="Address of the portal.")
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        envvar="MULLION_PORTAL_TOKEN_FILE",
        help="File with the token. Default: the variable MULLION_PORTAL_TOKEN.",
    ),
]
ClusterName = Annotated[str, typer.Argument(metavar="CLUSTER", help="Name with the team's before it: red-web.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the job has ended; print its output.")]
LOCAL = "http://127.0.0.1:8400"


@command(REQUESTS, "mullion request catalogue", "mullion request catalogue --json")
def catalogue(server: Server = LOCAL, token_file: TokenFile = None, as_json: AsJson = False) -> None:
    """List the templates with their cost and the fields that a team may choose."""
    from operations.commands import request

    request.catalogue(request.Portal(server, token_file), as_json=as_json)


@command(
    REQUESTS,
    "mullion request ask windows-small web --team red",
    "mullion request ask windows-small web --team red --set pools.windows.count=2 --hours 8 --wait",
    "mullion request ask windows-small web --team red --set pools.windows.count=2 --plan",
)
def ask(
    template: Annotated[str, typer.Argument(metavar="TEMPLATE", help="Template of the catalogue.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the cluster, without the team's.")],
    team: Annotated[str, typer.Option(metavar="TEAM", help="Team that the cluster is for.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Choose a field of the template: pools.windows.count=2"),
    ] = None,
    hours: Annotated[int | None, typer.Option(metavar="N", help="Lifetime in hours. Default: the template's.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show machines and cost; ask for no cluster.")] = False,
    wait: Wait = False,
    server: Server = LOCAL,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask for a cluster. It is built at once, or waits for approval if the template's rules require it."""
    from operations.commands import request

    portal = request.Portal(server, token_file)
    choice = request.Choice(template, request.choices(settings or []), hours)
    if plan:
        request.plan(portal, choice, as_json=as_json)
    else:
        request.ask(portal, choice, team, name, wait=wait, as_json=as_json)


@command(REQUESTS, "mullion request list", "mullion request list --all --json", name="list")
def listed(
    gone: Annotated[bool, typer.Option("--all", help="List removed and refused ones too.")] = False,
    to_decide: Annotated[bool, typer.Option("--to-decide", help="List what waits for your decision.")] = False,
    server: Server = LOCAL,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """List the team's clusters and requests."""
    from operations.commands import request

    request.listed(request.Portal(server, token_file), gone=gone, to_decide=to_decide, as_json=as_json)


@command(REQUESTS, "mullion request show red-web", "mullion request show red-web --wait")
def show(
    cluster: ClusterName,
    wait: Wait = False,
    server: Server = LOCAL,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Show a cluster, its newest job with the end of its output, and its history."""
    from operations.commands import request

    request.show(request.Portal(server, token_file), cluster, wait=wait, as_json=as_json)


@command(
    REQUESTS,
    "mullion request change red-web --set pools.windows.count=3",
    "mullion request change red-web --set pools.windows.count=3 --plan",
)
def change(
    cluster: ClusterName,
    settings: Annotated[
        list[str], typer.Option("--set", metavar="PATH=VALUE", help="Field of the template: pools.windows.count=2")
    ],
    plan: Annotated[bool, typer.Option("--plan", help="Show machines and cost; change nothing.")] = False,
    wait: Wait = False,
    server: Server = LOCAL,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Change what was chosen for a cluster that is built: more workers, another size. Its expiry stays."""
    from operations.commands import request

    portal, choices = request.Portal(server, token_file), request.choices(settings)
    if plan:
        request.plan_change(portal, cluster, choices, as_json=as_json)
    else:
        request.act(portal, cluster, "change", {"choices": choices}, wait=wait, as_json=as_json)


@command(REQUESTS, "mullion request extend red-web 4")
def extend(
    cluster: ClusterName,
    hours: Annotated[int, typer.Argument(metavar="HOURS", min=1, help="Hours to add.")],
    wait: Wait = False,
    server: Server = LOCAL,
    token_file: TokenFile = None,
) -> None:
    """Let a cluster live longer, up to the longest life of its template."""
    from operations.commands import request

    request.act(request.Portal(server, token_file), cluster, "extend", {"hours": hours}, wait=wait)


@command(REQUESTS, "mullion request remove red-web --confirm red-web")
def remove(
    cluster: ClusterName,
    confirm: Annotated[
        str | None, typer.Option("--confirm", metavar="NAME", help="Name of the cluster, instead of a question.")
    ] = None,
    wait: Wait = False,
    server: Server = LOCAL,
    token_file: TokenFile = None,
) -> None:
    """Remove a cluster, or take back a request."""
    from operations.commands import request

    portal = request.Portal(server, token_file)
    request.confirmed(cluster, confirm)
    request.act(portal, cluster, "remove", wait=wait)


@command(REQUESTS, "mullion request retry red-web --wait")
def retry(cluster: ClusterName, wait: Wait = False, server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """Run the job of a failed cluster again."""
    from operations.commands import request

    request.act(request.Portal(server, token_file), cluster, "retry", wait=wait)


@command(REQUESTS, "mullion request cancel red-web --wait")
def cancel(cluster: ClusterName, wait: Wait = False, server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """End the job of a cluster. What it had built stays, until you retry or remove it."""
    from operations.commands import request

    request.act(request.Portal(server, token_file), cluster, "cancel", wait=wait)


@command(USE, "mullion request kubeconfig red-web", "mullion request kubeconfig red-web -o -")
def kubeconfig(
    cluster: ClusterName,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="File to write. - is standard output."),
    ] = None,
    server: Server = LOCAL,
    token_file: TokenFile = None,
) -> None:
    """Get a kubeconfig of your role for some hours. The key is made here, and never sent."""
    from operations.commands import request, request_inquiry

    request_inquiry.kubeconfig(request.Portal(server, token_file), cluster, output)


@command(USE, "mullion request verify red-web", "mullion request verify red-web --json")
def verify(cluster: ClusterName, server: Server = LOCAL, token_file: TokenFile = None, as_json: AsJson = False) -> None:
    """Test a running cluster: nodes, pods, Services, DNS, traffic in and out."""
    from operations.commands import request, request_inquiry

    request_inquiry.verify(request.Portal(server, token_file), cluster, as_json=as_json)


@command(USE, "mullion request logs red-web windows-0")
def logs(
    cluster: ClusterName,
    machine: Annotated[str, typer.Argument(metavar="MACHINE", help="Name of the machine, as the plan shows it.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="File to write.")] = None,
    server: Server = LOCAL,
    token_file: TokenFile = None,
) -> None:
    """Fetch a machine's redacted logs."""
    from operations.commands import request, request_inquiry

    request_inquiry.logs(request.Portal(server, token_file), cluster, machine, output)


@command(DECISIONS, "mullion request approve red-web")
def approve(cluster: ClusterName, wait: Wait = False, server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """Approve a request of somebody else."""
    from operations.commands import request

    request.act(request.Portal(server, token_file), cluster, "approve", wait=wait)


@command(DECISIONS, "mullion request refuse red-web")
def refuse(cluster: ClusterName, server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """Refuse a request of somebody else."""
    from operations.commands import request

    request.act(request.Portal(server, token_file), cluster, "refuse", wait=False)
