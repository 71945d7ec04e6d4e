"""`mullion upgrade`: the version in the stack file, checked, and then the cluster."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from components import releases
from components.rollout.kubernetes_api import Unreachable
from operations.commands import reached_api, up_and_down, versions
from operations.stacks import target
from operations.verification.upgrading import check
from operations.verification.upgrading.findings import Finding
from tests.operations.conftest import STACK

Run = Callable[..., Result]
NEWEST_MINOR = releases.supported_minors()[-1]
NEWEST = versions.newest(NEWEST_MINOR)


@pytest.fixture
def upped(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of stacks for which an `up` was started, instead of starting it."""
    names: list[str] = []
    monkeypatch.setattr(up_and_down, "up", lambda name, **_: names.append(name))
    return names


def test_the_version_alone_changes_in_the_file_and_the_machines_it_replaces_are_named(
    clone: Path, mullion: Run, upped: list[str]
) -> None:
    result = mullion("upgrade", "small", "1.37.1", "--sandbox", "--yes")
    assert result.exit_code == 0, result.output
    assert (clone / "stacks" / "Pulumi.small.yaml").read_text() == STACK.replace('"1.36.4"', '"1.37.1"')
    assert "1.36.4 -> 1.37.1: the control plane first" in result.stdout
    assert "replaced: linux-0, web-0, web-1" in result.stdout
    assert upped == ["small"]


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("1.35.8", "is older than 1.36.4"),
        ("1.34.1", "older"),
        ("1.99.1", "kubernetes-too-new"),
        ("1.99.1", f"Mullion builds Kubernetes 1.20 to {NEWEST_MINOR}"),
        ("1.99.1", f"write {NEWEST} or an older version; `mullion versions` lists the newest patch of each minor"),
        ("1.99.1", "For 1.99, update Mullion"),
        ("1.19.1", "or a newer version; `mullion versions` lists"),
        ("1.36.99", "1.36.4, or record the digests of 1.36.99: mullion pin kubernetes-node 1.36.99"),
        ("1.36", 'the version with its patch, in quotes: "1.36.4"'),
        ("v1.36.2", 'the version with its patch, in quotes: "1.36.4"'),
        ("latest", f'the version with its patch, in quotes: "{NEWEST}"'),
    ],
)
def test_what_cannot_be_reached_is_refused_and_the_file_stays(
    version: str, says: str, clone: Path, mullion: Run, upped: list[str]
) -> None:
    result = mullion("upgrade", "small", version)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == "", "no heading before the refusal"
    assert (clone / "stacks" / "Pulumi.small.yaml").read_text() == STACK
    assert upped == []


def test_two_minors_at_once_are_refused_with_the_one_to_go_to_first(
    clone: Path, mullion: Run, upped: list[str]
) -> None:
    file = clone / "stacks" / "Pulumi.small.yaml"
    older = STACK.replace("1.36.4", "1.35.8")
    file.write_text(older)
    result = mullion("upgrade", "small", "1.37.1")
    assert result.exit_code == 2
    assert "write 1.36.4 first, then go on" in result.stderr
    assert file.read_text() == older
    assert upped == []


def test_the_version_that_is_there_changes_nothing(clone: Path, mullion: Run, upped: list[str]) -> None:
    result = mullion("upgrade", "small", "1.36.4")
    assert (result.exit_code, upped) == (0, [])
    assert "has 1.36.4 already" in result.stdout


STOPS = Finding("budgets", "PodDisruptionBudget shop/db", "it needs 1 of its 1 pods", "add a replica")
WARNS = Finding("disk", "Node control-plane-0", "its kubelet gives no figures", "look at its disks", stops=False)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Answer the questions of --check with these findings or this error, instead of asking an API."""

    @contextmanager
    def administrator(name: str, kubeconfig: Path | None) -> Iterator[str]:
        yield ""

    def answers(found: Any) -> None:
        def ask(api: Any, wanted: str) -> list[Finding]:
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(check, "ask", ask)

    monkeypatch.setattr(reached_api, "administrator", administrator)
    monkeypatch.setattr(reached_api, "client", lambda text: None)
    return answers


@pytest.mark.parametrize(
    ("found", "code", "says"),
    [
        ([], 0, "nothing in the cluster stops an upgrade to 1.37.1"),
        ([WARNS], 0, "nothing in the cluster stops an upgrade to 1.37.1"),
        ([STOPS, WARNS], 3, "1 of 2 findings stop an upgrade to 1.37.1; nothing was changed"),
        (Unreachable("connection refused"), 1, "nothing was judged: connection refused"),
    ],
    ids=["nothing", "warning", "stops", "no answer"],
)
def test_check_names_each_finding_and_changes_nothing(
    found: Any, code: int, says: str, clone: Path, mullion: Run, upped: list[str], cluster: Callable[..., None]
) -> None:
    cluster(found)
    result = mullion("upgrade", "small", "1.37.1", "--check")
    assert (result.exit_code, upped) == (code, [])
    assert says in result.output
    if isinstance(found, list):
        assert all(text in result.stdout for each in found for text in (each.subject, each.says, each.fix))
    assert (clone / "stacks" / "Pulumi.small.yaml").read_text() == STACK


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["1.38.0", "--check"], "kubernetes"),
        (["1.37.1", "--check", "--yes"], "--check takes neither --sandbox nor --yes"),
        (
            ["1.37.1", "--check", "--ignore-preflight-errors", "disks"],
            "disks: write names of questions: deprecated-apis",
        ),
        (["1.37.1", "--ignore-preflight-errors", "disk,all-of-it"], "all-of-it: write names of questions"),
        (["1.99.1"], "kubernetes-too-new"),
    ],
)
def test_upgrade_refuses_wrong_versions_and_flags_before_it_asks_the_cluster(
    words: list[str], says: str, clone: Path, mullion: Run, cluster: Callable[..., None]
) -> None:
    cluster(AssertionError("it asked"))
    target.remember("small", target.Target("aws"))
    result = mullion("upgrade", "small", *words)
    assert (result.exit_code, says in result.stderr) == (2, True), result.output


IGNORE = "--ignore-preflight-errors"


@pytest.mark.parametrize(
    ("found", "words", "code", "says"),
    [
        ([], [], 0, "1.36.4 -> 1.37.1: the control plane first"),
        ([WARNS], [], 0, "its kubelet gives no figures"),
        (
            [STOPS, WARNS],
            [],
            3,
            f"nothing was changed. To upgrade all the same: {IGNORE} budgets",
        ),
        ([STOPS, WARNS], [IGNORE, "disk"], 3, "1 of 2 findings stop"),
        ([STOPS, WARNS], [IGNORE, "disk,Budgets"], 0, "PodDisruptionBudget shop/db"),
        ([STOPS, WARNS], [IGNORE, "disk", IGNORE, "budgets"], 0, "PodDisruptionBudget shop/db"),
        ([STOPS, WARNS], [IGNORE, "all"], 0, "PodDisruptionBudget shop/db"),
    ],
    ids=["nothing", "warning", "stops", "another ignored", "ignored", "ignored by two flags", "all ignored"],
)
def test_an_upgrade_asks_the_cluster_first_and_stops_before_it_writes_the_file(
    found: list[Finding],
    words: list[str],
    code: int,
    says: str,
    clone: Path,
    mullion: Run,
    upped: list[str],
    cluster: Callable[..., None],
) -> None:
    cluster(found)
    target.remember("small", target.Target("aws"))
    result = mullion("upgrade", "small", "1.37.1", "--yes", *words)
    assert (result.exit_code, upped) == (code, [] if code else ["small"]), result.output
    assert says in result.output
    file = (clone / "stacks" / "Pulumi.small.yaml").read_text()
    assert file == (STACK if code else STACK.replace('"1.36.4"', '"1.37.1"'))


def test_an_upgrade_names_the_questions_not_asked_if_the_api_does_not_answer(
    clone: Path, mullion: Run, upped: list[str], cluster: Callable[..., None]
) -> None:
    cluster(Unreachable("connection refused"))
    target.remember("small", target.Target("aws"))
    result = mullion("upgrade", "small", "1.37.1", "--yes")
    assert (result.exit_code, upped) == (0, ["small"]), result.output
    assert f"was not asked about {', '.join(check.NAMES)}, because its API is not reached: connection" in result.stderr


def test_an_upgrade_in_a_sandbox_that_is_not_booted_says_so_and_goes_on(
    clone: Path, mullion: Run, upped: list[str]
) -> None:
    target.remember("small", target.Target(target.SANDBOX))
    result = mullion("upgrade", "small", "1.37.1", "--sandbox", "--yes")
    assert (result.exit_code, upped) == (0, ["small"]), result.output
    assert "because its API is not reached: the sandbox of small is not booted" in result.stderr


def test_every_finding_belongs_to_a_question_that_can_be_ignored() -> None:
    folder = Path(str(check.__file__)).parent
    made = {name for path in folder.glob("*.py") for name in re.findall(r'Finding\(\s*"([a-z-]+)"', path.read_text())}
    assert made == {*check.NAMES} - {"machines"}
