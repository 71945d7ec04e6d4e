"""False alarms in manifests written in the manner of well-known charts."""

from pathlib import Path

import pytest

from components.lint import Context, Level, examples, page
from components.lint.documents import Manifests
from components.lint.judge import lint
from operations.manifests.reading import objects

CHARTS = sorted((Path(__file__).parent / "charts").glob("*.yaml"))
FAILS = {("fluent-bit.yaml", "daemonset-on-windows")}
"""Findings that are right: Linux pods that would start on Windows nodes with the default taint."""
ALARMS = {
    ("external-dns.yaml", "no-os"): 2,
    ("grafana.yaml", "no-os"): 1,
    ("kube-prometheus-stack.yaml", "no-os"): 2,
    ("postgresql.yaml", "no-os"): 1,
    ("windows-exporter.yaml", "sub-path"): 1,
}
"""Findings without a stack in workloads that run unchanged: the default taint keeps Linux pods from Windows nodes."""
WITH_STACK = {("windows-exporter.yaml", "sub-path"): 1}


def found(context: Context) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for chart in CHARTS:
        for each in lint(Manifests(tuple(objects(str(chart)))), context).findings:
            if each.rule.level is not Level.NOTE and (chart.name, each.rule.id) not in FAILS:
                counts[chart.name, each.rule.id] = counts.get((chart.name, each.rule.id), 0) + 1
    return counts


@pytest.mark.parametrize(
    "context", [Context(), examples.of_cluster("{pools: {a: {os: ubuntu-24.04}, b: {os: windows-2022}}}")]
)
def test_pods_that_would_fail_are_found(context: Context) -> None:
    verdicts = {chart.name: lint(Manifests(tuple(objects(str(chart)))), context) for chart in CHARTS}
    assert all(rule in {each.rule.id for each in verdicts[name].findings} for name, rule in FAILS)


def test_false_alarms_are_as_many_as_the_page_says() -> None:
    stack = examples.of_cluster("{pools: {a: {os: ubuntu-24.04}, b: {os: windows-2022}}}")
    assert found(Context()) == ALARMS
    assert found(stack) == WITH_STACK
    workloads = [each for chart in CHARTS for each in Manifests(tuple(objects(str(chart)))).workloads()]
    figures = (
        f"{sum(ALARMS.values())} in {len(workloads)} workloads of {len(CHARTS)} charts, "
        f"and {sum(WITH_STACK.values())} with `--stack`"
    )
    assert figures in " ".join(page.render().split()), figures
