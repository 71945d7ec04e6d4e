"""The examples of docs/workloads.md: the linter finds nothing in them, and their plans are what the page says."""

import json
import re
from pathlib import Path
from uuid import UUID

import pytest
import yaml

from components.lint import Context, examples
from components.lint.documents import Manifests
from components.lint.judge import lint
from components.node.addons import runtime_classes
from components.node.role import role
from components.spec.models import ClusterSpec
from operations.manifests.reading import objects

ROOT = Path(__file__).parents[3]
WORKLOADS = ROOT / "examples" / "workloads"
FIELDS = {
    "EventLog": {"type", "startAtOldestRecord", "eventFormatMultiLine", "channels"},
    "File": {"type", "directory", "filter", "includeSubdirectories"},
    "ETW": {"type", "eventFormatMultiLine", "providers"},
}
"""Fields of LogMonitor's sources (LogMonitor/src/LogMonitor/Parser/ConfigFileParser.h of windows-container-tools)."""
ENTRIES = {"channels": {"name", "level"}, "providers": {"providerName", "providerGuid", "level", "keywords"}}
LEVELS = {"Critical", "Error", "Warning", "Information", "Verbose"}


@pytest.mark.parametrize("pools", ["b: {os: windows-2022}", "b: {os: windows-2022}, c: {os: windows-2025}"])
def test_sch_06_the_linter_finds_nothing_in_the_web_server(pools: str) -> None:
    manifests = Manifests(tuple(objects(str(WORKLOADS / "iis.yaml"))))
    of_stack = examples.of_cluster(f"{{pools: {{a: {{os: ubuntu-24.04}}, {pools}}}}}")
    for context in (Context(), of_stack):
        assert [str(each) for each in lint(manifests, context).findings] == []


def test_sch_06_the_web_server_needs_a_pool_of_its_build() -> None:
    manifests = Manifests(tuple(objects(str(WORKLOADS / "iis.yaml"))))
    other = examples.of_cluster("{pools: {a: {os: ubuntu-24.04}, b: {os: windows-2019}}}")
    assert [each.rule.id for each in lint(manifests, other).findings] == ["build-without-nodes"]


def test_sec_07_node_problem_detector_without_an_operating_system_is_refused() -> None:
    chart = Path(__file__).parent / "charts" / "node-problem-detector.yaml"
    (shipped,) = objects(str(chart))
    assert lint(Manifests((shipped,)), Context()).findings == ()
    del shipped.data["spec"]["template"]["spec"]["affinity"]
    rules = {each.rule.id: each.rule.requirements for each in lint(Manifests((shipped,)), Context()).findings}
    assert "SEC-07" in rules["daemonset-on-windows"]


def test_ops_09_logmonitor_knows_every_field_of_the_configuration() -> None:
    sources = json.loads((WORKLOADS / "logs" / "LogMonitorConfig.json").read_text("ascii"))["LogConfig"]["sources"]
    assert [each["type"] for each in sources] == ["EventLog", "File", "ETW"]
    for source in sources:
        assert source.keys() <= FIELDS[source["type"]]
        for key in source.keys() & ENTRIES.keys():
            for entry in source[key]:
                assert entry.keys() <= ENTRIES[key]
                assert entry["level"] in LEVELS
                assert "providerGuid" not in entry or str(UUID(entry["providerGuid"])).upper() == entry["providerGuid"]


def test_os_09_a_pool_of_another_build_adds_its_runtime_class() -> None:
    page = (ROOT / "docs" / "workloads.md").read_text("utf-8")
    shown = re.search(r"```yaml\n(   pools:\n.*?)   ```", page, re.DOTALL)
    assert shown, "the page shows the pools"
    pools = yaml.safe_load(shown[1])["pools"]
    spec = {"cloud": "aws", "kubernetes": "1.36.4", "pools": {"linux": {"os": "ubuntu-24.04", "count": 1}, **pools}}
    of_pools = ClusterSpec.model_validate(spec)
    classes = [each["metadata"]["name"] for each in runtime_classes(role("web", of_pools, None))]
    assert classes == ["windows-2022", "windows-2025"]
