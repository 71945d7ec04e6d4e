"""From a malicious stack file that changes kubeadm's configuration: a change that a reviewer may overlook."""

from typing import Any

import pytest

from components.node.kubeadm import cluster_configuration
from components.node.role import role
from components.spec.models import ClusterSpec
from tests.attacks.stack_files import refusal
from tests.components.spec.documents import changed

KEPT = (
    *("kubelet-certificate-authority", "encryption-provider-config", "admission-control-config-file"),
    *("audit-policy-file", "cluster-signing-duration"),
)
"""Flags that protect every cluster."""


def _cluster(**fields: Any) -> dict[str, Any]:
    return {"kubernetes": "1.31.14", "kubeadm": {"config": {"ClusterConfiguration": fields}}}


@pytest.mark.parametrize(
    "fields",
    [
        {"apiServer": {"extraArgs": []}, "controllerManager": {"extraArgs": []}},
        {"apiServer": {"extraArgs": None}, "controllerManager": {"extraArgs": None}},
        {"apiServer": None, "controllerManager": None, "etcd": None},
    ],
    ids=["empty", "null", "null-above"],
)
def test_an_empty_value_removes_no_protection(fields: dict[str, Any]) -> None:
    """Remove encryption at rest, the audit log and all admission from the API server by an empty list or null.

    Refused by: the merge, which keeps Mullion's values.
    """
    spec = ClusterSpec.model_validate(changed(_cluster(**fields)))
    rendered = cluster_configuration(role("dev", spec, None))
    programs = (rendered["apiServer"], rendered["controllerManager"])
    flags = {each["name"]: each["value"] for program in programs for each in program["extraArgs"]}
    assert set(KEPT) <= set(flags) and flags["controllers"].endswith(",-csrapproving")
    assert {each["name"] for each in rendered["apiServer"]["extraVolumes"]} >= {"encryption", "audit-policy"}


@pytest.mark.parametrize("item", [{"value": "x"}, {"name": "", "value": "x"}, {"name": None}, "x", None])
def test_an_item_without_a_name_removes_no_protection(item: Any) -> None:
    """Replace all of Mullion's arguments by a list with an item that has no name.

    Refused by: check kubeadm-config-type.
    """
    said = refusal(_cluster(apiServer={"extraArgs": [{"name": "event-ttl", "value": "2h"}, item]}))
    assert "kubeadm-config-type" in said and "apiServer.extraArgs.1" in said
