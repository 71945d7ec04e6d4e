"""`mullion doctor STACK`: what sessions need on this machine, and the state of large clusters."""

from pathlib import Path

import pytest

from components.rollout import session_commands
from tests.operations.conftest import STACK
from tests.operations.test_cli import Run, signed_in


def test_doctor_names_what_sessions_lack_for_stacks_that_use_them(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(monkeypatch, "111122223333")
    monkeypatch.setattr(session_commands, "missing", lambda cloud: f"the plugin of {cloud} is too old")
    stack, said = (
        clone / "stacks" / "Pulumi.small.yaml",
        "wrong  programs for sessions\n       the plugin of aws is too old",
    )
    assert said not in mullion("doctor", "small").stdout
    stack.write_text(f"{STACK}    access: session\n")
    assert said in mullion("doctor", "small").stdout


@pytest.mark.parametrize(
    ("backend", "compression", "count", "noted"),
    [
        ("s3://states", "", 50, True),
        ("s3://states", "", 5, False),
        ("https://api.pulumi.com", "", 50, False),
        ("s3://states", "PULUMI_SELF_MANAGED_STATE_GZIP", 50, False),
        ("file:///states", "PULUMI_DIY_BACKEND_ZSTD", 50, False),
    ],
)
def test_doctor_advises_to_compress_the_state_of_many_machines_in_a_backend_of_files(
    backend: str,
    compression: str,
    count: int,
    *,
    noted: bool,
    clone: Path,
    mullion: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signed_in(monkeypatch, "")
    monkeypatch.setenv("PULUMI_BACKEND_URL", backend)
    if compression:
        monkeypatch.setenv(compression, "true")
    stack = clone / "stacks" / "Pulumi.small.yaml"
    assert "count: 2" in stack.read_text(), "the pool whose size this test changes"
    stack.write_text(stack.read_text().replace("count: 2", f"count: {count}"))
    shown = mullion("doctor", "small").stdout
    assert ("set PULUMI_DIY_BACKEND_ZSTD=true" in shown) == noted, shown
