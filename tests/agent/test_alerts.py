"""Each alert of examples/monitoring fires when its fault is made, and ends when it is mended.

Real: Prometheus, node_exporter, and the agent that writes the metrics. The rules' waiting times (`for`) are left out.
Metrics of windows_exporter and kube-state-metrics are written by the test, with the names of their sources.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest
import yaml

from lab import build
from lab.programs import MONITORING
from operations.stacks.paths import REPOSITORY
from tests.agent.alert_faults import FAULTS, Watched
from tests.agent.cluster import Cluster
from tests.agent.test_rounds import start
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.linux import Programs
from tests.lab.agent.free_ports import held_ports

__all__ = ["start"]

pytestmark = [pytest.mark.lab, pytest.mark.soak]

EXAMPLES = REPOSITORY / "examples/monitoring"
RULES = yaml.safe_load((EXAMPLES / "rules.yaml").read_text())["spec"]
WAITS = ("for", "keep_firing_for")
ALERTS = {rule["alert"] for group in RULES["groups"] for rule in group["rules"]}


@pytest.fixture(scope="session")
def paths(missing: Callable[[str, str], NoReturn]) -> dict[str, Path]:
    """Return the built programs by name."""
    lacking = [each.name for each in MONITORING if not build.is_built(each)]
    if lacking:
        missing("lab", f"{', '.join(lacking)} is not built; run: python -m lab monitoring 1.37.1")
    return {each.name: build.place(each) for each in MONITORING}


def _at_once(rule: dict[str, Any]) -> dict[str, Any]:
    """Return a rule without its waiting times."""
    return {key: value for key, value in rule.items() if key not in WAITS}


@pytest.fixture
def watched(
    start: Callable[[], Any],
    cluster: Cluster,
    cloud: FakeCloud,
    programs: Programs,
    paths: dict[str, Path],
    tmp_path: Path,
) -> Iterator[Watched]:
    """Return a healthy machine after its first scrapes, on which no alert fires."""
    cluster.node("control-plane-0")
    held = held_ports(2)
    exporter, port = (f"127.0.0.1:{each.getsockname()[1]}" for each in held)
    for each in held:
        each.close()
    machine = Watched(start(), cluster, cloud, programs, f"http://{port}")
    machine.round()
    machine.round()
    machine.ran(0)
    machine.others()
    groups = [
        {**group, "interval": "1s", "rules": [_at_once(rule) for rule in group["rules"]]} for group in RULES["groups"]
    ]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": groups}))
    targets = [{"targets": [exporter], "labels": {"cluster": "dev", "node": "control-plane-0"}}]
    scraped = {"job_name": "nodes", "static_configs": targets}
    document = {"global": {"scrape_interval": "1s"}, "rule_files": ["rules.yml"], "scrape_configs": [scraped]}
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(document))
    collector = ["--collector.disable-defaults", "--collector.textfile"]
    commands = (
        (paths["node_exporter"], exporter, *collector, f"--collector.textfile.directory={machine.metrics}"),
        (paths["prometheus"], port, f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data"),
    )
    with ExitStack() as stack:
        for program, address, *words in commands:
            log, argv = tmp_path / f"{program.name}.log", [str(program), f"--web.listen-address={address}", *words]
            opened = stack.enter_context(log.open("wb"))
            process = stack.enter_context(subprocess.Popen(argv, stdout=opened, stderr=opened))
            stack.callback(process.kill)

        def scraped_once() -> bool:
            try:
                return bool(machine.ask("query", query="mullion_agent_active")["result"])
            except httpx.HTTPError:  # it starts
                return False

        machine.until(scraped_once, "Prometheus has the metrics")
        machine.until(lambda: machine.firing() == {}, "no alert fires")
        yield machine


def test_every_alert_has_a_fault() -> None:
    assert set(FAULTS) == ALERTS


@pytest.mark.parametrize("alert", FAULTS)
def test_an_alert_fires_at_its_fault_and_ends_when_it_is_mended(watched: Watched, alert: str) -> None:
    mend = FAULTS[alert](watched)
    said = watched.until(lambda: watched.firing().get(alert), f"{alert} fires")
    assert not [text for text in said.values() if "{{" in text or "<no value>" in text or " ()" in text], said
    mend()
    watched.until(lambda: alert not in watched.firing(), f"{alert} ends")


def test_a_hung_agent_counts_as_none_that_is_active(watched: Watched) -> None:
    """Its file still says that it has the Lease."""
    FAULTS["MullionAgentStopped"](watched)
    watched.until(lambda: {"MullionAgentStopped", "MullionNoActiveAgent"} <= {*watched.firing()}, "both fire")


def test_promtool_finds_no_fault_in_the_rules(paths: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(RULES))
    argv = [paths["promtool"], "check", "rules", "--lint=all", "--lint-fatal", tmp_path / "rules.yml"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_query_of_the_dashboard_has_an_answer(watched: Watched) -> None:
    """Where nothing is wrong some metrics have no sample, and queries of Windows need a real windows_exporter."""
    dashboard = json.loads((EXAMPLES / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            watched.ask("query", query=target["expr"].replace("$cluster", "dev"))
