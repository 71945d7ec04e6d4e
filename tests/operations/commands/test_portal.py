"""`mullion portal`: what it starts, and what it says without its packages. tests/portal drives the portal itself."""

import importlib.util
import os
import sys
from collections.abc import Callable

import pytest
from typer.testing import Result

from operations.console.exits import Exit

Run = Callable[..., Result]


def test_portal_replaces_the_process_by_the_portal_on_the_named_port(
    mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _program, words: started.append(words))
    monkeypatch.setattr(os, "chdir", lambda _folder: None)
    assert mullion("portal", "--port", "9000").exit_code == Exit.OK
    assert started == [[sys.executable, "-m", "portal", "all", "9000"]]


def test_portal_names_the_missing_packages_and_the_extra(mullion: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "waitress" else object())
    result = mullion("portal")
    assert result.exit_code == Exit.USAGE
    assert "(waitress)" in result.stderr
    assert "[portal]" in result.stderr
