"""`mullion lint`: judge manifests by what Windows nodes can run."""

from collections.abc import Sequence
from pathlib import Path

from components.lint import Context, Level, by_id
from components.lint.documents import Manifests
from components.lint.judge import Verdict
from components.lint.judge import lint as judge
from operations.console.exits import Exit, Stop
from operations.manifests.reading import STDIN, objects
from operations.manifests.shown import FORMATS
from operations.stacks import stack_files


def lint(
    files: Sequence[str], *, stack: str | None, format_: str, output: Path | None, ignore: Sequence[str], strict: bool
) -> None:
    """Print the findings. Raises Stop for a file that cannot be read, and for errors (strict: or warnings) found."""
    _check(files, format_, ignore)
    context = Context(stack_files.load(stack).spec) if stack else Context()
    items = tuple(each for name in files for each in objects(name))
    verdict = judge(Manifests(items), context, ignore)
    text = FORMATS[format_](verdict, len(items))
    if output is None:
        print(text, flush=True)
    else:
        output.write_text(text + "\n", "utf-8")
    bad = _bad(verdict, strict=strict)
    if bad:
        raise Stop(Exit.FAILED, f"{bad} of {len(verdict.findings)} findings must be corrected")


def _check(files: Sequence[str], format_: str, ignore: Sequence[str]) -> None:
    if format_ not in FORMATS:
        raise Stop(Exit.USAGE, f"--format {format_}: unknown format; write one of: {', '.join(FORMATS)}")
    if unknown := sorted({*ignore} - {*by_id()}):
        raise Stop(Exit.USAGE, f"--ignore {unknown[0]}: unknown rule; docs/lint.md lists the rules")
    if [*files].count(STDIN) > 1:
        raise Stop(Exit.USAGE, "- is given twice, but standard input can be read only once")


def _bad(verdict: Verdict, *, strict: bool) -> int:
    levels = {Level.ERROR, Level.WARNING} if strict else {Level.ERROR}
    return sum(each.rule.level in levels for each in verdict.findings)
