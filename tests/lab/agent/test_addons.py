"""Add-ons on a real API server: accepted strictly, unchanged on a second run, restored, and removed with their plan."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.node import plan_node
from components.node.layout import ADMIN_KUBECONFIG
from tests.components.spec.gmsa_values import named
from tests.lab.agent.served import Served
from tools.golden.samples import spec

pytestmark = pytest.mark.lab

RICH: dict[str, Any] = {
    "pools": {"web": {"os": "windows-2019"}, "api": {"os": "windows-2022"}, "linux": {"os": "ubuntu-24.04"}},
    "addons": {"metrics_server": True},
    "cloud_controller": "external",
    "csi": ["ebs", "smb"],
    **named(),
}
POOR: dict[str, Any] = {"pools": {"web": {"os": "windows-2022"}}}


@pytest.fixture
def steps(node: ModuleType, served: Served, root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return `steps(**cluster)`: it writes the plan's add-ons, and returns the step and a run with the real kubectl."""
    run_module, place = importlib.import_module("run"), root / ADMIN_KUBECONFIG.lstrip("/")
    monkeypatch.setenv("PATH", str(served.programs["kubectl"].parent), prepend=":")
    place.parent.mkdir(parents=True)
    place.write_bytes(Path(served.administrator).read_bytes())

    def make(**cluster: Any) -> tuple[Any, dict[str, Any]]:
        (phase,) = [phase for phase in plan_node("dev", spec(**cluster), None).phases if phase.name == "addons"]
        for step in (step for step in phase.steps if step.kind == "file"):
            path = root / step.fields["path"].lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(step.fields["content"]))
        run = run_module.Run(root, {"machine": {}, "facts": {}}, {})
        run.try_for(600)
        return run, {**phase.steps[-1].fields, "kubeconfig": str(place)}

    return make


def test_add_ons_are_applied_restored_and_removed_when_they_leave_the_plan(steps: Any, served: Served) -> None:
    kind = importlib.import_module("kinds.addons")
    run, step = steps(**RICH)
    assert not kind.addons_hold(run, step)
    kind.make_addons(run, step)
    assert kind.addons_hold(run, step)
    system = ("deployment/metrics-server -n kube-system", "daemonset/cloud-controller-manager -n kube-system")
    system += ("daemonset/csi-smb-node-windows -n kube-system", "volumesnapshotclass/ebs")
    system += ("gmsacredentialspec/web", "validatingadmissionpolicy/mullion-gmsa")
    for each in ("runtimeclass/windows-2019", "runtimeclass/windows-2022", *system):
        assert served.kubectl("get", *each.split(), "--output", "name"), each

    served.kubectl("label", "namespace", "default", "pod-security.kubernetes.io/warn=privileged", "--overwrite")
    served.kubectl("delete", "runtimeclass", "windows-2019")
    assert not kind.addons_hold(run, step), "a deleted object of an add-on is noticed"
    kind.make_addons(run, step)
    labels = json.loads(served.kubectl("get", "namespace", "default", "--output", "json"))["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/warn"] == "baseline", "a changed label is restored"

    run, step = steps(**POOR)
    assert not kind.addons_hold(run, step)
    kind.make_addons(run, step)
    assert kind.addons_hold(run, step)
    assert served.kubectl("get", "runtimeclass", "--output", "name").split() == [
        "runtimeclass.node.k8s.io/windows-2022"
    ]
    assert served.kubectl("get", "deployment", "--all-namespaces", "--output", "name") == ""
    assert "mullion-gmsa" not in served.kubectl("get", "validatingadmissionpolicies", "--output", "name", check=False)
    assert "v1beta1.metrics.k8s.io" not in served.kubectl("get", "apiservice", "--output", "name")


def test_sto_03_the_driver_of_persistent_disks_is_applied_and_differs_in_nothing_afterwards(
    steps: Any, served: Served
) -> None:
    kind = importlib.import_module("kinds.addons")
    run, step = steps(cloud="gcp", pools=RICH["pools"], csi=["pd", "smb"])
    kind.make_addons(run, step)
    assert kind.addons_hold(run, step)
    daemons = served.kubectl("get", "daemonset", "--namespace", "kube-system", "--output", "name").split()
    assert "daemonset.apps/csi-pd-node" in daemons and "daemonset.apps/csi-pd-node-windows" not in daemons
    run, step = steps(**POOR)
    kind.make_addons(run, step)
    assert "csi-pd" not in served.kubectl("get", "daemonset,deployment", "--all-namespaces", "--output", "name")


def test_a_field_unknown_to_the_api_server_is_refused(steps: Any, root: Path) -> None:
    kind, failure = importlib.import_module("kinds.addons"), importlib.import_module("failure").Failure
    run, step = steps(**POOR)
    wrong = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "dada": {}}
    (root / step["files"][0].lstrip("/")).write_text(json.dumps({"items": [wrong]}))
    with pytest.raises(failure, match="dada"):
        kind.make_addons(run, step)


def test_the_example_workloads_pass_strict_validation(served: Served) -> None:
    file = Path(__file__).parents[3] / "examples" / "workloads" / "iis.yaml"
    made = served.kubectl("apply", "--dry-run=server", "--validate=strict", "--filename", str(file))
    assert made.count("(server dry run)") == 3, made
