"""No traceback reaches a person, whatever the command line, the files, the environment and the engine are.

Each example is a clone with damage in it, and one command line, in this process: no program is started, and only
loopback is reached. An unexpected exception (exit code 70) fails the test too.
"""

import errno
import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pulumi import automation as auto
from pulumi.automation.errors import create_command_error
from typer.testing import CliRunner, Result

from operations.__main__ import app
from operations.console.exits import MEANINGS, EngineError, Exit, Stop
from operations.downloads import fetch
from operations.engine import locate, process
from operations.stacks import account, boot_site
from tests import clones
from tests.operations.conftest import STACK
from tests.operations.misuse import ACCOUNTS, CUT, ENGINES, ENVIRONMENT, Damage, Words, damages, words
from tests.operations.strange_servers import Site

EMPTY = '{"version": 3, "deployment": {}}'
"""What the engine exports of a stack without resources."""

EXAMPLES = int(os.environ.get("MULLION_MISUSES", "250"))
OUTSIDE = "tests/operations/test_no_traceback.py reached"


@contextmanager
def engine(kind: str, identity: str = ACCOUNTS[0]) -> Iterator[None]:
    """An engine that is missing, silent, refuses everything, or answers without JSON. identity: the account."""

    def find(*_: Any) -> locate.Engine:
        if kind == "none":
            raise EngineError("there is no engine; install one")
        return locate.Engine(Path("/nowhere/pulumi"), "3.240.0", locate.Origin.PATH)

    def run(self: Any, args: list[str], *_: Any, **__: Any) -> auto.CommandResult:
        if kind == "refuses":
            raise create_command_error(auto.CommandResult("", "error: no\nerror: ", 255))
        said = {"silent": "", "garbage": "[1, {", "empty": EMPTY}[kind]
        return auto.CommandResult(said, said, 0)

    def missing(words: Any, *_: Any, **__: Any) -> None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(words[0]))

    def start(_: str) -> None:
        raise Stop(Exit.FAILED, "no machine boots in this test")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locate, "find", find)
        patch.setattr(locate, "installed", lambda *_: None if kind == "none" else find())
        patch.setattr(process.EngineCommand, "run", run)
        patch.setattr(account, "account", lambda *_: identity)
        patch.setattr(boot_site, "start", start)
        patch.setattr("subprocess.Popen", missing)
        patch.setattr(fetch, "time", SimpleNamespace(sleep=lambda _: None))
        patch.setattr(fetch, "STALLED_SECONDS", 2)
        yield


@contextmanager
def clone(site: Site, damage: dict[str, Damage], environment: dict[str, str]) -> Iterator[Path]:
    """A damaged clone, and the command's folder and environment."""
    folder = site.folder / "clone"
    shutil.rmtree(folder, ignore_errors=True)
    clones.write(folder, "small", STACK)
    (folder / "home").mkdir()
    for path, harm in damage.items():
        with suppress(OSError):  # a folder in the way of a file, or the other way about
            if harm.__name__ in ("_folder", "_broken_link"):
                (folder / path).unlink(missing_ok=True)
            harm(folder / path)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("HOME", str(folder / "home"))
        for name in ("http_proxy", "https_proxy"):  # connections to other hosts go to a closed port of this host
            patch.setenv(name, f"http://127.0.0.1:{site.port}")
        patch.setenv("no_proxy", "127.0.0.1,localhost")
        patch.setenv("MULLION_PORTAL_TOKEN", "mullion_x")
        (folder / "home" / "kubeconfig").write_text(site.kubeconfig)
        for name in ("PULUMI_HOME", "PULUMI_BACKEND_URL", "NETRC", "PULUMI_CONFIG_PASSPHRASE"):
            patch.delenv(name, raising=False)
        clones.work_in(folder, patch)
        for name, value in environment.items():
            patch.setenv(name, value.format(folder=folder))
        yield folder


def files(folder: Path) -> dict[str, bytes]:
    """The user's own files of a clone."""
    own = [path for part in ("stacks", "Pulumi.yaml", "artifacts.json") for path in [folder / part]]
    listed = [path for top in own for path in ([top] if not top.is_dir() else sorted(top.rglob("*")))]
    return {str(path): path.read_bytes() for path in listed if path.is_file()}


def judged(result: Result, line: Words) -> None:
    """Fail unless a command ended with a documented code and one message."""
    shown = f"{line!r}\n{result.stdout[-2000:]}\n{result.stderr[-4000:]}"
    assert result.exception is None or isinstance(result.exception, SystemExit), f"{result.exception!r} {shown}"
    assert result.exit_code in set(MEANINGS), shown
    if result.exit_code == Exit.FAULT:
        details = Path(result.stderr.strip().rpartition(" ")[2])
        pytest.fail(f"{shown}\n{details.read_text('utf-8') if details.is_file() else ''}")
    assert "Traceback" not in result.output, shown
    assert "Error(" not in result.stderr, shown
    if result.exit_code != Exit.OK and "Usage: " not in result.stderr:
        said = [text for text in result.stderr.splitlines() if text.startswith(("mullion: ", "warning: "))]
        assert result.stderr.startswith(("mullion: ", "warning: ")), shown
        assert said[-1].startswith("mullion: "), shown
        assert said[-1] != "mullion: ", shown


LINE = ("plan", "small")


@contextmanager
def full(disk: bool) -> Iterator[None]:
    """A full disk, imitated by a limit on file sizes, which needs no privileges."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        if disk:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def misuse(
    site: Site,
    line: Words,
    damage: dict[str, Damage],
    environment: dict[str, str],
    kind: str,
    *,
    disk: bool = False,
    identity: str = ACCOUNTS[0],
) -> Result:
    """Run a command line in a clone of its own, and judge how it ended."""
    with clone(site, damage, environment) as folder, engine(kind, identity):
        stand = {"folder": folder / "home", "file": folder / "stacks" / "Pulumi.small.yaml", "missing": folder / "no"}
        stand |= {"port": site.port, "garbage": site.garbage, "portal": site.portal}
        stand |= {"kubeconfig": folder / "home" / "kubeconfig"}
        given_words = [_filled(word, stand) for word in line]
        before = files(folder)
        with full(disk):
            result = CliRunner().invoke(app, given_words)
        judged(result, (*given_words, kind))
        if result.exit_code in (Exit.USAGE, Exit.REFUSED, Exit.NO_ENGINE):
            assert files(folder) == before, f"{line}: a refused command changed the clone"
    return result


def _filled(word: str, stand: dict[str, Any]) -> str:
    for name, value in stand.items():
        word = word.replace(f"{{{name}}}", str(value))
    return word


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(
    line=words(),
    damage=damages(),
    environment=ENVIRONMENT,
    kind=st.sampled_from(ENGINES),
    disk=st.sampled_from([False, False, False, True]),
    identity=st.sampled_from(ACCOUNTS),
)
@example(line=LINE, damage={}, environment={}, kind="none", disk=True, identity="")
def test_every_command_ends_with_a_code_and_one_message(
    line: Words,
    damage: dict[str, Damage],
    environment: dict[str, str],
    kind: str,
    disk: bool,
    identity: str,
    site: Site,
) -> None:
    misuse(site, line, damage, environment, kind, disk=disk, identity=identity)


# Faults that were found, each once more.


def put(path: str, content: bytes) -> dict[str, Damage]:
    """Damage: a file with this content."""

    def write(folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.write_bytes(content)

    return {path: write}


SANDBOX = put(".mullion/small/world.json", b'{"world": "sandbox"}')
WORLD, BOOTABLE = ".mullion/sandbox/small/world.db", ".mullion/sandbox/small/bootable.json"
FOUND: list[tuple[Words, dict[str, Damage], dict[str, str], str, Exit, str]] = [
    (("drift", "small"), {}, {"PULUMI_BACKEND_URL": "https://["}, "refuses", Exit.FAILED, "the engine ended with: no"),
    (
        ("outputs", "small"),
        SANDBOX,
        {},
        "garbage",
        Exit.FAILED,
        "the engine's answer is not JSON",
    ),
    (("down", "small", "--sandbox", "--yes"), {}, {}, "silent", Exit.FAILED, "the engine's answer is not JSON"),
    (("drift", "small"), {}, {}, "empty", Exit.FAILED, "the engine ended without a summary"),
    (
        ("sandbox", "boots", "small"),
        put(WORLD, b"x" * 5000),
        {},
        "none",
        Exit.FAILED,
        "to begin anew, remove the folder",
    ),
    *(
        (("plan", "small"), put(BOOTABLE, text), {}, "none", Exit.REFUSED, "bootable.json cannot be read")
        for text in CUT
    ),
    (("sandbox", "cut", "../x", "web-1"), {}, {}, "none", Exit.USAGE, "there is no stack '../x'"),
    (("sandbox", "ls", "other"), {}, {}, "none", Exit.USAGE, "the sandbox of other is not booted"),
    (
        ("scale", "small", "web", "3"),
        put("stacks/Pulumi.small.yaml", STACK.encode("utf-16")),
        {},
        "none",
        Exit.USAGE,
        "UTF-8",
    ),
]


@pytest.mark.parametrize(("line", "damage", "environment", "kind", "code", "said"), FOUND)
def test_a_past_fault_ends_with_a_message(
    line: Words, damage: dict[str, Damage], environment: dict[str, str], kind: str, code: Exit, said: str, site: Site
) -> None:
    result = misuse(site, line, damage, environment, kind)
    assert (result.exit_code, said in result.stderr) == (code, True), result.stderr
    assert not (site.folder / "clone" / ".mullion" / "sandbox" / "other").exists()
    assert not (site.folder / "clone" / ".mullion" / "x").exists()
