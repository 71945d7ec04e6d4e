"""The `mullion` command. Each command imports what it needs when it runs, so that `--help` and `plan` start fast."""

import os
import shlex
import sys
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from components.sdk.garbage import collect_rarely, end_without_collection
from components.version import VERSION
from operations import (
    cluster_cli,
    documents_cli,
    ephemeral_cli,
    image_cli,
    inspect_cli,
    recover_cli,
    request_cli,
    sandbox_cli,
)
from operations.console.command_line import continued_by
from operations.console.exits import ending
from operations.console.help_text import PanelGroup
from operations.console.output import guarded

LINE = "mullion.line"
"""Key of the whole command line in the context of a command."""


class Program(PanelGroup):
    """The whole command: prints an error that a person can act on as one message, and exits with its code."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        ctx.meta[LINE] = shlex.join(["mullion", *args])
        return super().parse_args(ctx, args)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            with continued_by(lambda: ctx.meta[LINE]):
                return super().invoke(ctx)
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, (typer.Exit, typer.Abort, TyperException)):
                raise
            code, message = ending(error)
            sys.stdout.flush()
            print(f"mullion: {message}", file=sys.stderr)
            raise typer.Exit(code) from None


app = typer.Typer(
    cls=Program,
    name="mullion",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"mullion {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Kubernetes clusters that run Windows."""


app.add_typer(cluster_cli.app)
app.add_typer(recover_cli.app)
app.add_typer(ephemeral_cli.app)
app.add_typer(inspect_cli.app)
app.add_typer(documents_cli.app)
app.add_typer(image_cli.app)
app.add_typer(request_cli.app)
app.add_typer(sandbox_cli.app)


def main() -> None:
    """Run the command line."""
    collect_rarely()
    end_without_collection()
    # pydantic would read the metadata of every installed package in search of plugins
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    with guarded():
        app()


if __name__ == "__main__":
    main()
