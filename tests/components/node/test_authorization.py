"""The API server's authorization: which plans have a configuration file, and what comes before the API server."""

from typing import Any

import pytest

from components.node import authorization
from components.node.plan import NodePlan
from tools.golden.samples import PATCHES, content, one, plan, position

MODE = {"ClusterConfiguration": {"apiServer": {"extraArgs": [{"name": "authorization-mode", "value": "Node,RBAC"}]}}}


def api_server(node_plan: NodePlan) -> tuple[set[str], set[str]]:
    """Return the names of the API server's flags and of its volumes."""
    cluster = next(each for each in content(node_plan, "init-config") if each["kind"] == "ClusterConfiguration")
    given = cluster["apiServer"]["extraArgs"]
    names = set(given) if isinstance(given, dict) else {each["name"] for each in given}
    return names, {each["name"] for each in cluster["apiServer"]["extraVolumes"]}


@pytest.mark.parametrize("minor", ["1.32", "1.37"])
def test_the_files_exist_before_the_api_server_starts(minor: str) -> None:
    made = plan(None, kubernetes=PATCHES[minor])
    flags, volumes = api_server(made)
    assert (authorization.FLAG in flags, "authorization" in volumes) == (True, True)
    assert one(made, "authorization").fields["path"] == content(made, "agent-config")["authorization"]["path"]
    assert position(made, "authorization-webhook") < position(made, "authorization") < position(made, "kubeadm-init")
    assert position(made, "authorization") < position(made, "kubeadm-upgrade")


@pytest.mark.parametrize(
    "options",
    [{"kubernetes": PATCHES["1.31"]}, {"kubernetes": PATCHES["1.37"], "kubeadm": {"config": MODE}}],
    ids=["before 1.32", "with the user's authorization"],
)
def test_other_plans_leave_authorization_to_kubeadm(options: dict[str, Any]) -> None:
    """Machines have the file from 1.32 on: one that joins gets the flags of a cluster that may still read it."""
    made = plan(None, **options)
    flags, volumes = api_server(made)
    assert (authorization.FLAG in flags, "authorization" in volumes) == (False, False)
    assert "authorization" not in content(made, "agent-config")
    written = [each.name for each in made.steps if each.name.startswith("authorization")]
    assert bool(written) == ("kubeadm" in options)
