"""The API servers' list of revoked machines: what it contains, and the restarts that end open watches."""

import importlib
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.agent.cluster import Cluster
from tests.agent.machines import CONFIG, ControlPlanes, Machine

MAPS = "/api/v1/namespaces/kube-system/configmaps"
MARK = "ab" * 32
PATH = CONFIG["authorization"]["path"]
NOTE = "/var/lib/mullion/revoked.json"


@pytest.fixture
def planes(control_planes: ControlPlanes) -> ControlPlanes:
    """Return three healthy control planes whose API servers have run for a while."""
    for machine in control_planes.machines.values():
        machine.file("/etc/kubernetes/pki/sa.key").write_text("key")
        machine.file("/etc/kubernetes/pki/sa.pub").write_text("key")
        machine.serve()
    return control_planes


def listed(planes: ControlPlanes, *keys: str, **more: str) -> None:
    """List users and certificates as the active agent does; every agent reads them, and works for some rounds."""
    data = dict.fromkeys(keys, importlib.import_module("agent.revocations").REVOKED)
    planes.cluster.add(MAPS, "mullion-revoked", data=data | more)
    planes.rounds()


def refused(machine: Machine) -> list[str]:
    """Return the identities that the machine's API server refuses."""
    return importlib.import_module("authorization").parsed(machine.file(PATH).read_text()).listed


def restarts(planes: ControlPlanes) -> list[str]:
    return [line.split()[0] for line in planes.log if "serves with" in line]


def test_every_api_server_refuses_what_the_active_agent_lists(planes: ControlPlanes) -> None:
    listed(planes, "system.node.web-0.corp", f"X509SHA256.{MARK}")
    for machine in planes.machines.values():
        assert refused(machine) == [f"X509SHA256={MARK}", "system:node:web-0.corp"]
        assert machine.file(PATH).stat().st_mode & 0o777 == 0o600
    listed(planes, f"X509SHA256.{MARK}")
    assert [refused(each) for each in planes.machines.values()] == [[f"X509SHA256={MARK}"]] * 3


def test_api_servers_restart_one_after_the_other_once_for_each_revocation(planes: ControlPlanes) -> None:
    """A watch that was open before the revocation would go on."""
    listed(planes, "system.node.web-0")
    assert restarts(planes) == list(planes.machines)
    assert planes.log[:3] == ["control-plane-0 snapshot", "control-plane-0 serves with []", "control-plane-0 runs"]
    listed(planes, "system.node.web-0")
    listed(planes)  # it has a successor
    assert restarts(planes) == list(planes.machines)
    listed(planes, "system.node.web-0")
    assert restarts(planes) == [*planes.machines, *planes.machines], "the same name is revoked again"


def test_machines_that_are_replaced_or_deleted_restart_no_api_server(planes: ControlPlanes) -> None:
    deleted, own = {"system.node.web-1": "the machine is deleted"}, f"X509SHA256={MARK}"
    listed(planes, f"X509SHA256.{MARK}", **deleted, **{"only.system.node.web-0": own})
    assert restarts(planes) == []
    found = importlib.import_module("authorization").parsed(planes.machines["control-plane-1"].file(PATH).read_text())
    assert found == ([own, "system:node:web-1"], {"system:node:web-0": [own]})


def test_an_api_server_restarts_once_if_the_clock_was_ahead_at_a_revocation(planes: ControlPlanes) -> None:
    listed(planes, "system.node.web-0")
    for machine in planes.machines.values():
        note = json.loads(machine.file(NOTE).read_text())
        machine.file(NOTE).write_text(json.dumps(note | {"since": note["since"] + 86400}))
        machine.boot()
    listed(planes, "system.node.web-0")
    assert sorted(restarts(planes)) == sorted([*planes.machines, *planes.machines])


def test_no_api_server_restarts_while_another_is_not_ready(planes: ControlPlanes) -> None:
    planes.cluster.unready.add("10.20.64.12")
    listed(planes, "system.node.web-0")
    assert restarts(planes) == []
    planes.cluster.unready.clear()
    planes.rounds()
    assert restarts(planes) == list(planes.machines)


@pytest.mark.parametrize("cut", range(1, 10))
def test_restarts_continue_after_an_interruption(planes: ControlPlanes, cut: int) -> None:
    planes.cut_at = cut
    listed(planes, "system.node.web-0")
    planes.rounds()
    assert {*restarts(planes)} == {*planes.machines}
    assert not planes.cluster.objects[f"{MAPS}/mullion-agent"]["data"].get("turn")


def test_a_list_that_does_not_exist_changes_nothing(planes: ControlPlanes) -> None:
    listed(planes, "system.node.web-0")
    del planes.cluster.objects[f"{MAPS}/mullion-revoked"]
    planes.rounds(1)
    assert [refused(each) for each in planes.machines.values()] == [["system:node:web-0"]] * 3


def test_a_plan_without_the_file_writes_none(module: Callable[[str], ModuleType], run: Any, cluster: Cluster) -> None:
    cluster.add(MAPS, "mullion-revoked", data={"system.node.web-0": "revoked"})
    module("refusals").Refusals(run).reconcile({}, cluster)
    assert not run.path(PATH).exists()


@pytest.mark.parametrize("key", ["system.node.", "system.node.a b", "X509SHA256.'", f"X509SHA256.{MARK}'", "other"])
def test_a_key_that_is_no_identity_is_left_out(planes: ControlPlanes, key: str) -> None:
    """The API server would not start with a text that ends the list's quotation."""
    listed(planes, key, "system.node.web-0")
    assert [refused(each) for each in planes.machines.values()] == [["system:node:web-0"]] * 3


def test_a_list_is_split_below_the_limit_of_an_expression(loader: ModuleType) -> None:
    authorization = importlib.import_module("authorization")
    identities = sorted({f"X509SHA256={number:064x}" for number in range(5000)} | {"system:node:web-0"})
    guarded = {f"system:node:web-{n:03}": [f"X509SHA256={n:062x}{m:02x}" for m in range(3)] for n in range(500)}
    guarded |= {"system:node:web-none": []}
    made = json.loads(text := authorization.document(authorization.Refused(identities, guarded), "/webhook.json"))
    assert authorization.parsed(text.decode()) == (identities, guarded)
    webhooks = [each["webhook"] for each in made["authorizers"] if each["type"] == "Webhook"]
    assert max(len(each["matchConditions"][1]["expression"]) for each in webhooks) < 100_000
    names = [*(f"revoked-{n}" for n in range(5)), *(f"replaced-{n}" for n in range(4)), "node", "rbac"]
    assert [each["name"] for each in made["authorizers"]] == names


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"authorizers": 5}', '{"authorizers": [{"webhook": {}}]}'])
def test_a_text_that_is_no_configuration_refuses_nothing(loader: ModuleType, text: str) -> None:
    assert importlib.import_module("authorization").parsed(text) == ([], {})
