"""The command line itself: exit codes, asking before a real account is touched, the doctor, and docs/cli.md."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from typer.testing import Result

from components.plan import plan_cluster
from operations.__main__ import app
from operations.commands import account_check, pin_images, readiness, up_and_down
from operations.console.exits import MEANINGS, EngineError, Exit
from operations.engine import locate
from operations.stacks import account, stack_files, target
from operations.stacks.paths import REPOSITORY
from operations.stacks.target import Target
from tests.operations.conftest import STACK

Run = Callable[..., Result]
COMMANDS = {
    *("plan", "cost", "explain", "render", "report", "doctor", "drift"),
    *("new", "preview", "up", "down", "scale", "upgrade", "roll", "wait", "chaos"),
    *("repair", "revoke", "replace-control-plane", "snapshot", "restore"),
    *("pin", "mirror", "versions", "sbom"),
    *("run", "ls", "extend", "reap", "portal", "request", "image"),
    *("outputs", "kubeconfig", "connect", "kubectl", "logs", "verify", "first-contact", "lint", "join"),
}


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record each search for the engine, and find none."""
    asked: list[str] = []

    def find() -> locate.Engine:
        asked.append("find")
        raise EngineError("there is no engine; install one")

    monkeypatch.setattr(locate, "find", find)
    monkeypatch.setattr(account, "account", lambda *_: "111122223333")
    return asked


def test_help_lists_every_command_as_plain_text(mullion: Run) -> None:
    result = mullion("--help")
    assert result.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in result.stdout


@pytest.mark.parametrize(
    "words", [("up", "small"), ("up", "small", "--sandbox"), ("down", "small"), ("outputs", "small")]
)
def test_without_an_engine_the_exit_code_is_4_and_the_message_says_so(
    words: tuple[str, ...], clone: Path, mullion: Run, no_engine: list[str]
) -> None:
    result = mullion(*words)
    assert result.exit_code == Exit.NO_ENGINE
    assert result.stderr.strip().endswith("mullion: there is no engine; install one")
    assert target.recall("small") is None, "nothing ran, so the stack is not built"


@pytest.mark.parametrize("words", [("up", "small", "--sandbox"), ("scale", "small", "web", "3"), ("plan", "small")])
def test_errors_of_the_spec_end_a_command_before_it_searches_the_engine(
    words: tuple[str, ...], clone: Path, mullion: Run, no_engine: list[str]
) -> None:
    (clone / "stacks" / "Pulumi.small.yaml").write_text(STACK.replace("kubernetes", "cubernetes"))
    result = mullion(*words)
    assert result.exit_code == Exit.USAGE
    assert "cubernetes" in result.stderr
    assert no_engine == []


def test_values_of_examples_stop_up_in_an_account_but_not_in_the_sandbox(
    clone: Path, mullion: Run, no_engine: list[str]
) -> None:
    allowed = "    kubernetes", "    api: {access: public, allow: [203.0.113.0/24]}\n    kubernetes"
    (clone / "stacks" / "Pulumi.small.yaml").write_text(STACK.replace(*allowed, 1))
    refused = mullion("up", "small", "--yes")
    assert refused.exit_code == Exit.USAGE
    assert "1 error\n  api.allow.0: 203.0.113.0/24 is a range for documentation" in refused.stderr
    assert no_engine == []
    assert mullion("up", "small", "--sandbox").exit_code == Exit.NO_ENGINE
    assert no_engine == ["find"]


def test_down_in_an_account_needs_no_valid_stack_file(clone: Path, mullion: Run, no_engine: list[str]) -> None:
    target.remember("small", Target("aws", "111122223333", "eu-west-1"))
    (clone / "stacks" / "Pulumi.small.yaml").write_text("config: [")
    result = mullion("down", "small", "--yes")
    assert no_engine == ["find"], result.stderr


@pytest.mark.parametrize(
    ("built_in", "words"),
    [
        (Target("sandbox"), ("up", "small")),
        (Target("sandbox"), ("down", "small", "--yes")),
        (Target("aws"), ("up", "small", "--sandbox")),
        (Target("aws"), ("down", "small", "--sandbox", "--yes")),
        (Target("aws", "999900001111"), ("up", "small", "--yes")),
        (Target("aws", "", "us-east-1"), ("up", "small", "--yes")),
    ],
)
def test_a_stack_that_is_built_elsewhere_is_refused_with_exit_code_3(
    built_in: Target, words: tuple[str, ...], clone: Path, mullion: Run, no_engine: list[str]
) -> None:
    target.remember("small", built_in)
    result = mullion(*words)
    assert result.exit_code == Exit.REFUSED
    assert "mullion down small" in result.stderr
    assert no_engine == []


def test_an_interruption_ends_with_exit_code_130(clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(up_and_down, "up", interrupt)
    assert mullion("up", "small").exit_code == Exit.INTERRUPTED


def test_an_unexpected_exception_is_one_line_and_its_traceback_a_private_file_without_secrets(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("opensesame, and https://me:hunter22@example.com")

    monkeypatch.setattr(up_and_down, "up", fail)
    monkeypatch.setattr("tempfile.tempdir", str(clone))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "opensesame")
    result = mullion("up", "small")
    assert result.exit_code == Exit.FAULT
    said = "mullion: this is a fault in mullion: ZeroDivisionError: [secret], and https://me:[secret]@example.com; "
    assert result.stderr.startswith(f"{said}the details are in ")
    details = Path(result.stderr.strip().rpartition(" ")[2])
    assert details.stat().st_mode & 0o777 == 0o600
    text = details.read_text("utf-8")
    assert "in fail" in text
    assert "opensesame" not in text
    assert "hunter22" not in text


def test_a_fault_is_one_line_also_where_its_details_cannot_be_written(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("x")

    monkeypatch.setattr(up_and_down, "up", fail)
    monkeypatch.setattr("tempfile.tempdir", str(clone / "gone"))
    result = mullion("up", "small")
    assert result.exit_code == Exit.FAULT
    assert "the details could not be written" in result.stderr
    assert "Traceback" not in result.stderr


def end_of_input(_: str) -> str:
    raise EOFError


def test_ctrl_d_at_a_question_does_not_confirm(
    clone: Path, mullion: Run, no_engine: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", end_of_input)
    monkeypatch.setattr(account, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    monkeypatch.setattr(up_and_down, "up", lambda *_, **__: account.confirm("Sure?"))
    result = mullion("up", "small")
    assert result.exit_code == Exit.REFUSED
    assert result.stderr == "mullion: not confirmed; nothing was changed\n"


@pytest.mark.parametrize(("typed", "accepted"), [("yes", True), ("y", False), ("", False)])
def test_only_the_exact_answer_confirms(typed: str, accepted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: typed)
    if accepted:
        account.confirm("Sure?")
        return
    with pytest.raises(Exception, match="not confirmed"):
        account.confirm("Sure?")


def test_doctor_names_missing_programs_and_how_to_get_them(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locate, "installed", lambda announce: announce("mullion: not used: /old/pulumi is too old"))
    target.remember("small", Target("sandbox"))
    result = mullion("doctor", "small")
    assert result.exit_code == Exit.FAILED
    assert "`make engine` builds one" in result.stdout
    assert "/old/pulumi is too old" in result.stdout
    assert "stack small: in the sandbox" in result.stdout
    assert "1 check failed" in result.stderr


def test_doctor_reports_nothing_on_a_complete_machine(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = locate.Engine(Path("/opt/pulumi"), "3.230.0", locate.Origin.PATH)
    monkeypatch.setattr(locate, "installed", lambda announce: found)
    result = mullion("doctor")
    assert result.exit_code == 0, result.output
    assert "engine 3.230.0 from PATH" in result.stdout


def test_doctor_shows_the_errors_of_a_stack(clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locate, "installed", lambda announce: None)
    (clone / "stacks" / "Pulumi.small.yaml").write_text(STACK.replace("kubernetes", "cubernetes"))
    result = mullion("doctor", "small")
    assert result.exit_code == Exit.FAILED
    assert "cubernetes" in result.stdout


def signed_in(patch: pytest.MonkeyPatch, found: str) -> None:
    """Let no engine be installed, no limit of the account be known, and the credentials be of this account."""
    patch.setattr(locate, "installed", lambda announce: None)
    patch.setattr(account_check, "findings", lambda *_, **__: ())
    patch.setattr(account, "account", lambda cloud, identity: found)


def test_doctor_does_not_call_missing_credentials_and_open_warnings_ok(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(monkeypatch, "")
    monkeypatch.setattr(readiness, "lacks", lambda cloud: iter(["no credentials for AWS on this machine"]))
    stack = clone / "stacks" / "Pulumi.small.yaml"
    stack.write_text(STACK.replace("eu-west-1", "eu-west-9"))
    ended = mullion("doctor", "small")
    lines = ended.stdout.splitlines()
    assert "note   no credentials for AWS on this machine" in lines
    at = lines.index("wrong  spec of small: 4 machines, 1 open warning")
    assert lines[at + 2].startswith("           write eu-west-"), "below its warning, indented further"
    assert lines[at + 3] == "       `up` stops unless these are acknowledged: region-unknown"
    assert ended.exit_code == Exit.FAILED


def test_doctor_counts_images_that_a_moved_tag_could_replace(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(monkeypatch, "")
    stack = clone / "stacks" / "Pulumi.small.yaml"
    names, always = pin_images.images(plan_cluster("small", stack_files.load("small").spec))
    assert (len(names) > 5, len(always)) == (True, 1), "kubeadm takes no digest of kube-proxy"
    before = f"0 by digest, {len(names) + 1} by tag; mullion pin images small pins {len(names)}"
    assert f"note   container images: {before}\n" in mullion("doctor", "small").stdout
    digests = "".join(f"        {image}: sha256:{'a' * 64}\n" for image in names)
    stack.write_text(f"{STACK}    artifacts:\n      images:\n{digests}")
    assert f"ok     container images: {len(names)} by digest, 1 by tag\n" in mullion("doctor", "small").stdout


def test_doctor_fails_at_an_old_kubernetes_whose_missing_policies_are_not_acknowledged(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(monkeypatch, "111122223333")
    stack, said = clone / "stacks" / "Pulumi.small.yaml", "`up` stops unless these are acknowledged"
    text = STACK.replace("1.36.4", "1.29.15")
    stack.write_text(text)
    assert f"       {said}: node-policies-missing" in mullion("doctor", "small").stdout.splitlines()
    stack.write_text(text + "    acknowledge: {node-policies-missing: an upgrade is planned}\n")
    ended = mullion("doctor", "small").stdout
    assert "note   spec of small: 4 machines, 1 open warning" in ended, "kubernetes-end-of-life does not stop it"
    assert said not in ended


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("111122223333", "ok     small in account 111122223333, region eu-west-1"),
        ("", "note   small: account unknown, because `aws sts get-caller-identity"),
    ],
)
def test_doctor_shows_the_account_or_that_no_credentials_answer(
    found: str, said: str, clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(monkeypatch, found)
    (clone / "stacks" / "Pulumi.small.yaml").write_text(STACK)
    assert any(line.startswith(said) for line in mullion("doctor", "small").stdout.splitlines())


def test_every_command_and_exit_code_is_documented() -> None:
    page = (REPOSITORY / "docs" / "cli.md").read_text("utf-8")
    assert set(typer.main.get_group(app).commands) - {"sandbox"} == COMMANDS
    for name in COMMANDS:
        assert f"`mullion {name}" in page
    for code, meaning in MEANINGS.items():
        assert f"| {code.value} | {meaning} |" in page
