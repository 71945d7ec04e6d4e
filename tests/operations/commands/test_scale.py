"""`mullion scale` edits one number in the user's file; formatting and comments stay."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from operations.commands import up_and_down
from operations.commands.scale import scale
from operations.commands.stack_change import with_value
from operations.console.exits import Exit, Stop
from operations.stacks import target
from tests.operations.conftest import STACK

Run = Callable[..., Result]
Captured = pytest.CaptureFixture[str]
FILE = Path("Pulumi.small.yaml")


@pytest.fixture
def upped(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of stacks for which an `up` was started, instead of starting it."""
    names: list[str] = []
    monkeypatch.setattr(up_and_down, "up", lambda name, **_: names.append(name))
    return names


FORMS = {
    "flow": "      web: {{os: windows-2022, count: {count}}}{end}",
    "flow, count first": "      web: {{  count :   {count} , os: windows-2022 }}{end}",
    "block": "      web:{end}\n        os: windows-2022\n        count: {count}{end}\n        size: m6i.xlarge",
    "block, more indented": "      web:\n{end}\n              count:   {count}{end}\n              os: windows-2022",
    "quoted keys": '      "web": {{"os": "windows-2022", "count": {count}}}{end}',
    "value on a line of its own": "      web:\n        count:\n          {count}\n        os: windows-2022{end}",
}
HEAD = """\
# ünïcode in a comment: 中
config:
  aws:region: eu-west-1
  mullion:cluster:
    cloud: aws
    pools:
      linux: {os: ubuntu-24.04, count: 7}  # count: 9
"""


@given(
    form=st.sampled_from(sorted(FORMS)),
    end=st.sampled_from(["", "  # count: 5", " #"]),
    before=st.integers(0, 5000),
    after=st.integers(0, 5000),
    windows=st.booleans(),
    tail=st.sampled_from(["", "\n", "\n# the end", "\n    owner: web\n", "\n      more: {os: debian-12, count: 3}\n"]),
)
def test_only_the_count_of_that_pool_changes_whatever_the_formatting(
    form: str, end: str, before: int, after: int, windows: bool, tail: str
) -> None:
    text = HEAD + FORMS[form].format(count=before, end=end) + tail
    wanted = HEAD + FORMS[form].format(count=after, end=end) + tail
    if windows:
        text, wanted = text.replace("\n", "\r\n"), wanted.replace("\n", "\r\n")
    assert with_value(text, ("pools", "web", "count"), str(after), FILE) == wanted
    assert yaml.safe_load(wanted)["config"]["mullion:cluster"]["pools"]["web"]["count"] == after


@pytest.mark.parametrize(
    ("pool", "says"),
    [
        ("      web: {os: windows-2022}", "add count: 3"),
        ("      base: &base {count: 1}\n      web: {<<: *base, os: windows-2022}", "add count: 3"),
        ("      base: {count: &one 1}\n      web: {count: *one, os: windows-2022}", "by hand"),
    ],
)
def test_a_count_that_is_not_there_or_elsewhere_is_not_guessed(pool: str, says: str) -> None:
    with pytest.raises(Stop, match=says) as stop:
        with_value(HEAD + pool, ("pools", "web", "count"), "3", FILE)
    assert stop.value.code is Exit.USAGE


def test_the_file_is_edited_and_the_change_is_shown(clone: Path, mullion: Run, upped: list[str]) -> None:
    path = clone / "stacks" / "Pulumi.small.yaml"
    path.chmod(0o640)
    result = mullion("scale", "small", "web", "3")
    assert result.exit_code == 0, result.output
    assert path.read_text() == STACK.replace("count: 2", "count: 3")
    assert path.stat().st_mode & 0o777 == 0o640
    assert "added:    web-2" in result.stdout
    assert upped == ["small"]
    assert [each.name for each in path.parent.iterdir()] == [path.name], "nothing else is left there"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("small", "wob", "3"), "its pools: linux, web"),
        (("small", "web", "4999"), "error"),
        (("small", "web", "-1"), "a whole number from 0 to 5000, not '-1'"),
        (("small", "web", "-1", "--sandbox", "--yes"), "a whole number from 0 to 5000, not '-1'"),
        (("small", "--sandbox", "web", "-1.5"), "a whole number from 0 to 5000, not '-1.5'"),
        (("small", "web", "two"), "a whole number from 0 to 5000, not 'two'"),
        (("small", "web", "100000"), "a whole number from 0 to 5000, not '100000'"),
        (("small", "web", "1.5"), "a whole number from 0 to 5000, not '1.5'"),
        (("small", "web", "٣"), "a whole number from 0 to 5000, not '٣'"),
    ],
)
def test_with_errors_the_file_stays_and_nothing_starts(
    words: tuple[str, ...], says: str, clone: Path, mullion: Run, upped: list[str]
) -> None:
    result = mullion("scale", *words)
    assert result.exit_code == 2
    assert says in result.stderr
    assert (clone / "stacks" / "Pulumi.small.yaml").read_text() == STACK
    assert upped == []


ENDINGS = {
    "refused": Stop(Exit.REFUSED, "not confirmed"),
    "no engine": Stop(Exit.NO_ENGINE, "there is none"),
    "Ctrl-C": KeyboardInterrupt(),
    "end of input": EOFError(),
    "the program refuses": Stop(Exit.FAILED, "the program refused stack small"),
    "a fault of ours": ValueError("x"),
}


@pytest.mark.parametrize("earlier", [False, True], ids=["first run", "built before"])
@pytest.mark.parametrize("begun", [False, True], ids=["before the run", "during the run"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_file_is_as_it_was_unless_the_engines_run_began(
    ending: str, begun: bool, earlier: bool, clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    built_in = target.Target(target.SANDBOX)
    if earlier:
        target.remember("small", built_in)
        os.utime(target.folder("small") / "world.json", (1, 1))

    def up(name: str, **_: bool) -> None:
        if begun:
            target.remember(name, built_in)
        raise ENDINGS[ending]

    monkeypatch.setattr(up_and_down, "up", up)
    with pytest.raises(type(ENDINGS[ending])):
        scale("small", "web", "3", sandbox=True, yes=False)
    wanted = STACK.replace("count: 2", "count: 3") if begun else STACK
    assert (clone / "stacks" / "Pulumi.small.yaml").read_text() == wanted
    assert ("keeps count 3" if begun else "is restored") in capsys.readouterr().err
