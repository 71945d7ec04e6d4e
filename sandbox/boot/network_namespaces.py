"""Calls and threads in a network namespace: their sockets, and those of threads that they start, belong to it."""

import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

CLONE_NEWNET = 0x40000000
Result = TypeVar("Result")


def enter(space: str) -> None:
    """Move the current thread, and no other, into the namespace. Raises OSError if that fails."""
    with Path(f"/run/netns/{space}").open() as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
            raise OSError(
                ctypes.get_errno(), f"cannot enter network namespace {space}: {os.strerror(ctypes.get_errno())}"
            )


def within(space: str, call: Callable[[], Result]) -> Result:
    """Return the result of a call in a network namespace; raise its exception."""
    results: list[Result] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            enter(space)
            results.append(call())
        except BaseException as error:  # raised in the caller's thread
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return results[0]


def thread(space: str, call: Callable[..., Any], *words: Any) -> threading.Thread:
    """Start a thread that makes the call in the namespace; return the thread."""

    def run() -> None:
        enter(space)
        call(*words)

    started = threading.Thread(target=run, daemon=True)
    started.start()
    return started
