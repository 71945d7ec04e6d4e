"""Commands that write files about a stack, the check of an existing cluster, and the portal."""

from pathlib import Path
from typing import Annotated

import typer

from operations.cli_options import AsJson, StackName
from operations.console.help_text import adder

INSPECT, SELF_SERVICE = "Inspect", "Self-service"

app = typer.Typer()
command = adder(app)


@command(INSPECT, "mullion report aws-dev -o report.html", "mullion report aws-dev -o report.html --results verify.xml")
def report(
    stack: StackName,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="HTML file to write.")],
    results: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Show these results too: of `verify --junit` or `--json`, or result.json of `run`; repeat it.",
        ),
    ] = None,
) -> None:
    """Write one HTML file about a stack: picture, machines, firewall, times, waves, cost, versions, test results."""
    from operations.commands import html_report

    html_report.report(stack, output, results or [])


@command(INSPECT, "mullion render aws-dev -o rendered", "mullion render aws-dev -o images --image")
def render(
    stack: StackName,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="New or empty folder to write to.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the files of an earlier render in DIR.")] = False,
    image: Annotated[bool, typer.Option("--image", help="Write the files that bake Windows images instead.")] = False,
) -> None:
    """Write every file of every machine to a folder."""
    from operations.commands import render as rendering

    rendering.render(stack, output, force=force, image=image)


@command(INSPECT, "mullion sbom aws-prod", "mullion sbom aws-prod -o aws-prod.cdx.json")
def sbom(
    stack: StackName,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="File to write.")] = None,
) -> None:
    """Write what the machines of a stack run, with digests, as a CycloneDX bill of materials."""
    from operations.commands import sbom as billing

    billing.sbom(stack, output)


@command(
    INSPECT,
    "mullion join admin.conf --check",
    "mullion join admin.conf win --region eu-west-1 --network vpc-0123456789abcdef0"
    " --subnet subnet-0123456789abcdef1=10.0.8.0/24",
)
def join(
    kubeconfig: Annotated[
        Path, typer.Argument(metavar="KUBECONFIG", help="Kubeconfig of the cluster's administrator.")
    ],
    stack: Annotated[str | None, typer.Argument(metavar="[STACK]", help="Name of the stack file to write.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the cluster, and print the patches that it needs.")
    ] = False,
    kubernetes: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Version of the Windows nodes. Default: the newest that fits.")
    ] = None,
    network: Annotated[
        str | None, typer.Option(metavar="ID", help="VPC of the Windows machines, which reaches the cluster.")
    ] = None,
    subnet: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=RANGE", help="Subnet of Windows machines alone, one per zone; repeat it."),
    ] = None,
    nodes: Annotated[
        list[str] | None,
        typer.Option(metavar="RANGE", help="Range of the cluster's machines; repeat it. Default: each node's address."),
    ] = None,
    windows: Annotated[str, typer.Option(metavar="RELEASE", help="2019, 2022 or 2025.")] = "2022",
    region: Annotated[str | None, typer.Option(metavar="NAME", help="Region of the VPC.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the stack file of Windows workers for a cluster that somebody else made with kubeadm (AWS), or check it."""
    from operations.commands import join as joining

    if as_json and not check:
        raise typer.BadParameter("--json needs --check")
    if check:
        joining.check(kubeconfig, kubernetes=kubernetes, as_json=as_json)
        return
    if stack is None:
        raise typer.BadParameter("name the STACK whose file is written, or give --check")
    found = (tuple(subnet or ()), tuple(nodes or ()))
    joining.join(kubeconfig, joining.Wanted(stack, network, *found, windows, region, kubernetes))


@command(SELF_SERVICE, "mullion portal", "mullion portal --port 9000")
def portal(
    port: Annotated[
        int, typer.Option(metavar="N", min=1024, max=65535, help="Port on 127.0.0.1. Default: 8400.")
    ] = 8400,
) -> None:
    """Start the web pages on which teams ask for clusters, with demo teams; builds in the sandbox. Ends with Ctrl-C."""
    from operations.commands import portal as starting

    starting.portal(port)
