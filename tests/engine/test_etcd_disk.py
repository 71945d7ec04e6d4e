"""`control_plane.etcd_disk` on a cluster that was built without it: no machine changes until it is replaced."""

from typing import Any

import pytest

from operations.engine.locate import Engine

from . import sampling
from .clone import Clone

pytestmark = [pytest.mark.sampled, pytest.mark.engine]


@pytest.fixture(scope="module", params=sampling.each("ci"))
def clone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    """The control plane of the stack for CI, built without the option, which the file has now."""
    made = Clone(tmp_path_factory.mktemp("clone"), engine, sampling.stack(request.param, "etcd disk"))
    cluster = made.document()
    for pool in cluster["pools"].values():
        pool["count"] = 0
    made.write(cluster)
    assert made.up().returncode == 0
    made.write({**cluster, "control_plane": {**cluster["control_plane"], "etcd_disk": {}}})
    return made


def further(clone: Clone) -> list[Any]:
    """Return the further disks in the inputs of the machines."""
    machines = [each["inputs"] for each in clone.resources() if clone.cloud.is_machine(each)]
    kept = [each.get("ebsBlockDevices") or each.get("attachedDisks") for each in machines]
    return [*filter(None, kept), *(each for inputs in machines for each in _data_disks(inputs))]


def _data_disks(inputs: dict[str, Any]) -> list[Any]:
    return (inputs.get("storageProfile") or {}).get("dataDisks") or []


def test_the_option_changes_no_machine_and_replaces_none(clone: Clone) -> None:
    before = clone.machines()
    run = clone.up()
    assert run.returncode == 0, run.stderr
    assert clone.machines() == before and before
    assert further(clone) == [], "the machine keeps its disks until it is replaced"
    disks = [each for each in clone.resources() if clone.cloud.is_disk(each)]
    assert len(disks) == (len(before) if clone.cloud.disk else 0), "on Google Cloud they are made at once"
    assert clone.up().stdout.startswith("no changes"), "nothing is left to do"


def test_without_the_option_again_google_cloud_refuses_to_take_the_disks(clone: Clone) -> None:
    cluster = clone.document()
    planes = {key: value for key, value in cluster["control_plane"].items() if key != "etcd_disk"}
    before = clone.machines()
    clone.write({**cluster, "control_plane": planes})
    run = clone.up()
    assert (run.returncode != 0) == bool(clone.cloud.disk), run.stderr
    assert ("control_plane.etcd_disk: on GCP" in run.stderr + run.stdout) == bool(clone.cloud.disk)
    assert clone.machines() == before
