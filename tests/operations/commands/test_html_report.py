"""`mullion report`: one HTML file of a planned or built stack, judged by a parser of HTML5."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from components.plan import plan_cluster
from operations.commands import html_report, report_contents, report_times
from operations.console.exits import Exit
from operations.html_report import page, results
from operations.html_report.built import Known
from operations.stacks import machine_records, stack_files, target
from operations.stacks.target import Target
from operations.verification.verdicts import as_json, as_junit
from tests.operations.commands.pages import ROWS, RUN, SECRETS, build, parsed, words

Run = Callable[..., Result]


@pytest.fixture
def unpredicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the prediction, which runs the whole program."""
    monkeypatch.setattr(report_times, "predict", lambda *_: report_times.Prediction(unknown="not asked"))


def test_a_planned_stack_has_every_section_and_says_what_is_unknown(clone: Path, mullion: Run) -> None:
    ended = mullion("report", "small", "-o", str(clone / "report.html"))
    assert ended.exit_code == 0, ended.output
    assert re.search(r"small \(not built\): .*report.html, [\d,]+ bytes", ended.stdout)
    tree = parsed((clone / "report.html").read_text())
    assert [each.get("id") for each in tree.iter("section")] == [id for id, _ in report_contents.SECTIONS]
    text = words(clone / "report.html")
    for shown in (
        "Not built: there are no instances yet",
        "Unknown: no results of mullion verify or mullion run were given",
        "Nothing was measured yet",
        "Predicted, on real AWS: resources created after",
        "Not built: the first mullion up creates all 4 machines",
        "web 2 \u00d7 m6i.xlarge, windows-2022",
        "USD 809.02 a month",
        "windows-2022 2031-10-14",
        "udp 4789 pod traffic between nodes",
    ):
        assert shown in text, shown
    levels = [int(each.tag[1]) for each in tree.iter() if each.tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.usefixtures("unpredicted")
def test_the_page_needs_no_script_and_no_outside_file(clone: Path, mullion: Run) -> None:
    mullion("report", "small", "-o", str(clone / "report.html"))
    text = (clone / "report.html").read_text()
    tree = parsed(text)
    assert not {each.tag for each in tree.iter()} & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "use",
    }
    for each in tree.iter():
        for name, value in each.attrib.items():
            assert not name.startswith("on") and name not in ("style", "src", "srcset"), (each.tag, name)
            assert name != "href" or value.startswith("#"), value
    [style] = tree.iter("style")
    assert "url(" not in (style.text or "") and "@import" not in (style.text or "")
    digest = base64.b64encode(hashlib.sha256((style.text or "").encode()).digest()).decode()
    [policy] = [each.get("content") for each in tree.iter("meta") if each.get("http-equiv")]
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@pytest.mark.usefixtures("unpredicted")
def test_a_built_stack_has_its_instances_digests_times_and_the_waves_of_a_roll(clone: Path, mullion: Run) -> None:
    build("small")
    record = {"state": "ready", "kubernetes": "1.36.4", "seconds": 412.0, "time": "2026-11-23T10:09:00Z"}
    machine_records.write("small", {"web-0": ("i-web-0", record, ""), "web-1": ("i-of-before", record, "")})
    file = clone / "stacks" / "Pulumi.small.yaml"
    file.write_text(file.read_text().replace("count: 2", "count: 3, disk_gb: 200"))
    ended = mullion("report", "small", "-o", str(clone / "report.html"))
    assert "small (built): " in ended.stdout, ended.output
    text = words(clone / "report.html")
    built = plan_cluster("small", stack_files.load("small").spec)
    for shown in (
        "Built in the sandbox.",
        "Zone 0: eu-west-1a",
        "web-0 10.",
        "i-web-0 to be replaced",
        "ready, Kubernetes 1.36.4, last run 6 min 52 s, 2026-11-23T10:09:00Z",
        "the last resource was created 2 min 5 s after the cluster",
        "Added web-2",
        "web 1 web-0 web 2 web-1",
        "web-0, web-1 pools.web.disk_gb: 128 -> 200",
        f"planned digest {built.pools[-1].replace_digest[:16]}",
    ):
        assert shown in text, shown
    assert text.count("last run 6 min 52 s") == 1, "a record of an earlier instance is not shown"


@pytest.mark.usefixtures("unpredicted")
def test_a_change_that_up_refuses_is_in_the_report(clone: Path, mullion: Run) -> None:
    build("small")
    file = clone / "stacks" / "Pulumi.small.yaml"
    file.write_text(file.read_text().replace("1.36.4", "1.34.4"))
    assert mullion("report", "small", "-o", str(clone / "report.html")).exit_code == 0
    assert "One mullion up cannot make this change:" in words(clone / "report.html")


@pytest.mark.usefixtures("unpredicted")
def test_a_state_that_cannot_be_read_is_unknown_and_no_error(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    build("small")
    next(target.sandbox_folder("small").rglob("small.json")).write_text("{")
    ended = mullion("report", "small", "-o", str(clone / "report.html"))
    assert ended.exit_code == 0 and "the state of small is unknown: " in ended.stderr
    text = words(clone / "report.html")
    assert "The state of the built cluster is unknown: " in text
    assert "Instances are unknown." in text and "Unknown: the state cannot be compared." in text

    def no_engine(name: str) -> Any:
        raise html_report.Stop(Exit.NO_ENGINE, "there is no engine; install one")

    monkeypatch.setattr(html_report.kubeconfig, "built", no_engine)
    target.forget("small")
    target.remember("small", Target("aws", "111122223333", "eu-west-1"))
    assert mullion("report", "small", "-o", str(clone / "report.html")).exit_code == 0
    text = words(clone / "report.html")
    assert "In aws account 111122223333 in eu-west-1." in text
    assert "The state of the built cluster is unknown: there is no engine; install one" in text


@pytest.mark.usefixtures("unpredicted")
@pytest.mark.parametrize("given", [True, False], ids=["given", "of the last run"])
def test_results_of_verify_and_run_are_shown(given: bool, clone: Path, mullion: Run) -> None:
    folder = clone / "art" if given else clone / ".mullion" / "runs" / "small"
    folder.mkdir(parents=True)
    (folder / "verify.xml").write_text(as_junit("small", ROWS))
    (folder / "result.json").write_text(json.dumps(RUN))
    files = [word for name in ("verify.xml", "result.json") for word in ("--results", str(folder / name))]
    ended = mullion("report", "small", "-o", str(clone / "report.html"), *(files if given else ()))
    assert ended.exit_code == 0, ended.output
    text = words(clone / "report.html")
    for shown in (
        "1 of 3 rows failed",
        "packet-size web-1: name kubernetes.default failed no answer",
        "metadata web-1: closed: tcp 10.96.0.1:443 known limit not on 2019",
        "Exit code 7.",
        "command failed 3 s sh ended with 7",
        "Phase up 2 min 5 s, measured",
    ):
        assert shown in text, shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"rows": 1}',
        '{"phases": [{}], "exit_code": 0}',
        "<a/>",
        "<testsuite",
        '{"rows": [{"check": 1}]}',
    ],
)
def test_files_without_results_are_refused_before_anything_is_written(text: str, clone: Path, mullion: Run) -> None:
    (clone / "other").write_text(text)
    ended = mullion("report", "small", "-o", str(clone / "report.html"), "--results", str(clone / "other"))
    assert ended.exit_code == Exit.USAGE
    assert "other: not written by `mullion verify`" in ended.stderr
    assert not (clone / "report.html").exists()


@pytest.mark.usefixtures("unpredicted")
def test_a_file_that_cannot_be_written_and_one_that_is_not_there_are_named(clone: Path, mullion: Run) -> None:
    ended = mullion("report", "small", "-o", str(clone))
    assert ended.exit_code == Exit.USAGE and f"-o {clone}: " in ended.stderr
    ended = mullion("report", "small", "-o", str(clone / "r.html"), "--results", str(clone / "none.xml"))
    assert ended.exit_code == Exit.USAGE and "none.xml: No such file or directory" in ended.stderr


@pytest.mark.usefixtures("unpredicted")
def test_no_secret_of_the_state_of_files_and_of_the_environment_is_in_the_page(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    build("small")
    monkeypatch.setenv("CI_DEPLOY_TOKEN", SECRETS["environment"])
    target.write(target.folder("small") / "kubeconfig", SECRETS["kubeconfig"])
    said = f"password: {SECRETS['password']} token={SECRETS['token']} {SECRETS['environment']} {SECRETS['kubeconfig']}"
    rows = [replace(row, what=f"{row.what} {SECRETS['token']}", said=said) for row in ROWS]
    (clone / "rows.xml").write_text(as_junit("small", rows))
    (clone / "rows.json").write_text(as_json(rows))
    (clone / "result.json").write_text(json.dumps({**RUN, "left": said}))
    machine_records.write("small", {"web-0": ("i-web-0", {"state": "failed", "message": said, "name": "x"}, said)})
    files = [word for name in ("rows.xml", "rows.json", "result.json") for word in ("--results", str(clone / name))]
    assert mullion("report", "small", "-o", str(clone / "report.html"), *files).exit_code == 0
    text = (clone / "report.html").read_text()
    assert "i-web-0" in text and "[secret]" in text
    for secret in (*SECRETS.values(), "c2VjcmV0LWtleS1vZi10aGUtYWRtaW4=", "v1:c2VjcmV0LWNpcGhlcnRleHQ="):
        assert secret not in text, secret


HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>'",
    "</style></title></svg></textarea>-->&lt;b&gt;<!--",
    "\x00\x1b[2J\u202egnp.exe\ud800\x85",
)


def test_texts_of_users_and_machines_never_become_markup(clone: Path) -> None:
    build("small")
    stack = stack_files.load("small")
    known = html_report.known_of(stack)
    contents = report_contents.contents(stack, known, report_times.Prediction(), _results(clone))
    plain = parsed(page.html(contents))
    tags, names = _markup(plain)
    for text in HOSTILE:
        whole = page.html(_with(contents, text))
        tree = parsed(whole)
        now, attributes = _markup(tree)
        assert now <= tags and attributes <= names, text
        assert text not in whole
        assert not {each for each in whole if not each.isprintable() and each != "\n"}, text
        assert sum(text in part for part in tree.itertext()) > 100 or text[0] == "\x00"


def _results(clone: Path) -> list[results.Results]:
    (clone / "rows.json").write_text(as_json(ROWS))
    return [results.read(clone / "rows.json"), results.of_run(json.dumps(RUN), "result.json")]


def _markup(tree: Any) -> tuple[set[str], set[str]]:
    return {each.tag for each in tree.iter() if isinstance(each.tag, str)}, {
        name for each in tree.iter() for name in each.attrib
    }


def _with(value: Any, text: str) -> Any:
    """Return the values with a text behind each of their texts that is not empty; keys stay as they are."""
    if isinstance(value, str):
        return value and f"{value}{text}"
    if isinstance(value, dict):
        return {key: _with(each, text) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with(each, text) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _with(getattr(value, each.name), text) for each in fields(value)})
    return value


def test_a_stack_of_500_workers_is_folded_and_small(clone: Path) -> None:
    file = clone / "stacks" / "Pulumi.small.yaml"
    ranges = "    network: {nodes: 10.20.0.0/16, pods: 10.128.0.0/9}\n    pools:"
    file.write_text(file.read_text().replace("count: 2", "count: 499").replace("    pools:", ranges))
    stack = stack_files.load("small")
    text = page.html(report_contents.contents(stack, Known("Not built"), report_times.Prediction(), []))
    assert len(text) < 300_000
    folded = {
        (each.find("summary/h3").text, "open" in each.attrib)  # pyright: ignore[reportOptionalMemberAccess]
        for each in parsed(text).iter("details")
    }
    assert {("web", False), ("linux", True)} <= folded
    assert text.count('<th scope="row" class="keep">web-') == 499
