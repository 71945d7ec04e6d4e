"""Log file of the engine's output, without secrets: `mullion run` keeps that of previews, updates and removals."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from threading import Lock

from operations.console import faults

LOGGED = frozenset({"preview", "up", "refresh", "destroy"})
"""Commands of the engine whose output is kept. Others, such as `stack export --show-secrets`, print secrets."""
_BEGIN, _END = re.compile("-----BEGIN [A-Z0-9 ]*PRIVATE KEY"), re.compile("-----END [A-Z0-9 ]*PRIVATE KEY")

_files: list[Path] = []
_lock = Lock()


@contextmanager
def logged(file: Path) -> Iterator[None]:
    """Append the engine's lines to a file of mode 0600 while this context is open."""
    _files.append(file)
    try:
        yield
    finally:
        _files.remove(file)


def recorder(args: Sequence[str], hear: Callable[[str], object] | None) -> Callable[[str], object] | None:
    """Return `hear`, or a wrapper that also writes each line to the open log. args: the engine's arguments."""
    if not _files or not args or args[0] not in LOGGED:
        return hear
    file, in_key = _files[-1], False

    def record(line: str) -> None:
        nonlocal in_key
        if not in_key:
            _append(file, f"{datetime.now(timezone.utc):%H:%M:%S} {args[0]}: {faults.redacted(line)}")
        began, ended = _BEGIN.search(line), _END.search(line)
        in_key = (bool(began) or in_key) and not ended
        if hear:
            hear(line)

    return record


def _append(file: Path, line: str) -> None:
    with _lock, open(file, "a", encoding="utf-8", opener=partial(os.open, mode=0o600)) as log:
        log.write(f"{line}\n")
