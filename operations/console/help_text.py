"""Help pages of the command: commands in panels, summaries in whole lines, examples at the end."""

import re
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

OF_OTHER_TOOLS = {
    **dict.fromkeys(("apply", "create", "deploy", "update"), "up"),
    **dict.fromkeys(("delete", "destroy", "remove"), "down"),
    **dict.fromkeys(("list", "stacks", "clusters"), "ls"),
    **dict.fromkeys(("status", "ready"), "wait"),
    **dict.fromkeys(("diff", "dry-run"), "preview"),
    **dict.fromkeys(("refresh", "detect"), "drift"),
    **dict.fromkeys(("get-kubeconfig", "get-credentials"), "kubeconfig"),
    **dict.fromkeys(("init", "generate"), "new"),
    **dict.fromkeys(("ssh", "shell", "tunnel"), "connect"),
    **dict.fromkeys(("validate", "check"), "plan"),
    **dict.fromkeys(("test", "conformance"), "verify"),
    "output": "outputs",
    "resize": "scale",
    "help": "--help",
    "version": "--version",
}
"""Commands of pulumi, terraform, kubectl, kops and eksctl -> the command of mullion that does the same."""


class PanelGroup(TyperGroup):
    """A group of commands whose help lists them by panel, each with the first paragraph of its own help."""

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """Find the command; if the word is another tool's command, name the one that does the same here."""
        known = OF_OTHER_TOOLS.get(args[0]) if args and args[0] not in self.commands else None
        if known and (known.startswith("-") or known in self.commands):
            ctx.fail(f"No such command '{args[0]}'. Write: {ctx.command_path} {known}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            panel = getattr(command, "rich_help_panel", None) or "Commands"
            panels.setdefault(panel, []).append((name, _summary(command.help or "")))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


def _summary(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())


Add = Callable[[Callable[..., None]], Callable[..., None]]
"""A decorator that adds a function to a group of commands, and returns the function."""


def adder(app: typer.Typer) -> Callable[..., Add]:
    """Return the decorator `command(panel, *examples)` of app.

    panel: heading of the list in which `--help` shows the command. examples: command lines, shown below its options.
    cls: class of the command. name: word of the command, if it differs from the name of the function.
    """

    def command(panel: str, *examples: str, cls: type[TyperCommand] = TyperCommand, name: str | None = None) -> Add:
        heading = "Example:" if len(examples) == 1 else "Examples:"
        # \b: the formatter keeps the line breaks of this paragraph
        lines = "\n".join(["\b", heading, *(f"  {example}" for example in examples)])
        return app.command(name, cls=cls, rich_help_panel=panel, epilog=lines)

    return command


def optional_value(option: str) -> type[TyperCommand]:
    """Return a class of commands in which an option may lack its value, which is then an empty text.

    The value is missing if the option comes last or before another option.
    """

    class OptionalValue(TyperCommand):
        def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
            words: list[str] = []
            for word, following in zip(args, [*args, "-"][1:], strict=True):
                words += [word, ""] if word == option and following.startswith("-") else [word]
            return super().parse_args(ctx, words)

    return OptionalValue


class NegativeValue(TyperCommand):
    """A command that takes -1 as the value of an argument, so that its own check can refuse it."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        numbers = [word for word in args if re.fullmatch("-[0-9.]+", word)]
        if not numbers:
            return super().parse_args(ctx, args)
        # after --, every word is the value of an argument
        options = [word for word in args if word.startswith("-") and word not in (*numbers, "--")]
        return super().parse_args(ctx, [*options, "--", *(word for word in args if word not in (*options, "--"))])
