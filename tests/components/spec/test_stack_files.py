"""Stack files: those in the repository, and files with invalid YAML."""

import json
import sys
from pathlib import Path

import pytest

from components.spec.models import OperatingSystem
from components.spec.report import SpecError
from components.stack_files.stack import CLUSTER, EXAMPLES, read_stack, stack_file_config
from tests.components.spec.documents import Change, changed, kubelet, net, plane, problems, reported, web

STACKS = Path(__file__).parents[3] / "stacks"
NAMES = sorted(path.name.split(".")[1] for path in STACKS.glob("Pulumi.*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_the_repositorys_stacks_are_valid_and_acknowledge_every_warning_but_those_about_examples(name: str) -> None:
    stack = read_stack(name, stack_file_config(STACKS / f"Pulumi.{name}.yaml"))
    assert stack.name == name
    assert {warning.id for warning in stack.warnings if warning.acknowledged is None} <= EXAMPLES
    assert {warning.id for warning in stack.warnings} - EXAMPLES == set(stack.spec.acknowledge), (
        "every acknowledgement belongs to a warning"
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_stack_file_names_the_schema_and_is_valid_against_it(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    yaml = pytest.importorskip("yaml")
    text = (STACKS / f"Pulumi.{name}.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=schema.json\n")
    schema = json.loads((STACKS / "schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(text), schema)
    wrong = text.replace("    cloud: ", "    clod: ").replace("mullion:world", "mullion:x")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(wrong), schema)


def test_the_repositorys_stacks_have_the_designed_options() -> None:
    assert set(NAMES) >= {"aws-ci", "aws-dev", "aws-docker", "aws-prod"}
    specs = {name: read_stack(name, stack_file_config(STACKS / f"Pulumi.{name}.yaml")).spec for name in NAMES}
    assert specs["aws-dev"].pools["web"].os is OperatingSystem.WINDOWS_2022
    assert specs["aws-ci"].expires == "8h"
    assert specs["aws-prod"].protect
    assert [specs[name].control_plane.count for name in ("aws-ci", "aws-dev", "aws-prod")] == [1, 1, 3]


def _laughs(form: str) -> str:
    """Return a YAML bomb: nine levels of aliases, each ten times as large as the one before."""
    levels = [f"  a{i}: &a{i} " + form.format(", ".join([f"*a{i - 1}"] * 10)) for i in range(1, 10)]
    return "\n".join(["config:", "  a0: &a0 {x: 1}", *levels]) + "\n"


FILES = (
    ("config: {a: 1", "yaml-syntax", "Pulumi.x.yaml", "line"),
    ("config:\n\ta: 1\n", "yaml-syntax", "Pulumi.x.yaml", "line 2"),
    ("config:\n  a: 2026-13-01\n", "yaml-syntax", "Pulumi.x.yaml", "month"),
    ("config: !!python/object:os.system {}\n", "yaml-syntax", "Pulumi.x.yaml", "line 1"),
    ("config:\n  ? [a]\n  : 1\n", "yaml-syntax", "Pulumi.x.yaml", "line 2"),
    ("config:\n  b: {x: 1,\n      x: 2}\n", "duplicate-key", "line 3", "twice"),
    ("config:\n  b: 1\n  b: 1\n", "duplicate-key", "line 3", "'b'"),
    ("", "wrong-type", "config", "empty"),
    ("- a\n", "wrong-type", "config", "empty"),
    ("config: 3\n", "wrong-type", "config", "3"),
    ("config: " + "[" * 3000, "yaml-too-deep", "Pulumi.x.yaml", "nested"),
    ("config: " + "{a: " * 900, "yaml-too-deep", "Pulumi.x.yaml", "nested"),
    (_laughs("[{0}]"), "yaml-too-large", "Pulumi.x.yaml", "the limit is 100000"),
    (_laughs("{{<<: [{0}]}}"), "yaml-too-large", "Pulumi.x.yaml", "the limit is 100000"),
)


@pytest.mark.parametrize(("text", "id", "path", "wrong"), FILES)
def test_an_invalid_stack_file_is_refused_with_the_line(
    text: str, id: str, path: str, wrong: str, tmp_path: Path
) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as failure:
        stack_file_config(file)
    [problem] = failure.value.problems
    assert (problem.id, problem.path) == (id, path)
    assert wrong in problem.wrong


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_bytes(b"\xff\xfe\x00\x01\x02")
    with pytest.raises(SpecError):
        stack_file_config(file)


def test_yaml_anchors_and_merge_keys_work(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text("config:\n  a: &a {x: 1}\n  b: {<<: *a, x: 2}\n", encoding="utf-8")
    assert stack_file_config(file) == {"a": {"x": 1}, "b": {"x": 2}}


def test_the_schema_has_the_region_key_of_every_cloud() -> None:
    schema = json.loads((STACKS / "schema.json").read_text(encoding="utf-8"))
    assert {"aws:region", "azure-native:location", "gcp:region"} <= set(schema["properties"]["config"]["properties"])


@pytest.mark.subprocess
def test_reading_a_stack_does_not_import_pulumi() -> None:
    import subprocess

    code = (
        "import sys; import components.stack_files.stack, components.stack_files.schema; print('pulumi' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=STACKS.parent, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


WRONG_FOR_EDITORS = (
    (plane(count=2), plane(count=3)),
    (plane(size=""), plane(size="m6i.large")),
    (net(pods="10.0.0.0/33"), net(pods="10.0.0.0/16")),
    (net(dns="10.96.0.256"), net(dns="10.96.0.10")),
    (kubelet(system_reserved={"cpu": "abc"}), kubelet(system_reserved={"cpu": "500m"})),
    (kubelet(system_reserved={"memory": "2GiB"}), kubelet(system_reserved={"memory": "2Gi"})),
    (web(rollout={"drain": "soon"}), web(rollout={"drain": "10m"})),
)


@pytest.mark.parametrize(("wrong", "right"), WRONG_FOR_EDITORS)
def test_the_schema_refuses_malformed_values(wrong: Change, right: Change) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((STACKS / "schema.json").read_text(encoding="utf-8"))
    jsonschema.validate({"config": {CLUSTER: changed(right)}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"config": {CLUSTER: changed(wrong)}}, schema)


@pytest.mark.parametrize("count", [5001, 10**7, 10**37])
def test_a_huge_count_is_refused_at_once(count: int) -> None:
    [problem] = problems(changed(plane(count=count)))
    assert (problem.id, problem.path) == ("wrong-value", "control_plane.count")
    assert "1 or 3" in problem.fix


def test_an_empty_size_is_refused() -> None:
    assert reported(changed(web(size=""))) == {("wrong-value", "pools.web.size")}
