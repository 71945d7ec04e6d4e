"""The stand-in of the clouds' session commands: it takes Mullion's words, and refuses what the services refuse."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.rollout import session_commands
from components.rollout.session_commands import MachinePlace
from operations.clouds import run_command
from sandbox.aws.network import INSTANCE
from sandbox.azure.names import BASTION, MACHINE, SUBNET
from sandbox.boot import machine_status, session, supervision
from sandbox.boot.machine_status import DesiredPower, MachineStatus
from sandbox.boot.session import AGENT
from sandbox.cloud_state import CloudState
from sandbox.records import Record

PLACE = MachinePlace("aws", "i-1", "eu-west-1")


class Forwarded(Exception):
    """The stand-in would forward, with these arguments."""


def run(folder: Path, place: MachinePlace = PLACE, *, state: str = "on", connected: bool = True) -> None:
    """Give the stand-in Mullion's words for a tunnel to a machine i-1 with this state."""
    cloud_state = CloudState(supervision.cloud_state_file(folder))
    outputs = {"privateIp": "10.20.0.1", "availabilityZone": "eu-west-1a"}
    with cloud_state.transaction():
        cloud_state.put(Record(1, INSTANCE, "i-1", "linux-0", "urn::linux-0", "eu-west-1", {}, outputs, ""))
    status = MachineStatus("i-1", "10.20.0.1", state, "", DesiredPower(connected=connected))
    machine_status.record_start(cloud_state, net="net", api="", gateway="")
    machine_status.write_statuses(cloud_state, {"linux-0": status})
    cloud_state.close()
    session.main(folder, session_commands.forward(place, 6443, 40001))


@pytest.fixture
def actions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the machine a role that allows these actions; return them."""
    allowed: list[str] = [*AGENT]

    def documents(*_: Any) -> list[str]:
        statement = {"Effect": "Allow", "Action": allowed, "Resource": "*"}
        return [json.dumps({"Version": "2012-10-17", "Statement": [statement]})]

    def forward(*arguments: Any) -> None:
        raise Forwarded(arguments)

    role = Record(2, "", "role", "role", "", "", {}, {"arn": "arn:aws:iam::1:role/r"}, "")
    monkeypatch.setattr(session, "role_of", lambda *_: role)
    monkeypatch.setattr(session, "may_assume", lambda role: True)
    monkeypatch.setattr(session, "policy_documents", documents)
    monkeypatch.setattr(session, "_forward", forward)
    return allowed


def test_a_tunnel_on_aws_leads_from_the_machine_itself_to_its_port(actions: list[str], tmp_path: Path) -> None:
    with pytest.raises(Forwarded) as forwarded:
        run(tmp_path)
    assert forwarded.value.args[0] == ("net-i-1", 40001, ("127.0.0.1", 6443))


@pytest.mark.parametrize("missing", AGENT)
def test_a_role_that_lacks_one_right_of_the_agent_is_not_connected(
    actions: list[str], tmp_path: Path, missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    actions.remove(missing)
    with pytest.raises(SystemExit) as ended:
        run(tmp_path)
    assert ended.value.code == 254
    assert "(TargetNotConnected)" in capsys.readouterr().err


WRONG: dict[str, dict[str, Any]] = {
    "off": {"state": "off"},
    "without cable": {"connected": False},
    "unknown": {"place": MachinePlace("aws", "i-2", "eu-west-1")},
    "in another region": {"place": MachinePlace("aws", "i-1", "us-east-1")},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_machine_that_the_service_does_not_see_is_not_connected(
    actions: list[str], tmp_path: Path, wrong: dict[str, Any]
) -> None:
    with pytest.raises(SystemExit):
        run(tmp_path, **wrong)


GROUP = "/subscriptions/s/resourceGroups/team"
VM, HOST = f"{GROUP}/providers/{MACHINE.path}/linux-0", f"{GROUP}/providers/{BASTION.path}/team"
OF_HOST = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/team/subnets/AzureBastionSubnet"
NATIVE: dict[str, Any] = {"sku": {"name": "Standard"}, "enableTunneling": True}


def run_azure(
    folder: Path,
    place: MachinePlace | None = None,
    *,
    state: str = "on",
    host: dict[str, Any] | None = NATIVE,
    words: list[str] | None = None,
) -> None:
    """Give the stand-in words about linux-0. host: inputs of Bastion; None: no host. words: default is a tunnel."""
    cloud_state = CloudState(supervision.cloud_state_file(folder))
    subnet = {"ipConfigurations": [{"subnet": {"id": OF_HOST}}]}
    with cloud_state.transaction():
        cloud_state.put(Record(1, MACHINE.token, VM, "linux-0", "urn::linux-0", "westeurope", {}, {"vmId": "v-1"}, ""))
        prefix = {"addressPrefix": "10.20.63.192/26"}
        cloud_state.put(Record(2, SUBNET.token, OF_HOST, "bastions", "urn::bastions", "westeurope", prefix, {}, ""))
        if host is not None:
            inputs = host | subnet
            cloud_state.put(Record(3, BASTION.token, HOST, "host", "urn::host", "westeurope", inputs, {}, ""))
    status = MachineStatus("v-1", "10.20.64.10", state, "", DesiredPower(connected=True))
    machine_status.record_start(cloud_state, net="net", api="", gateway="")
    machine_status.write_statuses(cloud_state, {"linux-0": status})
    cloud_state.close()
    place = place or session_commands.azure_place(VM, "team", None)
    session.main(folder, words or session_commands.forward(place, 6443, 40001))


@pytest.fixture
def firewall(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, int]]]:
    """Let the machine's firewall admit every connection; return source and target of those that it was asked about."""
    asked: list[tuple[str, tuple[str, int]]] = []

    def lets_in(source: str, target: tuple[str, int]) -> bool:
        asked.append((source, target))
        return True

    def forward(*arguments: Any) -> None:
        raise Forwarded(arguments)

    monkeypatch.setattr(session, "_lets_in", lets_in)
    monkeypatch.setattr(session, "_forward", forward)
    monkeypatch.setattr(session.network_namespaces, "within", lambda net, call: call())
    return asked


def test_a_tunnel_on_azure_leads_from_the_subnet_of_the_host_to_the_machine(
    firewall: list[tuple[str, tuple[str, int]]], tmp_path: Path
) -> None:
    with pytest.raises(Forwarded) as forwarded:
        run_azure(tmp_path)
    source, target = "10.20.63.196", ("10.20.64.10", 6443)
    assert forwarded.value.args[0] == ("net", 40001, target, source)
    assert firewall == [(source, target)]


def test_a_firewall_that_drops_the_packets_of_the_host_carries_no_tunnel(
    firewall: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "_lets_in", lambda source, target: False)
    with pytest.raises(SystemExit):
        run_azure(tmp_path)
    assert "reaches no port 6443" in capsys.readouterr().err


WITHOUT: dict[str, tuple[dict[str, Any], str]] = {
    "no host": ({"host": None}, "The Resource 'Microsoft.Network/bastionHosts/team'"),
    "SKU without the native client": ({"host": NATIVE | {"sku": {"name": "Basic"}}}, "SKU must be Standard or Premium"),
    "native client is off": ({"host": NATIVE | {"enableTunneling": False}}, "Native Client must be enabled"),
    "machine is off": ({"state": "off"}, "reaches no port"),
    "no such machine": ({"place": session_commands.azure_place(f"{VM}9", "team", None)}, "reaches no port"),
}


@pytest.mark.parametrize("wrong", WITHOUT)
def test_a_tunnel_on_azure_that_the_service_refuses_is_refused(
    firewall: list[Any], tmp_path: Path, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, says = WITHOUT[wrong]
    with pytest.raises(SystemExit) as ended:
        run_azure(tmp_path, **changes)
    assert ended.value.code != 0
    assert says in capsys.readouterr().err


def invoke(folder: Path, command: str, machine: str = VM, **more: Any) -> None:
    """Give the stand-in Mullion's words for a command on a machine; this host's sh stands for the machine's."""
    script = folder / "script"
    script.write_text(run_command.script([command], is_windows=False))
    run_azure(folder, words=run_command.words(machine, script, is_windows=False), **more)


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.linuxnode, "running", lambda folder: True)
    monkeypatch.setattr(session.linuxnode, "command", lambda folder, words: words)


@pytest.mark.subprocess
@pytest.mark.parametrize("command", ["echo hi; echo no >&2; exit 3", "yes mullion | head -c 9000; echo no >&2; exit 3"])
@pytest.mark.usefixtures("linux")
def test_a_command_on_azure_is_run_and_answered_as_azure_does(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(tmp_path, command)
    ran = run_command.read(capsys.readouterr().out)
    assert (ran.errors, ran.code, ran.is_cut) == ("no\n", 3, "9000" in command)
    assert ran.output == "hi\n" if "hi" in command else ran.output.endswith("mullion\n")
    assert len(ran.output) < run_command.MOST_BYTES


NOT_RUN: dict[str, tuple[dict[str, Any], str]] = {
    "machine is off": ({"state": "off"}, "(OperationNotAllowed) The operation requires the VM to be running"),
    "no such machine": ({"machine": f"{VM}9"}, "(ResourceNotFound)"),
    "machine under Wine": ({}, "has no shell here"),
}


@pytest.mark.parametrize("wrong", NOT_RUN)
def test_a_command_on_azure_that_the_service_refuses_is_refused(
    tmp_path: Path, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, says = NOT_RUN[wrong]
    with pytest.raises(SystemExit) as ended:
        invoke(tmp_path, "true", **changes)
    assert ended.value.code != 0
    assert says in capsys.readouterr().err
