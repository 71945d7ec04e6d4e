"""Commands of machine images: `mullion image`."""

from typing import Annotated

import typer

from operations.cli_options import Sandbox, StackName, Yes
from operations.console.help_text import PanelGroup, adder

DOWNLOADS, IMAGES = "Downloads", "Images"

group = typer.Typer(cls=PanelGroup, no_args_is_help=True, help="Golden images of Windows pools.")
app = typer.Typer()
app.add_typer(group, name="image", rich_help_panel=DOWNLOADS)
command = adder(group)


@command(IMAGES, "mullion image bake aws-prod --sandbox", "mullion image bake aws-prod --pool web --keep 5 --yes")
def bake(
    stack: StackName,
    pool: Annotated[
        str | None, typer.Option("--pool", metavar="POOL", help="Windows pool. Default: the stack's only one.")
    ] = None,
    keep: Annotated[
        int, typer.Option("--keep", metavar="N", min=1, help="Keep the N newest images, and the one of the stack file.")
    ] = 3,
    timeout: Annotated[
        str, typer.Option(metavar="TIME", help="Longest wait until the builder has stopped: 90m.")
    ] = "90m",
    pin: Annotated[bool, typer.Option(help="Write the image into the stack file.")] = True,
    sandbox: Sandbox = False,
    yes: Yes = False,
) -> None:
    """Bake an image of a Windows pool on a temporary machine, and write it into the stack file."""
    from operations.commands import bake_image, joined

    joined.refuse(stack, "image bake")
    bake_image.bake(bake_image.Wanted(stack, pool, keep, timeout, pin, sandbox, yes))


@command(IMAGES, "mullion image clean aws-ci --sandbox", "mullion image clean aws-prod --keep 3")
def clean(
    stack: StackName,
    keep: Annotated[
        int | None,
        typer.Option("--keep", metavar="N", min=0, help="Also delete images, but the N newest and the stack file's."),
    ] = None,
    sandbox: Sandbox = False,
) -> None:
    """Remove a builder that a killed run left; with --keep also old images."""
    from operations.commands import bake_image

    bake_image.clean(stack, keep, sandbox=sandbox)
