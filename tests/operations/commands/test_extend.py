"""`mullion extend`: a later expiry."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from components.spec import expiry
from operations.commands import extend, stack_change
from operations.console.exits import Exit
from operations.recovery import recovery
from tests.operations.states import NOW, deployment

Run = Callable[..., Result]


@pytest.fixture
def built(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], list[Any]]:
    """Give `built(state)`: a cluster of this state at NOW; returns what `extend` writes to the stack file."""

    def state(found: dict[str, Any]) -> list[Any]:
        written: list[Any] = []

        @contextmanager
        def opened(name: str) -> Any:
            yield None

        monkeypatch.setattr(extend, "built", opened)
        monkeypatch.setattr(recovery, "export", lambda run: {"deployment": found})
        monkeypatch.setattr(expiry, "now", lambda: NOW)
        monkeypatch.setattr(stack_change, "change", lambda stack, keys, value, *_, **__: written.append((keys, value)))
        return written

    return state


@pytest.mark.parametrize(
    ("expires", "after"), [("10h", "2026-11-23T21:00:00Z"), ("1h", "2026-11-23T20:00:00Z")], ids=["later", "past"]
)
def test_extend_moves_the_expiry_from_now_if_it_has_passed(
    expires: str, after: str, built: Callable[..., list[Any]], mullion: Run
) -> None:
    written = built(deployment(expires=expires))
    assert mullion("extend", "small", "1h", "--sandbox", "--yes").exit_code == Exit.OK
    assert written == [(("expires",), f'"{after}"')]


@pytest.mark.parametrize(
    ("state", "duration", "code", "says"),
    [
        (deployment(), "1h", Exit.REFUSED, "does not expire"),
        (deployment(expires="soon"), "1h", Exit.REFUSED, "neither a duration nor a UTC time"),
        ({}, "1h", Exit.REFUSED, "no resources"),
        (deployment(expires="1h"), "an hour", Exit.USAGE, "write 90s, 10m, 2h or 3d"),
        (deployment(expires="1h"), "0s", Exit.USAGE, "between 1s and 366d"),
        (deployment(expires="1h"), "9999d", Exit.USAGE, "between 1s and 366d"),
    ],
)
def test_extend_refuses_what_it_cannot_extend(
    state: dict[str, Any], duration: str, code: Exit, says: str, built: Callable[..., list[Any]], mullion: Run
) -> None:
    written = built(state)
    result = mullion("extend", "small", duration)
    assert (result.exit_code, written) == (code, [])
    assert says in result.stderr
