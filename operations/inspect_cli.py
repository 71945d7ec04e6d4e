"""Commands that show and judge clusters, and commands for downloads and versions."""

from pathlib import Path
from typing import Annotated

import typer

from operations.cli_options import AsJson, Kubeconfig, OptionalStackName, Sandbox, StackName
from operations.console.help_text import adder, optional_value

INSPECT, DOWNLOADS = "Inspect", "Downloads"

app = typer.Typer()
command = adder(app)


@command(INSPECT, "mullion plan aws-dev", "mullion plan aws-dev --against", cls=optional_value("--against"))
def plan(
    stack: StackName,
    as_json: AsJson = False,
    resources: Annotated[
        bool, typer.Option("--resources", help="Also run the Pulumi program offline, and count its resources.")
    ] = False,
    firewall: Annotated[bool, typer.Option("--firewall", help="List every firewall rule.")] = False,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="[FILE]",
            help="Compare with the built cluster, or with FILE (`plan --json`, `pulumi stack export`).",
        ),
    ] = None,
) -> None:
    """Preview a cluster offline: machines, addresses, files, firewall rules, warnings."""
    from operations.commands import plan as planning

    planning.plan(stack, as_json=as_json, resources=resources, against=against, firewall=firewall)


@command(INSPECT, "mullion cost aws-dev", "mullion cost aws-dev --against before.json", "mullion cost update")
def cost(
    stack: Annotated[str, typer.Argument(metavar="STACK|update", help="Name of the stack, or update for new prices.")],
    against: Annotated[Path | None, typer.Option(metavar="FILE", help="Compare with an earlier `cost --json`.")] = None,
    traffic: Annotated[float | None, typer.Option(metavar="GB", min=0, help="Monthly traffic to the internet.")] = None,
    stored: Annotated[float | None, typer.Option(metavar="GIB", min=0, help="Files in the cluster's stores.")] = None,
    cloud: Annotated[list[str] | None, typer.Option(metavar="CLOUD", help="Cloud to update; repeat it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a stack costs per hour and per month, by pool, from dated price tables. Only `update` is online."""
    from components.cost.bill import Usage
    from operations.commands import cost as costing

    if stack == costing.UPDATE:
        if against or as_json or traffic is not None or stored is not None:
            raise typer.BadParameter("--against, --traffic, --stored and --json are for a stack, not for update")
        costing.update(cloud or [])
        return
    if cloud:
        raise typer.BadParameter("--cloud is for `mullion cost update`; a stack names its cloud")
    costing.cost(stack, as_json=as_json, against=against, usage=Usage(traffic, stored))


@command(INSPECT, "mullion explain", "mullion explain pools.web.kubelet.system_reserved")
def explain(
    path: Annotated[
        str, typer.Argument(metavar="[PATH]", help="Path of the option, such as network.mode or pools.*.rollout.")
    ] = "",
) -> None:
    """Explain an option of the stack file: type, default, values, example, and what a change of it does."""
    from operations.commands import explain as explaining

    explaining.explain(path)


@command(INSPECT, "mullion lint deployment.yaml --stack aws-dev", "mullion lint - --format sarif")
def lint(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...|-", help="Manifests, YAML or JSON. - is standard input.")
    ],
    stack: Annotated[
        str | None, typer.Option(metavar="STACK", help="Judge by this stack's version, network and pools.")
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="text|json|sarif|junit", help="Format of the findings.")
    ] = "text",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="File to write the findings to.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(metavar="RULE", help="Id of a rule to ignore; repeat it.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 on warnings too.")] = False,
) -> None:
    """Find what Windows nodes cannot run in manifests: fields, volumes, images, missing selectors. Offline."""
    from operations.commands import lint as linting

    linting.lint(files, stack=stack, format_=format_, output=output, ignore=ignore or [], strict=strict)


@command(INSPECT, "mullion drift aws-prod", "mullion drift aws-prod --json")
def drift(stack: StackName, as_json: AsJson = False) -> None:
    """List what was changed or removed by hand in the cloud. Changes nothing; exits with 5 on a difference."""
    from operations.commands import drift as drifting

    drifting.drift(stack, as_json=as_json)


@command(INSPECT, "mullion verify aws-dev", "mullion verify aws-dev --outside example.com:443 --junit rows.xml")
def verify(
    stack: StackName,
    as_json: AsJson = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the rows as JUnit XML.")] = None,
    kubeconfig: Kubeconfig = None,
    outside: Annotated[
        list[str] | None, typer.Option(metavar="NAME:PORT", help="Address outside the cluster that pods must reach.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="Image of the Linux pods, with busybox. Default: busybox.")
    ] = None,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="Longest wait for Ready nodes: 90s, 10m.")] = "10m",
    reboot: Annotated[bool, typer.Option("--reboot", help="Reboot each machine (sandbox), and verify again.")] = False,
    upstream: Annotated[
        Path | None, typer.Option(metavar="E2E.TEST", help="Also run Kubernetes' Windows tests with this program.")
    ] = None,
    images: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --upstream: list of the test images for Windows.")
    ] = None,
) -> None:
    """Test a running cluster: nodes, pods, Services, DNS, traffic in and out. Removes its test objects."""
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


@command(INSPECT, "mullion logs aws-dev web-0")
def logs(
    stack: StackName,
    machine: Annotated[str, typer.Argument(metavar="NODE", help="Machine name, as `mullion plan` shows it.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="File to write. Default: in .mullion/STACK/logs/."),
    ] = None,
) -> None:
    """Fetch a machine's redacted logs and settings; needs no open port and no running kubelet."""
    from operations.commands import logs as fetching_logs

    fetching_logs.logs(stack, machine, output)


@command(INSPECT, "mullion doctor", "mullion doctor aws-dev")
def doctor(stack: OptionalStackName = None) -> None:
    """Check this computer for what the commands need, and show where each stack is built."""
    from operations.commands import doctor as doctoring

    doctoring.doctor(stack)


@command(
    INSPECT,
    "mullion first-contact --os windows-2022 -o first-contact.ps1",
    "mullion first-contact --read first-contact.zip",
)
def first_contact(
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="File to write.")] = None,
    os_: Annotated[
        str, typer.Option("--os", metavar="OS", help="windows-2019, windows-2022 or windows-2025.")
    ] = "windows-2022",
    runtime: Annotated[str, typer.Option(metavar="containerd|docker", help="Container runtime.")] = "containerd",
    network: Annotated[str, typer.Option(metavar="overlay|l2bridge", help="Network mode of the plan.")] = "overlay",
    cloud: Annotated[str, typer.Option(metavar="aws|azure|gcp", help="Cloud of the machine.")] = "aws",
    kubernetes: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Kubernetes version. Default: the newest supported one.")
    ] = None,
    change: Annotated[
        bool, typer.Option("--change", help="The script changes the machine even without -Change. For user-data.")
    ] = False,
    fetch_from: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Also write FILE.user-data, which downloads FILE from this https URL."),
    ] = None,
    archive: Annotated[
        Path | None, typer.Option("--read", metavar="ARCHIVE", help="Show the differences that ARCHIVE reports.")
    ] = None,
    golden: Annotated[
        Path | None, typer.Option(metavar="DIR", help="With --read: write the dumps below DIR, as test data.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write one file that tests Mullion on any Windows Server without a cluster, or read its result."""
    if archive is not None:
        from operations.commands import first_contact_read

        first_contact_read.show(archive, as_json=as_json, golden=golden)
        return
    if output is None or golden is not None or as_json:
        raise typer.BadParameter("give -o FILE to write the file, or --read ARCHIVE (which takes --golden and --json)")
    from operations.commands import first_contact as writing

    chosen = writing.spec(cloud, os_, runtime, network, kubernetes)
    writing.write(chosen, output, change=change, fetch_from=fetch_from)


@command(DOWNLOADS, "mullion versions", "mullion versions aws-dev")
def versions(stack: OptionalStackName = None) -> None:
    """Show which versions work together, when their support ends, and what to upgrade to."""
    from operations.commands import versions as supported

    supported.versions(stack)


@command(
    DOWNLOADS, "mullion pin cri-dockerd 0.4.3", "mullion pin image web --stack aws-dev", "mullion pin images aws-dev"
)
def pin(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of a download (kubernetes-node, ...), or: image, images.")
    ] = None,
    version: Annotated[
        str | None,
        typer.Argument(metavar="VERSION", help="Version of the download; after image: a pool; after images: a stack."),
    ] = None,
    os_: Annotated[str | None, typer.Option("--os", metavar="linux|windows", help="Operating system.")] = None,
    file: Annotated[str | None, typer.Option(metavar="FILE", help="File of entries. Default: artifacts.json.")] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Address of the download.")] = None,
    checksums: Annotated[str | None, typer.Option(metavar="URL", help="Address of a checksum file.")] = None,
    digest: Annotated[str | None, typer.Option(metavar="DIGEST", help="Digest from a source that you trust.")] = None,
    first_use: Annotated[
        bool, typer.Option("--first-use", help="Trust the file that is downloaded now, without a published digest.")
    ] = False,
    download: Annotated[bool, typer.Option(help="Also fetch the download and check its digest.")] = True,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare entries (only those of NAME) with their publishers.")
    ] = False,
    stack: Annotated[str | None, typer.Option(metavar="STACK", help="With image: name of the stack.")] = None,
    sandbox: Sandbox = False,
) -> None:
    """Record the digest of a download or of a stack's container images, or a pool's newest machine image."""
    from operations.commands import pin as pinning

    if verify:
        pinning.verify(name, file)
    elif name is None or version is None:
        raise typer.BadParameter("give NAME and VERSION, or image and a pool, or images and a stack, or --verify")
    elif name == "image":
        from operations.commands import pin_image

        if stack is None:
            raise typer.BadParameter("with image, name the stack: --stack STACK")
        pin_image.pin(stack, version, sandbox=sandbox)
    elif name == "images":
        from operations.commands import pin_images

        pin_images.pin(version, file)
    else:
        pinning.pin(pinning.Wanted(name, version, os_, url, checksums, digest, first_use, download), file)


@command(DOWNLOADS, "mullion mirror /srv/mirror aws-dev", "mullion mirror https://files.example.com/mirror aws-dev")
def mirror(
    target: Annotated[str, typer.Argument(metavar="DIR|URL", help="Folder, or URL of a web server that takes PUT.")],
    stack: StackName,
) -> None:
    """Copy every download of a stack's machines to a mirror, for networks without internet access."""
    from operations.commands import mirror as mirroring

    mirroring.mirror(target, stack)
