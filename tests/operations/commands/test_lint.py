"""`mullion lint`: places, formats, exit codes, and files that cannot be read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from components.lint import RULES, by_id
from operations.__main__ import app
from operations.manifests import yaml_reader

Mullion = Callable[..., Result]

WEB = """\
# what helm template prints
---
---
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: web}
  - apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
    spec:
      template:
        spec:
          nodeSelector: {kubernetes.io/os: windows}
          containers:
            - name: web
              image: example.com/web:1
              resources: {limits: {cpu: 1, memory: 1Gi}}
              securityContext:
                privileged: true
              volumeMounts: [{name: data, mountPath: 'C:\\data', subPath: part}]
          tolerations: [{key: os, operator: Exists}]
          os: {name: null}
"""


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "web.yaml"
    path.write_text(WEB)
    return path


def test_a_finding_names_rule_file_line_object_path_fix_and_source(mullion: Mullion, manifest: Path) -> None:
    result = mullion("lint", str(manifest))
    assert result.exit_code == 1
    assert result.stderr == "mullion: 1 of 3 findings must be corrected\n"
    paragraph = next(each for each in result.stdout.split("\n\n") if "[privileged]" in each)
    assert paragraph.splitlines() == [
        f"{manifest}:23: Deployment/web (document 2): spec.template.spec.containers[0].securityContext.privileged",
        "  error [privileged] Windows has no privileged containers. The container does not start.",
        f"  Fix: {by_id()['privileged'].fix}.",
        "  LIN-01, https://kubernetes.io/docs/concepts/windows/intro/",
    ]
    assert result.stdout.splitlines()[-1] == "2 objects: 1 errors, 1 warnings, 1 notes, 0 ignored"


def test_json_has_the_fields_of_each_finding(mullion: Mullion, manifest: Path) -> None:
    document = json.loads(mullion("lint", str(manifest), "--format", "json").stdout)
    finding = next(each for each in document["findings"] if each["id"] == "sub-path")
    expected = {
        "level": "warning",
        "file": str(manifest),
        "line": 24,
        "document": 2,
        "kind": "Deployment",
        "name": "web",
    }
    assert {key: finding[key] for key in expected} == expected
    assert finding["path"] == "spec.template.spec.containers[0].volumeMounts[0].subPath"
    assert finding["requirements"] == ["STO-04"]


def test_sarif_has_the_shape_that_its_schema_asks_for(mullion: Mullion, manifest: Path) -> None:
    """Required properties and closed lists of the OASIS schema of SARIF 2.1.0, which no package brings."""
    log: dict[str, Any] = json.loads(mullion("lint", str(manifest), "--format", "sarif", "--ignore", "sub-path").stdout)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert [rule["id"] for rule in driver["rules"]] == [rule.id for rule in RULES]
    for rule in driver["rules"]:
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
        assert all(rule[key]["text"] for key in ("shortDescription", "fullDescription", "help"))
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == str(manifest)
        assert place["region"]["startLine"] >= 1
    assert [each["ruleId"] for each in run["results"] if "suppressions" in each] == ["sub-path"]
    assert run["results"][-1]["suppressions"] == [{"kind": "external"}]


def test_junit_counts_errors_as_failures_and_the_rest_as_skipped(
    mullion: Mullion, manifest: Path, tmp_path: Path
) -> None:
    target = tmp_path / "lint.xml"
    result = mullion("lint", str(manifest), "--format", "junit", "-o", str(target))
    assert result.stdout == ""
    suite = ElementTree.fromstring(target.read_text("utf-8"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "2")
    assert [case.get("classname") for case in suite if case.find("failure") is not None] == ["privileged"]


@pytest.mark.parametrize(("words", "code"), [
    ((), 1),
    (("--ignore", "privileged"), 0),
    (("--ignore", "privileged", "--strict"), 1),
    (("--ignore", "privileged", "--ignore", "sub-path", "--strict"), 0),
    (("--ignore", "other"), 2),
    (("--format", "xml"), 2),
    (("--stack", "missing"), 2),
    (("-",), 1),
    (("-", "-"), 2),
])  # fmt: skip
def test_exit_codes(manifest: Path, words: tuple[str, ...], code: int) -> None:
    assert CliRunner().invoke(app, ["lint", str(manifest), *words], input=WEB).exit_code == code


def test_a_stack_adds_the_rules_of_its_pools(mullion: Mullion, clone: Path, manifest: Path) -> None:
    manifest.write_text(WEB.replace("key: os", "key: other"))
    assert "no-toleration" not in mullion("lint", str(manifest)).stdout
    result = mullion("lint", str(manifest), "--stack", "small")
    assert "[no-toleration]" in result.stdout


def test_ignored_findings_are_counted(mullion: Mullion, manifest: Path) -> None:
    result = mullion("lint", str(manifest), "--ignore", "privileged", "--ignore", "sub-path")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "2 objects: 0 errors, 0 warnings, 1 notes, 2 ignored"


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 300))


@pytest.mark.parametrize(("text", "said"), [
    ("a: 1\nb: : 2\n", ":2: it is not YAML: mapping values are not allowed in this context"),
    ("a: 1\na: 2\n", ":2: the key a appears twice"),
    ("a: &a\n  b: *a\n", ":2: the alias *a has no anchor before it, or is inside its own anchor"),
    (BOMB, ":7: it has more than 1000000 values, with those that aliases repeat"),
    (CHAIN, ":200: it is nested deeper than 200 levels, with aliases expanded"),
    ("[" * 100000, ":1: it is nested deeper than 200 levels"),
    ("a: !!python/object:os.system {}\nkind: b\n", ": document 1 is not a Kubernetes object"),
    ("a: !!binary aaaa\n", ":1: the tag !binary is not allowed in Kubernetes manifests"),
    ("kind: Pod\n", ":1: document 1 is not a Kubernetes object: it lacks apiVersion or kind"),
    ("apiVersion: v1\nkind: List\nitems:\n- 3\n", ":4: document 1 is not a Kubernetes object"),
    ("# nothing\n---\n", ": it has no Kubernetes object"),
    ("a: '\x01'\n", "it is not YAML"),
])  # fmt: skip
def test_a_file_that_cannot_be_read_is_refused_with_line_and_reason(
    mullion: Mullion, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    result = mullion("lint", str(path))
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"mullion: {path}")
    assert said in result.stderr


def test_files_that_are_missing_folders_binary_or_too_large_are_refused(
    mullion: Mullion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.yaml"
    assert "No such file" in mullion("lint", str(path)).stderr
    assert "it is a folder" in mullion("lint", str(tmp_path)).stderr
    path.write_bytes(b"a: 1\n\xff\n")
    assert f"{path}:2: byte 5 is not UTF-8" in mullion("lint", str(path)).stderr
    monkeypatch.setattr("operations.manifests.reading.MOST_BYTES", 4)
    assert "it is larger than" in mullion("lint", str(path)).stderr


def test_json_with_tabs_and_escapes_is_read(mullion: Mullion, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{\n\t"apiVersion": "v1",\n\t"kind": "Pod",\n\t"metadata": {"name": "a\\/b"}, "spec": {}}')
    assert mullion("lint", str(path)).exit_code == 0


@pytest.mark.parametrize(("text", "value"), [
    ("2024-01-01", "2024-01-01"), ("0644", 420), ("yes", True), ("1:30", "1:30"), ("1e3", "1e3"), ("~", None),
    ("'yes'", "yes"), ("1.5", 1.5),
])  # fmt: skip
def test_scalars_are_those_of_kubernetes_yaml(text: str, value: Any) -> None:
    (document,) = yaml_reader.documents(f"a: {text}\n")
    assert document.data == {"a": value}


def test_integers_beyond_64_bits_and_keys_of_other_types_stay_text() -> None:
    digits = "0x" + "f" * 5000
    (document,) = yaml_reader.documents(f"a: {digits}\nb: {2**64 - 1}\n? {digits}\n: 1\n1: c\ntrue: d\n~: e\n")
    assert document.data == {"a": digits, "b": 2**64 - 1, digits: 1, "1": "c", "true": "d", "null": "e"}


@pytest.mark.parametrize("text", [
    'a: 1\n"\\e[2J": 1\n"\\e[2J": 2\n', "a: !%1b%5b31m x\n", "a: 1\n? *\u202e\n: 1\n", "a: &\u202e [*\u202e]\n",
])  # fmt: skip
def test_errors_print_no_terminal_escapes(mullion: Mullion, tmp_path: Path, text: str) -> None:
    path = tmp_path / "\x1b[31mred.yaml"
    path.write_text(text)
    result = mullion("lint", str(path))
    assert result.exit_code == 2, result.output
    assert result.stderr.rstrip("\n").isprintable()


def test_merging_many_maps_copies_none_of_them() -> None:
    """The first map wins. Copying 20,000 keys for each of 20,000 merges would take minutes."""
    keys = ", ".join(f"k{n}: 1" for n in range(20_000))
    text = f"a: &a {{x: 1}}\nb: &b {{x: 2, y: 2}}\nc: {{{keys}, {'<<: *a, ' * 20_000}<<: *b}}\n"
    (document,) = yaml_reader.documents(text)
    assert len(document.data["c"]) == 20_002
    assert (document.data["c"]["x"], document.data["c"]["y"]) == (1, 2)


def test_merge_keys_and_aliases_keep_their_values_and_lines() -> None:
    text = "a: &a\n  x: 1\n  y: 2\nb:\n  <<: *a\n  y: 3\nc: *a\n"
    (document,) = yaml_reader.documents(text)
    assert document.data == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}, "c": {"x": 1, "y": 2}}
    assert document.lines["c",] == 7
    assert document.lines["b", "y"] == 6
