"""Stand-in of the clouds' session commands for booted machines: a tunnel to a port, or a shell.

It takes the arguments of `aws ssm start-session`, `az network bastion tunnel`, `az vm run-command invoke` and `gcloud
compute`. It refuses what the service refuses: a machine that is off, a role without the rights of SSM Agent, a firewall
that drops packets of the service, a Bastion host without the native client. Like SSM Agent it forwards from the machine
itself, like IAP from an address of Google, like Bastion from its subnet. Like Azure's agent it runs a script as root.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from lab.linuxnode import machine as linuxnode
from sandbox.aws import policies
from sandbox.aws.machine import policy_documents
from sandbox.azure.names import BASTION
from sandbox.boot import balancers, machine_status, network_namespaces, session_sources, supervision
from sandbox.boot.cloud_services import services_of
from sandbox.boot.machine_status import MachineStatus
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.credentials import may_assume, role_of

AGENT = (
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
)
"""Actions that SSM Agent calls for sessions (Systems Manager user guide, "Create a custom IAM role for Session
Manager").
"""
SSH_PORT = 22
MOST_BYTES = 4096
"""Bytes of output that a Run Command returns ("Run scripts in your Linux VM by using action Run Commands")."""
CONNECT_SECONDS = 3.0
LOCALHOST = "127.0.0.1"


@dataclass(frozen=True)
class BootedMachine:
    """A machine of a sandbox's folder, with its record in the cloud state."""

    name: str
    status: MachineStatus
    record: Record
    net: str
    folder: Path

    @property
    def space(self) -> str:
        """Name of its network namespace."""
        return f"{self.net}-{self.status.instance}"

    @property
    def is_on(self) -> bool:
        """Whether it runs and has a network."""
        return self.status.state == "on" and self.status.desired.connected


def refuse(message: str, code: int = 1) -> NoReturn:
    """End with the message of a refusal."""
    print(message, file=sys.stderr)
    sys.exit(code)


def aws(cloud_state: CloudState, folder: Path, words: list[str]) -> None:
    """Do what `aws ssm start-session` does with these words."""
    parser = ArgumentParser("aws ssm start-session")
    parser.add_argument("--target", required=True)
    parser.add_argument("--region", required=True)
    parser.add_argument("--profile")
    parser.add_argument("--document-name", choices=["AWS-StartPortForwardingSession"])
    parser.add_argument("--parameters", type=json.loads)
    chosen = parser.parse_args(words)
    machine = _find(cloud_state, folder, chosen.target)
    here = machine is not None and str(machine.record.outputs["availabilityZone"]).startswith(chosen.region)
    if machine is None or not here or not machine.is_on or _lacks_rights(cloud_state, machine.record):
        # the message of the real service for all of these
        refuse(
            "An error occurred (TargetNotConnected) when calling the StartSession operation: "
            f"{chosen.target} is not connected.",
            254,
        )
    if chosen.document_name is None:
        _shell(machine)
    (port,), (local_port,) = chosen.parameters["portNumber"], chosen.parameters["localPortNumber"]
    _forward(machine.space, int(local_port), (LOCALHOST, int(port)))


def _lacks_rights(cloud_state: CloudState, record: Record) -> bool:
    """Return whether the machine's role misses an action of SSM Agent."""
    role = role_of(cloud_state, record)
    if role is None or not may_assume(role):
        return True
    documents, arn = policy_documents(cloud_state, role, ""), role.outputs["arn"]
    return any(policies.refused(documents, action, "*", arn, dict(policies.MACHINE)) for action in AGENT)


def gcloud(cloud_state: CloudState, folder: Path, words: list[str]) -> None:
    """Do what `gcloud compute start-iap-tunnel` and `gcloud compute ssh --tunnel-through-iap` do with these words."""
    parser = ArgumentParser("gcloud compute")
    commands = parser.add_subparsers(dest="command", required=True)
    tunnel, ssh = commands.add_parser("start-iap-tunnel"), commands.add_parser("ssh")
    for command in (tunnel, ssh):
        command.add_argument("instance")
        command.add_argument("--zone", required=True)
        command.add_argument("--project", required=True)
    tunnel.add_argument("port", type=int)
    tunnel.add_argument("--local-host-port", required=True)
    ssh.add_argument("--tunnel-through-iap", action="store_true", required=True)
    chosen = parser.parse_args(words)
    machine = _found_on_gcp(cloud_state, folder, chosen)
    port = chosen.port if chosen.command == "start-iap-tunnel" else SSH_PORT
    source, target = session_sources.SERVICES[0], (machine.status.address, port)
    if not machine.is_on or not network_namespaces.within(machine.net, partial(_lets_in, source, target)):
        refuse(
            f"ERROR: (gcloud.compute.{chosen.command}) Error while connecting [4003: 'failed to connect to backend']."
        )
    if chosen.command == "ssh":
        _shell(machine)
    _forward(machine.net, int(chosen.local_host_port.rpartition(":")[2]), target, source)


def _found_on_gcp(cloud_state: CloudState, folder: Path, chosen: Namespace) -> BootedMachine:
    """Return the instance of this name, zone and project; refuse if there is none."""
    for record in services_of(cloud_state).records(cloud_state):
        outputs = record.outputs
        if (outputs["name"], outputs["zone"], outputs["project"]) == (chosen.instance, chosen.zone, chosen.project):
            instance = services_of(cloud_state).machines.instance(record)
            if machine := _find(cloud_state, folder, instance):
                return machine
    place = f"projects/{chosen.project}/zones/{chosen.zone}/instances/{chosen.instance}"
    return refuse(f"ERROR: (gcloud.compute.{chosen.command}) The resource '{place}' was not found")


def az(cloud_state: CloudState, folder: Path, words: list[str]) -> None:
    """Do what `az network bastion tunnel` of the extension `bastion` does with these arguments.

    The extension connects to the machine only when a client connects to the port, and closes that connection if the
    machine is off or its firewall drops the packets. This stand-in refuses both at once.
    """
    parser = ArgumentParser("az network bastion tunnel")
    for option in ("--name", "--resource-group", "--subscription", "--target-resource-id"):
        parser.add_argument(option, required=True)
    parser.add_argument("--resource-port", required=True, type=int)
    parser.add_argument("--port", required=True, type=int)
    chosen = parser.parse_args(words)
    place = f"/subscriptions/{chosen.subscription}/resourceGroups/{chosen.resource_group}/providers/{BASTION.path}"
    host = cloud_state.find(BASTION.token, f"{place}/{chosen.name}")
    if host is None:
        refuse(
            f"ERROR: (ResourceNotFound) The Resource '{BASTION.arm}/{chosen.name}' under resource group"
            f" '{chosen.resource_group}' was not found.",
            3,
        )
    # custom.py of azure-cli-extensions, src/bastion
    if host.inputs["sku"]["name"] not in ("Standard", "Premium") or not host.inputs.get("enableTunneling"):
        refuse("ERROR: Bastion Host SKU must be Standard or Premium and Native Client must be enabled.")
    record = next(
        (each for each in services_of(cloud_state).records(cloud_state) if each.id == chosen.target_resource_id), None
    )
    machine = _find(cloud_state, folder, services_of(cloud_state).machines.instance(record)) if record else None
    source = session_sources.of_bastion(cloud_state, host)
    target = (machine.status.address if machine else "", chosen.resource_port)
    here = machine is not None and machine.is_on
    if machine is None or not here or not network_namespaces.within(machine.net, partial(_lets_in, source, target)):
        refuse(f"ERROR: the Bastion host {chosen.name} reaches no port {chosen.resource_port} of the target")
    _forward(machine.net, chosen.port, target, source)


def run_command(cloud_state: CloudState, folder: Path, words: list[str]) -> None:
    """Do what `az vm run-command invoke` does with these arguments: run a script as root, print what it wrote."""
    parser = ArgumentParser("az vm run-command invoke")
    for option in ("--ids", "--scripts", "--output"):
        parser.add_argument(option, required=True)
    parser.add_argument("--command-id", required=True, choices=["RunShellScript", "RunPowerShellScript"])
    chosen = parser.parse_args(words)
    record = next((each for each in services_of(cloud_state).records(cloud_state) if each.id == chosen.ids), None)
    machine = _find(cloud_state, folder, services_of(cloud_state).machines.instance(record)) if record else None
    if machine is None:
        refuse(f"ERROR: (ResourceNotFound) The Resource '{chosen.ids}' was not found.", 3)
    if not machine.is_on:
        refuse("ERROR: (OperationNotAllowed) The operation requires the VM to be running (or set to run).")
    _refuse_wine(machine)
    argv = linuxnode.command(machine.folder, ["/bin/sh", "-s"])
    text = Path(chosen.scripts.removeprefix("@")).read_text("utf-8")
    ran = subprocess.run(argv, input=text.encode(), capture_output=True, check=False)
    output, errors = (part[-MOST_BYTES:].decode(errors="replace") for part in (ran.stdout, ran.stderr))
    message = f"Enable succeeded: \n[stdout]\n{output}\n[stderr]\n{errors}"
    done = {"displayStatus": "Provisioning succeeded", "level": "Info", "message": message, "time": None}
    print(json.dumps({"value": [{"code": "ProvisioningState/succeeded", **done}]}))


def _lets_in(source: str, target: tuple[str, int]) -> bool:
    """Return whether the machine's firewall lets packets through: also a refused connection is an answer."""
    with suppress(ConnectionRefusedError), socket.socket() as connection:
        connection.settimeout(CONNECT_SECONDS)
        connection.bind((source, 0))
        try:
            connection.connect(target)
        except TimeoutError:
            return False
    return True


def _find(cloud_state: CloudState, folder: Path, instance: str) -> BootedMachine | None:
    net = machine_status.network(cloud_state).get("net", "")
    record = services_of(cloud_state).find(cloud_state, instance)
    for name, status in machine_status.statuses(cloud_state).items():
        if status.instance == instance and record and net:
            return BootedMachine(name, status, record, net, supervision.disks(folder) / f"{name}-{instance}")
    return None


def _forward(space: str, local_port: int, target: tuple[str, int], source: str = "") -> None:
    """Forward a loopback port of this host to a target in a network namespace, until this process ends."""
    listener = socket.create_server((LOCALHOST, local_port))
    forwarder = balancers.Forwarder(LOCALHOST, local_port, {}, [target], listener=listener, source=source)
    network_namespaces.thread(space, lambda: asyncio.run(balancers.serve(forwarder))).join()


def _shell(machine: BootedMachine) -> NoReturn:
    """Become a shell on the machine."""
    _refuse_wine(machine)
    words = ["env", f"TERM={os.environ.get('TERM', 'dumb')}", "/bin/bash", "--login"]
    argv = linuxnode.command(machine.folder, words)
    os.execvp(argv[0], argv)  # noqa: S606 - words are not parsed by a shell


def _refuse_wine(machine: BootedMachine) -> None:
    if not linuxnode.running(machine.folder):
        refuse(f"{machine.name} has no shell here: machines with Windows run under Wine, which has no sessions")


def main(folder: Path, words: list[str]) -> None:
    """Run a session command. words: those that the cloud's own program gets, with its name."""
    cloud_state = CloudState(supervision.cloud_state_file(folder))
    if words[:3] == ["aws", "ssm", "start-session"]:
        aws(cloud_state, folder, words[3:])
    elif words[:4] == ["az", "network", "bastion", "tunnel"]:
        az(cloud_state, folder, words[4:])
    elif words[:4] == ["az", "vm", "run-command", "invoke"]:
        run_command(cloud_state, folder, words[4:])
    elif words[:2] == ["gcloud", "compute"]:
        gcloud(cloud_state, folder, words[2:])
    else:
        refuse(f"the sandbox has no stand-in of: {' '.join(words)}", 2)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
