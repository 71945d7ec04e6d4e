"""The documents that the program signs for the control-plane agents."""

import hashlib
import hmac
import json
from pathlib import Path

import pytest

from components.plan import plan_cluster
from components.rollout import signed_documents
from components.stack_files.stack import read_stack, stack_file_config
from tools.golden.samples import spec

STACKS = Path(__file__).resolve().parents[3] / "stacks"
KEY = "a2V5"
RECORDS = {"control-plane-0": "a:", "pool-0": "a:"}


def test_a_serial_is_an_integer_although_the_engine_passes_floats() -> None:
    text = signed_documents.pointer_document(KEY, "https://x", "1" * 64, "1.37.1", 1795285494.0, "1.36.3")
    assert '"serial": 1795285494,' in text
    body = json.loads(text)
    mac = body.pop("mac")
    message = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    assert mac == hmac.new(KEY.encode(), message, hashlib.sha256).hexdigest()
    assert isinstance(json.loads(signed_documents.members_document(KEY, [], 5.0))["serial"], int)


def test_members_are_all_planned_machines_with_labels_and_taints() -> None:
    fields = {"count": 2, "labels": {"team": "b", "x": ""}, "taints": ["os=windows:NoSchedule", "gpu:NoExecute"]}
    plan = plan_cluster("dev", spec("windows-2019", fields))
    listed = signed_documents.members(plan, RECORDS | {"pool-1": "b:"}, "eu-west-1", ["eu-west-1a"])
    assert [each["records"] for each in listed] == ["a:", "a:", "b:"]
    assert [each["name"] for each in listed] == ["control-plane-0", "pool-0", "pool-1"]
    assert listed[0]["pool"] == "control-plane"
    own = {key: value for key, value in listed[1]["labels"].items() if "kubernetes.io" not in key}
    assert own == {"mullion.dev/pool": "pool", "team": "b", "x": ""}
    assert [each["key"] for each in listed[1]["taints"]] == ["os", "gpu"]
    assert len({each["address"] for each in listed}) == 3
    assert {each["pods"] for each in listed} == {None}, "with overlay the controller manager assigns the ranges"


def test_members_have_planned_pod_ranges_in_l2bridge_mode() -> None:
    plan = plan_cluster("dev", spec("windows-2019", network={"mode": "l2bridge"}))
    listed = signed_documents.members(plan, RECORDS, "eu-west-1", ["eu-west-1a"])
    ranges = [each["pods"] for each in listed]
    assert all(each.endswith("/24") for each in ranges)
    assert len(set(ranges)) == len(ranges)


@pytest.mark.parametrize(
    ("stack", "region", "zones", "wanted"),
    [
        ("aws-prod", "eu-west-1", ["eu-west-1a", "eu-west-1b", "eu-west-1c"], "eu-west-1b"),
        ("azure-prod", "West Europe", ["1", "2", "3"], "westeurope-2"),
        ("gcp-prod", "europe-west1", ["europe-west1-b", "europe-west1-c", "europe-west1-d"], "europe-west1-c"),
    ],
)
def test_members_have_the_labels_that_a_cloud_controller_would_set(
    stack: str, region: str, zones: list[str], wanted: str
) -> None:
    plan = plan_cluster(stack, read_stack(stack, stack_file_config(STACKS / f"Pulumi.{stack}.yaml")).spec)
    records = {machine.name: "a:" for machine in plan.machines}
    listed = {each["name"]: each["labels"] for each in signed_documents.members(plan, records, region, zones)}
    second = listed["control-plane-1"]
    assert second["topology.kubernetes.io/zone"] == wanted
    assert second["topology.kubernetes.io/region"] == region.lower().replace(" ", "")
    assert second["node.kubernetes.io/instance-type"] == plan.spec.control_plane.size
    assert len({each["topology.kubernetes.io/zone"] for each in listed.values()}) == 3
