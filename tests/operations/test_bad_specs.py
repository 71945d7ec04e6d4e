"""Stack files that are wrong, through the command itself: no traceback, no engine, and path, reason and fix for each.

Written ones, those that trip the checks, each value of the three stacks replaced by wrong ones, and what hypothesis
makes of the files.
"""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import Result

from components.checks import CHECKS
from components.spec.report import Severity
from components.stack_files.stack import CLUSTER
from operations.console.exits import Exit
from operations.engine import locate
from operations.stacks.paths import REPOSITORY
from tests.components.checks.cases import CASES
from tests.components.spec.documents import REGION, Case, changed

STACKS = ("aws-ci", "aws-dev", "aws-prod")
FEWEST = 300
UP = ("up", "small", "--sandbox", "--yes")
Command = Callable[..., Result]
PROBLEM = re.compile(r"^  .+: .+ \[[a-z0-9-]+\]\n    \S", re.MULTILINE | re.DOTALL)
"""Path, what is wrong, the check's name; on the next line what to write instead."""


class Bad(NamedTuple):
    """A stack file that nothing may come of. where: what the output names."""

    title: str
    text: str
    where: str


def cluster_of(stack: str) -> dict[str, Any]:
    """The cluster that a stack of this repository describes."""
    return yaml.safe_load((REPOSITORY / "stacks" / f"Pulumi.{stack}.yaml").read_text("utf-8"))["config"][CLUSTER]


def file(cluster: Any = None, **config: Any) -> str:
    """A stack file; without a cluster, one with the least there can be."""
    least = {"cloud": "aws", "kubernetes": "1.36.4"}
    settings = {**REGION, CLUSTER: least if cluster is None else cluster, **config}
    return yaml.safe_dump({"config": settings}, sort_keys=False)


# Written: what is wrong with the file before it is a cluster.

BOMB = "".join(f"c{n}: &c{n} [{', '.join([f'*c{n - 1}'] * 9)}]\n" for n in range(1, 9))
WRITTEN = [
    Bad("empty", "", "config"),
    Bad("only a comment", "# nothing\n", "config"),
    Bad("no cluster", "config: {aws:region: eu-west-1}\n", CLUSTER),
    Bad("config is a list", "config: []\n", "config"),
    Bad("config is a text", "config: yes please\n", "config"),
    Bad("config is a number", "config: 7\n", "config"),
    Bad("the file is a list", "- config\n", "Pulumi.small.yaml"),
    Bad("the file is a text", "hello\n", "Pulumi.small.yaml"),
    Bad("the file is a number", "42\n", "Pulumi.small.yaml"),
    Bad("two documents", f"{file()}---\nconfig: {{}}\n", "line"),
    Bad("a tab", "config:\n\taws:region: eu-west-1\n", "line 2"),
    Bad("an open brace", "config: {aws:region: eu-west-1\n", "line"),
    Bad("an open quote", "config: 'x\n", "line"),
    Bad("an unknown alias", "config: *x\n", "line 1"),
    Bad("an alias of itself", "config: &x\n  aws:region: eu-west-1\n  mullion:cluster: *x\n", ""),
    Bad("a tag of Python", "config: !!python/object/apply:os.system ['true']\n", "line 1"),
    Bad("an unknown tag", "config: !secret x\n", "line 1"),
    Bad("a control character", "config: \x07\n", ""),
    Bad("aliases without end", f"c0: &c0 [x, x]\n{BOMB}config: {{{CLUSTER}: *c8}}\n", "aliases"),
    Bad("brackets without end", "config: " + "[" * 3000 + "]" * 3000 + "\n", "nest"),
    Bad("a key twice", "config:\n  aws:region: eu-west-1\n  aws:region: eu-west-2\n", "line 3"),
    Bad("the cluster is a list", file([]), CLUSTER),
    Bad("the cluster is a text", file("aws"), CLUSTER),
    Bad("the cluster is a number", file(1), CLUSTER),
    Bad("the cluster is a truth", file(True), CLUSTER),
    Bad("the cluster is empty", file({}), "cloud"),
    Bad("the cluster is JSON text", file(json.dumps({"cloud": "aws"})), CLUSTER),
    Bad("a secret cluster", file({"secure": "v1:abc"}), CLUSTER),
    Bad("a secret inside", file({"cloud": "aws", "kubernetes": "1.36.4", "owner": {"secure": "v1:abc"}}), "owner"),
    Bad("no region", yaml.safe_dump({"config": {CLUSTER: {"cloud": "aws", "kubernetes": "1.36.4"}}}), "aws:region"),
    Bad("a region that is none", file(**{"aws:region": "Ireland"}), "aws:region"),
    Bad("a region that is a list", file(**{"aws:region": ["x"]}), "aws:region"),
    Bad("a key of ours that is none", file(**{"mullion:clusters": 1}), "mullion:clusters"),
    Bad("a key without a name in front", file(region="eu-west-1"), "region"),
    Bad("a version unquoted", file({"cloud": "aws", "kubernetes": 1.36}), "kubernetes"),
]


def tripping() -> Iterator[Bad]:
    """The cases of the check tables that are errors."""
    errors = {row.id for row in CHECKS if row.severity is Severity.ERROR}
    for number, case in enumerate(CASES):
        if case.id in errors and case.name == Case.name:  # the stack's name here is another
            yield Bad(f"{case.id} {number}", file(changed(case.trips), **case.config), case.path)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path of a document, but the document itself."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*path, key))


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The document with another value at a path."""
    whole = deepcopy(document)
    at(whole, path[:-1])[path[-1]] = value
    return whole


def at(document: Any, path: tuple[Any, ...]) -> Any:
    """What stands at a path."""
    for key in path:
        document = document[key]
    return document


FREE = {"acknowledge", "labels", "tags", "owner"}
"""Options that take any text, or whose keys are the user's own."""


def mutated() -> Iterator[Bad]:
    """Each value of the three stacks replaced by ones of another type, and beside it a key that does not exist."""
    for stack in STACKS:
        cluster = cluster_of(stack)
        for path in places(cluster):
            if FREE & set(path):
                continue
            shown, now = ".".join(map(str, path)), at(cluster, path)
            for value in ([[1]], 10**30) if isinstance(now, dict) else ({"x": 1}, -1):
                yield Bad(f"{stack} {shown} {value!r}", file(put(cluster, path, value)), path[0])
            if isinstance(now, dict) and path != ("pools",):
                yield Bad(f"{stack} {shown}.xyz", file(put(cluster, (*path, "xyz"), 1)), f"{shown}.xyz")


BAD = [*WRITTEN, *tripping(), *mutated()]


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that searches for the engine; programs and connections fail anyway (tests/conftest.py)."""

    def asked(*_: object) -> None:
        pytest.fail("an engine was looked for")

    monkeypatch.setattr(locate, "find", asked)
    monkeypatch.setattr(locate, "installed", asked)


def written(clone: Path, text: str) -> None:
    (clone / "stacks" / "Pulumi.small.yaml").write_text(text, "utf-8")


def refused(result: Result) -> str:
    """Return the message of a command that must end with the exit code for a wrong stack."""
    assert isinstance(result.exception, SystemExit), f"{result.exception!r}\n{result.output}"
    assert result.exit_code == Exit.USAGE, result.output
    assert "Traceback" not in result.output
    assert PROBLEM.search(result.stderr), f"no path, reason and fix: {result.stderr}"
    return result.stderr


def test_the_bad_specs_are_many() -> None:
    assert len({bad.text for bad in BAD}) >= FEWEST


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.title)
def test_a_bad_spec_is_refused_with_path_reason_and_fix(bad: Bad, clone: Path, mullion: Command) -> None:
    written(clone, bad.text)
    assert bad.where in refused(mullion(*UP))


# Generated: what hypothesis puts into the stacks. Some of it is a spec: `plan` shows it, and that is all.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["1.36.4", "aws"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def replaced(draw: st.DrawFn) -> str:
    """A stack with any value at any place."""
    cluster = cluster_of(draw(st.sampled_from(STACKS)))
    path = draw(st.sampled_from(list(places(cluster))))
    return file(put(cluster, path, draw(JSON)))


@st.composite
def torn(draw: st.DrawFn) -> str:
    """A stack file with a piece cut out, and any text in its place."""
    text = file(cluster_of(draw(st.sampled_from(STACKS))))
    start = draw(st.integers(0, len(text)))
    return text[:start] + draw(st.text(max_size=6)) + text[start + draw(st.integers(0, 40)) :]


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(text=replaced() | torn())
def test_any_stack_file_is_planned_or_refused(text: str, clone: Path, mullion: Command) -> None:
    written(clone, text)
    result = mullion("plan", "small")
    if result.exit_code != Exit.OK:
        assert refused(result) == refused(mullion(*UP))
