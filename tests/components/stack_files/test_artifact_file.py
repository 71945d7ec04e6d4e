"""artifacts.file: its entries become part of the spec; errors name the entry and the key."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.catalogue.artifacts import catalogue
from components.spec.report import Severity, SpecError
from components.stack_files import artifact_file
from components.stack_files.artifact_file import with_file
from components.stack_files.stack import CLUSTER, Stack, read_stack, refuse_unready
from tests.components.spec.documents import GOOD, REGION, changed, problems

ENTRY: dict[str, Any] = {
    "name": "kubernetes-node",
    "version": "1.37.1",
    "os": "linux",
    "url": "https://files.example/node.tar.gz",
    "sha256": 64 * "0",
    "source": "our own build",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with Pulumi.yaml, against which relative paths are resolved."""
    (tmp_path / "Pulumi.yaml").touch()
    monkeypatch.setattr(artifact_file.with_file, "__defaults__", (tmp_path,))
    return tmp_path


def _stack(**cluster: Any) -> Stack:
    return read_stack("aws-test", {**REGION, CLUSTER: changed(cluster)})


def test_entries_of_the_file_become_part_of_the_spec_before_inline_ones(project: Path) -> None:
    (project / "own.json").write_text(json.dumps([ENTRY, {**ENTRY, "os": "windows"}]))
    inline = {**ENTRY, "version": "1.37.2"}
    stack = _stack(kubernetes="1.37.1", artifacts={"file": "own.json", "entries": [inline]})
    assert [(each.version, each.os.value) for each in stack.spec.artifacts.entries] == [
        ("1.37.1", "linux"),
        ("1.37.1", "windows"),
        ("1.37.2", "linux"),
    ]
    assert stack.warnings == (), "the entries give both programs a digest"
    artifact = catalogue(stack.spec.artifacts).find("kubernetes-node", "1.37.1", "linux")
    assert (artifact.digest, artifact.url, artifact.source) == (f"sha256:{64 * '0'}", ENTRY["url"], "our own build")


def test_artifacts_json_is_read_if_the_stack_file_names_no_file(project: Path) -> None:
    (project / "artifacts.json").write_text(json.dumps([ENTRY, {**ENTRY, "os": "windows"}]))
    refuse_unready(_stack(kubernetes="1.37.1"))
    inline = {**ENTRY, "version": "1.37.2"}
    versions = [each.version for each in _stack(artifacts={"entries": [inline]}).spec.artifacts.entries]
    assert versions == ["1.37.1", "1.37.1", "1.37.2"]


def test_a_named_file_is_read_instead_of_artifacts_json(project: Path) -> None:
    (project / "artifacts.json").write_text(json.dumps([ENTRY]))
    (project / "own.json").write_text("[]")
    assert _stack(artifacts={"file": "own.json"}).spec.artifacts.entries == []


def test_an_absolute_path_needs_no_project(project: Path) -> None:
    (project / "own.json").write_text(json.dumps([ENTRY]))
    document, wrong = with_file({"artifacts": {"file": str(project / "own.json")}}, Path("/nowhere"))
    assert (wrong, document["artifacts"]["entries"]) == ([], [ENTRY])


def test_the_error_for_a_relative_path_without_a_project_says_what_to_write(tmp_path: Path) -> None:
    _, [wrong] = with_file({"artifacts": {"file": "own.json"}}, tmp_path)
    assert (wrong.id, wrong.path, wrong.severity) == ("artifact-file-relative", "artifacts.file", Severity.ERROR)
    assert "artifacts.entries" in wrong.fix


@pytest.mark.parametrize(
    ("content", "id", "says"),
    [
        (None, "artifact-file-unreadable", "No such file"),
        (b"{", "artifact-file-unreadable", "it is not JSON"),
        (b"\xff\xfe[\x00", "artifact-file-unreadable", "it is not JSON"),
        (b"[" * 100_000, "artifact-file-unreadable", "it is not JSON"),
        (b'{"name": "x"}', "wrong-type", "a list of entries"),
    ],
)
def test_an_unreadable_file_is_reported_as_one_problem(
    project: Path, content: bytes | None, id: str, says: str
) -> None:
    if content is not None:
        (project / "own.json").write_bytes(content)
    [problem] = problems(changed({"artifacts": {"file": "own.json"}}))
    assert (problem.id, problem.path.partition(":")[0]) == (id, "artifacts.file")
    assert says in f"{problem.wrong} {problem.fix}"


WRONG: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "short digest": ({"sha256": "abc"}, ".sha256", "wrong-value", "64 hexadecimal digits"),
    "upper case": ({"sha256": 64 * "A"}, ".sha256", "wrong-value", "lower case"),
    "two digests": ({"sha512": 128 * "0"}, "", "wrong-value", "exactly one"),
    "no digest": ({"sha256": None}, "", "wrong-value", "exactly one"),
    "another word": ({"sha256": None, "digest": "none"}, ".digest", "wrong-value", "sha256 or sha512"),
    "another system": ({"os": "linus"}, ".os", "wrong-value", "linux, windows"),
    "a signed URL": ({"url": "https://files.example/x?sig=1"}, ".url", "wrong-value", "write https://host/path"),
    "a user": ({"url": "https://me:pw@files.example/x"}, ".url", "wrong-value", "write https://host/path"),
    "no URL": ({"url": "files.example/x"}, ".url", "wrong-value", "https://host/path"),
    "another key": ({"sha265": "x"}, ".sha265", "unknown-key", "write sha256"),
    "a size as text": ({"size": "many"}, ".size", "wrong-type", "whole number"),
    "no size": ({"size": 0}, ".size", "wrong-value", "whole number"),
}


@pytest.mark.parametrize(("change", "field", "id", "says"), WRONG.values(), ids=WRONG)
def test_the_error_for_an_invalid_entry_names_its_index_in_the_file(
    project: Path, change: dict[str, Any], field: str, id: str, says: str
) -> None:
    (project / "own.json").write_text(json.dumps([ENTRY, {**ENTRY, "os": "windows", **change}]))
    all_problems = problems(changed({"artifacts": {"file": "own.json"}}))
    assert [(each.id, each.path) for each in all_problems] == [(id, f"artifacts.file[1]{field}")]
    assert says in f"{all_problems[0].wrong} {all_problems[0].fix}"


@pytest.mark.parametrize(("change", "field", "id", "says"), WRONG.values(), ids=WRONG)
def test_the_error_for_an_invalid_inline_entry_names_its_path_in_the_spec(
    change: dict[str, Any], field: str, id: str, says: str
) -> None:
    all_problems = problems(changed({"artifacts": {"entries": [{**ENTRY, **change}]}}))
    assert [(each.id, each.path) for each in all_problems] == [(id, f"artifacts.entries.0{field}")]
    assert says in f"{all_problems[0].wrong} {all_problems[0].fix}"


@pytest.mark.parametrize("url", ["https://me:hunter2@files.example/x", "https://files.example/x?sig=hunter2"])
def test_errors_do_not_show_the_user_and_query_of_a_url(url: str) -> None:
    [problem] = problems(changed({"artifacts": {"mirror": url}}))
    assert "files.example" in str(problem)
    assert "hunter2" not in str(problem)


@pytest.mark.parametrize("artifacts", [[], 3, {"file": 3}, {"entries": 3}, {"file": "x", "entries": {}}])
def test_malformed_artifacts_are_reported_as_problems(artifacts: Any) -> None:
    assert problems({**GOOD, "artifacts": artifacts})


@pytest.mark.parametrize("mirror", ["mirror.example", "ftp://mirror.example", "https://me@mirror.example", "https://"])
def test_a_mirror_must_be_an_http_url_without_a_user(mirror: str) -> None:
    [problem] = problems(changed({"artifacts": {"mirror": mirror}}))
    assert (problem.id, problem.path) == ("wrong-value", "artifacts.mirror")


def test_a_download_without_a_digest_is_a_warning_for_plan_and_an_error_for_up() -> None:
    reason = {"download-without-digest": "we check it by hand"}
    for acknowledge in ({}, reason):
        stack = _stack(kubernetes="1.37.1", acknowledge=acknowledge)
        unpinned = [each for each in stack.warnings if each.id == "download-without-digest"]
        assert len(unpinned) == 2, "one for each operating system"
        assert {each.fix for each in unpinned} == {"run: mullion pin kubernetes-node 1.37.1"}
        with pytest.raises(SpecError) as refused:
            refuse_unready(stack)
        assert {each.severity for each in refused.value.problems} == {Severity.ERROR}
        assert "mullion pin kubernetes-node 1.37.1" in str(refused.value)
    refuse_unready(_stack(kubernetes="1.37.0"))


def test_an_expired_stack_is_a_warning_for_plan_and_an_error_for_up() -> None:
    stack = _stack(expires="2020-12-24T18:00:00Z", acknowledge={"expires-past": "never mind"})
    assert [warning.id for warning in stack.warnings] == ["expires-past"]
    with pytest.raises(SpecError, match="is in the past"):
        refuse_unready(stack)
    refuse_unready(_stack(expires="8h"))


def test_an_open_api_stops_up_until_it_is_acknowledged() -> None:
    api = {"access": "public", "allow": ["0.0.0.0/1", "128.0.0.0/1"]}
    with pytest.raises(SpecError, match="the whole internet can reach the API"):
        refuse_unready(_stack(api=api))
    refuse_unready(_stack(api=api, acknowledge={"allow-anywhere": "a cluster of a workshop, for one day"}))
