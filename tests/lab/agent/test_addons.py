"""Add-ons on a real API server: taken strictly, found again, given back, and removed when they leave the plan."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.node import plan_node
from components.node.layout import ADMIN_KUBECONFIG
from tests.lab.agent.served import Served
from tools.golden.samples import spec

pytestmark = pytest.mark.lab

RICH: dict[str, Any] = {
    "pools": {"web": {"os": "windows-2019"}, "api": {"os": "windows-2022"}, "linux": {"os": "ubuntu-24.04"}},
    "addons": {"metrics_server": True},
}
POOR: dict[str, Any] = {"pools": {"web": {"os": "windows-2022"}}}


@pytest.fixture
def steps(node: ModuleType, served: Served, root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give `steps(**cluster)`: writes the plan's add-ons, and gives the step and a run that finds the real kubectl."""
    run_module, place = importlib.import_module("run"), root / ADMIN_KUBECONFIG.lstrip("/")
    monkeypatch.setenv("PATH", str(served.programs["kubectl"].parent), prepend=":")
    place.parent.mkdir(parents=True)
    place.write_bytes(Path(served.administrator).read_bytes())

    def make(**cluster: Any) -> tuple[Any, dict[str, Any]]:
        (phase,) = [each for each in plan_node("dev", spec(**cluster), None).phases if each.name == "addons"]
        for each in (each for each in phase.steps if each.kind == "file"):
            path = root / each.fields["path"].lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(each.fields["content"]))
        run = run_module.Run(root, {"machine": {}, "facts": {}}, {})
        run.try_for(600)
        return run, {**phase.steps[-1].fields, "kubeconfig": str(place)}

    return make


def test_add_ons_are_taken_given_back_and_removed_when_they_leave_the_plan(steps: Any, served: Served) -> None:
    kind = importlib.import_module("kinds.addons")
    run, step = steps(**RICH)
    assert not kind.addons_hold(run, step)
    kind.make_addons(run, step)
    assert kind.addons_hold(run, step)
    for each in ("runtimeclass/windows-2019", "runtimeclass/windows-2022", "deployment/metrics-server -n kube-system"):
        assert served.kubectl("get", *each.split(), "--output", "name"), each

    served.kubectl("label", "namespace", "default", "pod-security.kubernetes.io/warn=privileged", "--overwrite")
    served.kubectl("delete", "runtimeclass", "windows-2019")
    assert not kind.addons_hold(run, step), "one is gone"
    kind.make_addons(run, step)
    labels = json.loads(served.kubectl("get", "namespace", "default", "--output", "json"))["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/warn"] == "baseline", "what somebody took comes back"

    run, step = steps(**POOR)
    assert not kind.addons_hold(run, step)
    kind.make_addons(run, step)
    assert kind.addons_hold(run, step)
    assert served.kubectl("get", "runtimeclass", "--output", "name").split() == [
        "runtimeclass.node.k8s.io/windows-2022"
    ]
    assert served.kubectl("get", "deployment", "--all-namespaces", "--output", "name") == ""
    assert "v1beta1.metrics.k8s.io" not in served.kubectl("get", "apiservice", "--output", "name")


def test_a_field_that_the_api_server_does_not_know_is_refused(steps: Any, root: Path) -> None:
    kind, failure = importlib.import_module("kinds.addons"), importlib.import_module("failure").Failure
    run, step = steps(**POOR)
    wrong = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "dada": {}}
    (root / step["files"][0].lstrip("/")).write_text(json.dumps({"items": [wrong]}))
    with pytest.raises(failure, match="dada"):
        kind.make_addons(run, step)
