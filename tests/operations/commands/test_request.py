"""`mullion request` without a portal: the token, the address, what is refused. tests/portal runs it with a real one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from operations.console.exits import Exit
from tests.operations.strange_servers import closed_port

Run = Callable[..., Result]
LINES = [
    ("catalogue", "--json"),
    ("ask", "small", "web", "--team", "red", "--set", "a=1", "--hours", "3", "--plan", "--wait", "--json"),
    ("list", "--all", "--to-decide", "--json"),
    ("show", "red-web", "--wait", "--json"),
    ("extend", "red-web", "2", "--wait"),
    ("remove", "red-web", "--confirm", "red-web", "--wait"),
    ("retry", "red-web", "--wait"),
    ("cancel", "red-web", "--wait"),
    ("approve", "red-web", "--wait"),
    ("refuse", "red-web"),
    ("kubeconfig", "red-web", "-o", "-"),
    ("verify", "red-web", "--json"),
    ("logs", "red-web", "windows-0", "-o", "logs.zip"),
]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("URL", "TOKEN", "TOKEN_FILE"):
        monkeypatch.delenv(f"MULLION_PORTAL_{name}", raising=False)


@pytest.mark.parametrize("words", LINES, ids=lambda words: words[0])
def test_request_without_a_token_says_where_tokens_are_made(words: tuple[str, ...], mullion: Run) -> None:
    result = mullion("request", *words)
    assert result.exit_code == Exit.USAGE
    assert "set MULLION_PORTAL_TOKEN, or --token-file" in result.stderr


@pytest.mark.parametrize("words", LINES, ids=lambda words: words[0])
def test_request_says_that_no_portal_answers_and_does_not_print_the_token(
    words: tuple[str, ...], mullion: Run, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("mullion_secret\n")
    address = f"http://127.0.0.1:{closed_port()}"
    result = mullion("request", *words, "--server", address, "--token-file", str(file))
    assert result.exit_code == Exit.FAILED
    assert f"{address}: no portal answers" in result.stderr
    assert "mullion_secret" not in result.output


@pytest.mark.parametrize(
    "server",
    ["http://portal.example.com", "http://192.0.2.1:8400", "ftp://127.0.0.1", "portal", "https://", "http://[::1"],
)
def test_request_sends_the_token_by_https_or_to_this_machine_only(
    server: str, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MULLION_PORTAL_TOKEN", "mullion_secret")
    result = mullion("request", "list", "--server", server)
    assert result.exit_code == Exit.USAGE
    assert result.stderr.startswith(f"mullion: --server: {server}")


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), (b"", "is empty"), (b"\xff", "it is not text"), (b"a\nb", "characters")],
)
def test_request_names_the_file_that_has_no_token(
    content: bytes | None, said: str, mullion: Run, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    result = mullion("request", "list", "--token-file", str(tmp_path / "token"))
    assert result.exit_code == Exit.USAGE
    assert said in result.stderr


def test_request_removes_nothing_without_the_name(mullion: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULLION_PORTAL_TOKEN", "mullion_secret")
    result = mullion("request", "remove", "red-web", "--confirm", "red-wob")
    assert result.exit_code == Exit.REFUSED
    assert "--confirm red-web" in result.stderr


def test_request_names_a_setting_without_a_value(mullion: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULLION_PORTAL_TOKEN", "mullion_secret")
    result = mullion("request", "ask", "small", "web", "--team", "red", "--set", "count")
    assert (result.exit_code, "write PATH=VALUE" in result.stderr) == (Exit.USAGE, True)
