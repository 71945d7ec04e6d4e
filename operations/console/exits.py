"""Exit codes of `mullion`, and the exceptions that end a command."""

import errno
import sys
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command; docs/cli.md shows this table."""

    OK = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    NO_ENGINE = 4
    DRIFT = 5
    LOCKED = 6
    FAULT = 70
    INTERRUPTED = 130


MEANINGS = {
    Exit.OK: "done",
    Exit.FAILED: "the engine or the cloud failed, or standard output could not be written",
    Exit.USAGE: "the stack file or the command line is wrong; nothing was started",
    Exit.REFUSED: "refused: stack built elsewhere, protected, above its budget, or not confirmed; nothing was changed",
    Exit.NO_ENGINE: "no Pulumi engine was found or could be built",
    Exit.DRIFT: "the cloud differs from the state: it was changed by hand",
    Exit.LOCKED: "another run holds the lock of the stack; nothing was changed, try again later",
    Exit.FAULT: "a fault in mullion; the message names a file with the details",
    Exit.INTERRUPTED: "interrupted",
}


class Stop(Exception):
    """Ends a command. The message says what is wrong and what to do; it is printed without a traceback."""

    def __init__(self, code: Exit, message: str) -> None:
        super().__init__(message)
        self.code = code


class EngineError(Exception):
    """No usable engine, or no way to build one; the message says what to do."""


_RESOURCES = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Errors of a system call because this machine lacks a resource, such as disk space; they may name no file."""


def ending(error: BaseException) -> tuple[Exit, str]:
    """Return the exit code and the message for an error that ends a command.

    A message may quote what a server or a file says, so it has no terminal escapes.
    """
    from components.rollout.plain_text import plain

    code, message = _ending(error)
    return code, plain(message, keep="\n\t")


def _ending(error: BaseException) -> tuple[Exit, str]:
    from components.spec.report import SpecError

    if isinstance(error, Stop):
        return error.code, str(error)
    if isinstance(error, SpecError):
        return Exit.USAGE, str(error)
    if isinstance(error, EngineError):
        return Exit.NO_ENGINE, str(error)
    if isinstance(error, KeyboardInterrupt):
        return Exit.INTERRUPTED, "interrupted"
    if isinstance(error, OSError) and (error.filename is not None or error.errno in _RESOURCES):
        where = "" if error.filename is None else f"{error.filename}: "
        return Exit.FAILED, f"{where}{error.strerror}"
    if (sqlite := sys.modules.get("sqlite3")) and isinstance(error, sqlite.Error):
        return Exit.FAILED, f"the sandbox's database (.mullion/sandbox/STACK/world.db) cannot be used: {error}"
    from operations.console import faults

    return Exit.FAULT, faults.report(error)
