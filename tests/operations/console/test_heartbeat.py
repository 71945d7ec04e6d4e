"""A command that waits says what it waits for every 15 s."""

import pytest

from operations.console.heartbeat import Heartbeat


def test_a_wait_is_never_silent_for_longer_than_15_s(capsys: pytest.CaptureFixture[str]) -> None:
    now = 100.0
    heart = Heartbeat(lambda: now)
    lines: list[str] = []
    for seconds in (0, 14.9, 15, 20, 30):
        now = 100.0 + seconds
        heart.beat("web-0")
        lines += capsys.readouterr().err.splitlines()
    assert lines == ["mullion: waiting for web-0 (15 s)", "mullion: waiting for web-0 (30 s)"]


def test_a_line_of_the_command_itself_delays_the_next_beat(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    heart = Heartbeat(lambda: now)
    now = 14.0
    heart.reset()
    now = 20.0
    heart.beat("web-0")
    assert capsys.readouterr().err == ""
