"""docs/monitoring.md and examples/monitoring name metrics, alerts and files that exist."""

import importlib
import json
import re

import pytest
import yaml

from components.lint import Level, examples
from components.lint.documents import Manifests
from components.lint.judge import lint
from components.machine.bundle import CLOUD_INIT
from operations.manifests.reading import objects
from operations.stacks.paths import REPOSITORY

PAGE = (REPOSITORY / "docs/monitoring.md").read_text()
EXAMPLES = REPOSITORY / "examples/monitoring"
RULES = [
    rule for group in yaml.safe_load((EXAMPLES / "rules.yaml").read_text())["spec"]["groups"] for rule in group["rules"]
]
EXPORTERS = {
    "kube_node_role",
    "node_textfile_mtime_seconds",
    "windows_service_state",
    "windows_logical_disk_free_bytes",
    "windows_logical_disk_size_bytes",
}
"""Metrics of kube-state-metrics, node_exporter 1.12 and windows_exporter 0.27.2."""


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return what the files say of each metric."""
    monkeypatch.syspath_prepend(str(CLOUD_INIT / "linux"))
    return importlib.import_module("metrics").HELP


def test_the_page_lists_every_metric_as_the_files_describe_it(described: dict[str, str]) -> None:
    assert dict(re.findall(r"^\| `(mullion_\w+)` \| (.+) \|$", PAGE, re.MULTILINE)) == described


def test_the_page_lists_every_alert_with_severity_and_time() -> None:
    rows = re.findall(r"^\| `(Mullion\w+)` \| (\w+) \| (\w+) \|$", PAGE, re.MULTILINE)
    assert rows == [(rule["alert"], rule["labels"]["severity"], rule["for"]) for rule in RULES]


def test_alerts_and_dashboard_query_metrics_that_exist(described: dict[str, str]) -> None:
    known = {*described} | EXPORTERS
    panels = json.loads((EXAMPLES / "dashboard.json").read_text())["panels"]
    queries = [rule["expr"] for rule in RULES] + [each["expr"] for panel in panels for each in panel["targets"]]
    named = {name for query in queries for name in re.findall(r"\b(?:mullion|node|windows|kube)_\w+", query)}
    assert named <= known, named - known
    unused = {*described} - named
    assert unused == {"mullion_run_ended_timestamp_seconds"}, "shown to people who look for a machine's last run"


def test_mullions_own_rules_accept_the_exporter_of_windows() -> None:
    """`admission.windows_workloads: enforce` would refuse it otherwise."""
    manifests = Manifests(tuple(objects(str(EXAMPLES / "windows-exporter.yaml"))))
    context = examples.of_cluster("{pools: {a: {os: ubuntu-24.04}, b: {os: windows-2022}}}")
    found = lint(manifests, context).findings
    assert {each.rule.id for each in found if each.rule.level is not Level.NOTE} == set()


def test_no_panel_of_the_dashboard_covers_another() -> None:
    panels = json.loads((EXAMPLES / "dashboard.json").read_text())["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24, "a row of Grafana has 24 columns"
    assert len({panel["id"] for panel in panels}) == len(panels)
