"""The file that decides for the API server which requests are allowed (authorization.py)."""

from pathlib import Path

import authorization
from run import Run, Step
from writing import write_whole

from kinds.files import MODES, plain, written


def _content(file: Path, webhook: str) -> bytes:
    """Return the configuration, with the identities that the file refuses now; the agent lists them."""
    text = file.read_text(errors="replace") if plain(file) else ""
    return authorization.document(authorization.parsed(text), webhook)


def configuration_holds(run: Run, step: Step) -> bool:
    """Return whether the private file has this version's form."""
    file = run.path(step["path"])
    return written(file, _content(file, step["webhook"]), MODES["private"])


def make_configuration(run: Run, step: Step) -> None:
    """Write the file atomically; identities that it refuses stay refused."""
    file = run.path(step["path"])
    write_whole(file, _content(file, step["webhook"]), MODES["private"])
