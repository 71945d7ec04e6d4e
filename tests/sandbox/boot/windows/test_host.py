"""A Windows machine of a booted sandbox on a Windows Server: a winpwsh machine that is reached by commands alone."""

import json
import os
import socket
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lab import build
from lab.linuxnode import network
from lab.linuxnode.image import lacking
from operations.stacks.paths import REPOSITORY
from sandbox.aws.boot_services import CLOUD_SERVICES
from sandbox.aws.network import EGRESS, INSTANCE
from sandbox.boot import network_namespaces, supervision
from sandbox.boot.network import BootedCluster
from sandbox.boot.windows import cable, host, hosts
from sandbox.boot.windows.host import WindowsHost
from sandbox.boot.windows.hosts import HOSTS
from sandbox.boot.windows.server import CRI
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.server import METADATA_ADDRESS, Services
from tests.awaited import until
from tests.sandbox.boot.windows import windows_server

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

RANGE, GATEWAY, ADDRESS, RESOLVER = "10.20.0.0/16", "10.20.0.1", "10.20.0.9", "10.20.0.2"
SCRIPT = """\
$seconds = @{ 'X-aws-ec2-metadata-token-ttl-seconds' = '60' }
$base = 'http://169.254.169.254/latest'
$token = (Invoke-WebRequest "$base/api/token" -Method Put -Headers $seconds).Content
$id = (Invoke-WebRequest "$base/meta-data/instance-id" -Headers @{ 'X-aws-ec2-metadata-token' = $token }).Content
[void][IO.Directory]::CreateDirectory('C:\\ProgramData\\mullion')
[IO.File]::AppendAllText('C:\\ProgramData\\mullion\\loader.log', "user-data ran on $id`n")
"""
LISTENS = """#!{python}
import socket, sys
host, port = sys.argv[1].split(":")
server = socket.create_server((host, int(port)))
while True:
    server.accept()[0].close()
"""


@pytest.fixture
def cloud_state(tmp_path: Path) -> CloudState:
    """A cloud state with an instance, and an egress rule for port 8080."""
    found = {"bundle": {}, "machine": {"name": "web-0", "pool": "web"}, "facts": {"cloud": "aws"}}
    inputs: dict[str, Any] = {
        "userData": f"<powershell>\n$Document = @'\n{json.dumps(found)}\n'@\n{SCRIPT}</powershell>\n",
        "vpcSecurityGroupIds": ["sg-w"],
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
    }
    rule = {
        "securityGroupId": "sg-w",
        "ipProtocol": "tcp",
        "fromPort": 8080,
        "toPort": 8080,
        "cidrIpv4": "10.20.0.0/16",
    }
    outputs = {
        **inputs, "privateIp": ADDRESS, "privateDns": "ip-10-20-0-9", "primaryNetworkInterfaceId": "eni-1",
        "ami": "ami-1", "instanceType": "m6i.large", "availabilityZone": "eu-west-1a",
    }  # fmt: skip
    cloud_state = CloudState(tmp_path / "world.db")
    with cloud_state.transaction():
        for number, (type, id, given, known) in enumerate(
            ((INSTANCE, "i-1", inputs, outputs), (EGRESS, "r", rule, rule))
        ):
            cloud_state.put(Record(number, type, id, id, f"urn::{id}", "eu-west-1", given, known, ""))
    return cloud_state


@pytest.fixture
def cluster(cloud_state: CloudState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BootedCluster]:
    """The cluster's network with its metadata service."""
    if why := lacking():
        pytest.skip(why)
    net = f"host{os.getpid()}"
    monkeypatch.setattr(BootedCluster, "plan", lambda self, record: {"os": "windows-2019"})
    runtime = tmp_path / "crinotready"
    runtime.write_text(LISTENS.format(python=sys.executable))
    runtime.chmod(0o755)
    monkeypatch.setattr(build, "place", lambda program: runtime)
    network.up(net, RANGE)
    try:
        network.run("-n", net, "addr", "add", f"{METADATA_ADDRESS}/32", "dev", "br0")
        with Services(cloud_state.path) as services:
            network_namespaces.within(net, partial(services.listen, METADATA_ADDRESS, 80))
            yield BootedCluster(cloud_state, CLOUD_SERVICES, services, net, tmp_path / "machines", RANGE, "")
    finally:
        network.down(net)
        cloud_state.close()


@pytest.fixture
def server(winpwsh: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a Windows Server for web-0, which the hosts' file names."""
    folder, space, link = tmp_path / "server", f"winserver{os.getpid()}", f"win{os.getpid()}"
    folder.mkdir()
    about = {"tool": winpwsh, "space": space, "interface": "eth1", "card": "Ethernet 2"}
    (folder / "about.json").write_text(json.dumps(about))
    reached = ["env", f"PYTHONPATH={REPOSITORY}", sys.executable, windows_server.__file__, str(folder)]
    told = {each: [*reached, each] for each in ("powershell", "new", "start", "stop")}
    file = tmp_path / "hosts.yaml"
    file.write_text(json.dumps({"web-0": {**told, "link": link, "card": "Ethernet 2"}}))
    monkeypatch.setenv(HOSTS, str(file))
    monkeypatch.setattr(host, "PAUSE", 0.2)
    monkeypatch.setattr(host, "BOOT_SECONDS", 60)
    network.run("netns", "add", space)
    network.run("link", "add", link, "type", "veth", "peer", "name", "eth1", "netns", space)
    for each in ("lo", "eth1"):
        network.run("-n", space, "link", "set", each, "up")
    yield folder
    if (folder / "on").exists():
        windows_server.Server(folder).stop()
    network.run("link", "del", link)
    network.remove(space)


def asked(server: Path) -> list[str]:
    """Return the commands that the server got, without PowerShell."""
    return [each for each in (server / "asked").read_text().split() if each != "powershell"]


def kept(server: Path, kind: str) -> dict[str, Any]:
    return windows_server.Server(server).machine.kept(kind)


def reaches(server: Path, address: str, port: int) -> bool:
    """Return whether the server can connect to an address."""

    def call() -> bool:
        try:
            socket.create_connection((address, port), 2).close()
        except OSError:
            return False
        return True

    return network_namespaces.within(f"winserver{os.getpid()}", call)


def test_a_windows_server_boots_from_the_machines_user_data_at_its_planned_address(
    cluster: BootedCluster, server: Path
) -> None:
    machine = cluster.machine("web-0")
    assert isinstance(machine, WindowsHost)
    machine.boot()
    ran = "user-data ran on i-1\n"
    assert until(lambda: ran in machine.log(), "user-data runs", 120, log=machine.console, pause=2)
    # as the real one is to find it
    assert kept(server, "addresses")[ADDRESS]["InterfaceAlias"] == "Ethernet 2"
    assert kept(server, "dns") == {"Ethernet 2": [RESOLVER]}
    assert kept(server, "routes")["169.254.169.254/32"]["NextHop"] == GATEWAY
    task = kept(server, "tasks")["sandbox-launch"]
    assert (task["principal"]["UserId"], task["trigger"]["AtStartup"]) == ("SYSTEM", True)
    # services around the machine
    assert machine.user_data().decode() == machine.record.inputs["userData"]
    assert kept(server, "portproxy")["rule"].endswith(f"connectaddress={cable.RUNTIME} connectport=10233")
    assert reaches(server, cable.RUNTIME, int(CRI.split(":")[1])), "it reaches the container runtime"
    # its firewall: traffic with a rule, and metadata
    listeners = [
        network_namespaces.within(cluster.net, partial(socket.create_server, (GATEWAY, port))) for port in (8080, 8081)
    ]
    assert [reaches(server, GATEWAY, port) for port in (8080, 8081)] == [True, False]
    network.connect(cluster.net, "i-1", connected=False)
    assert not reaches(server, GATEWAY, 8080), "its cable is out"
    network.connect(cluster.net, "i-1", connected=True)
    for each in listeners:
        each.close()
    # commands on the machine
    found = machine.run("cmd.exe", "/c", "echo", "a b", "&", "exit", "7")
    assert (found.returncode, "a b" in found.stdout + found.stderr) == (7, True)
    assert machine.run("ping.exe", "-n", "60", "127.0.0.1", seconds=2).returncode == 124, "killed after 2 s"
    assert machine.read(r"C:\ProgramData\mullion\loader.log") == ran.encode()
    with pytest.raises(RuntimeError, match="web-0 is a Windows Server, so its file"):
        machine.file(r"C:\ProgramData\mullion\loader.log")

    machine.cut()
    assert f"win{os.getpid()}" in network.run("link"), "its link is in this host's namespace again"
    machine.boot()
    assert asked(server) == ["new", "start", "stop", "start"], "the disk is new at the first boot alone"
    assert machine.read(r"C:\Program Files\sandbox\launched.txt") == b"v2\n", "EC2Launch runs user-data once"
    assert machine.log().count(ran) == 1
    cluster.remove("web-0")
    assert asked(server)[-1] == "stop"


def test_clean_stops_a_server_of_a_killed_supervisor_and_returns_its_link(
    cluster: BootedCluster, server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = cluster.machine("web-0")
    assert isinstance(machine, WindowsHost)
    machine.boot()
    with pytest.raises(RuntimeError, match="another booted stack uses its Windows Server"):
        WindowsHost(cluster, machine.record, "web-0", tmp_path / "other", machine.space, {}, host=machine.host).boot()
    monkeypatch.setattr(supervision, "disks", lambda folder: cluster.folder)
    monkeypatch.setattr(supervision, "namespace", lambda folder: cluster.net)
    supervision.clean(tmp_path)
    assert asked(server)[-1] == "stop"
    assert f"win{os.getpid()}" in network.run("link")
    assert not reaches(server, GATEWAY, 8080)


def test_a_server_that_never_answers_is_reported_with_its_last_output_and_off(
    cluster: BootedCluster, server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "BOOT_SECONDS", 3)
    about = json.loads((server / "about.json").read_text())
    (server / "about.json").write_text(json.dumps({**about, "deaf": True}))
    with pytest.raises(RuntimeError, match=r"(?s)web-0 did not boot: .* answer within 3 s.*255.*Connection refused"):
        cluster.machine("web-0").boot()
    assert asked(server) == ["new", "start", "stop"]
    cluster.machine("web-0").cut()
    assert asked(server) == ["new", "start", "stop"], "a server that is off is not stopped again"


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "power": ({"start": ["sh", "-c", "echo no such domain >&2; exit 3"]}, "ended with 3: no such domain"),
    "a program": ({"new": ["/no/virsh"]}, "No such file or directory: '/no/virsh'"),
    "Windows": ({"powershell": ["echo", "runs on Unix"]}, "is not PowerShell of Windows"),
    "its interface": ({"link": "tap999", "powershell": ["echo", "runs on Win32NT"]}, 'Cannot find device "tap999"'),
    "its card": ({"card": "Ethernet 3"}, "'InterfaceAlias' equal to 'Ethernet 3'"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_server_that_lacks_a_program_or_card_is_reported_and_off(
    what: str, cluster: BootedCluster, server: Path, tmp_path: Path
) -> None:
    changes, said = BROKEN[what]
    file = tmp_path / "hosts.yaml"
    found = json.loads(file.read_text())
    file.write_text(json.dumps({"web-0": {**found["web-0"], **changes}}))
    machine = cluster.machine("web-0")
    with pytest.raises(RuntimeError, match="web-0 did not boot: ") as raised:
        machine.boot()
    assert said in str(raised.value)
    assert not (server / "on").exists()
    assert isinstance(machine, WindowsHost)
    with hosts.taken(machine.host):
        pass
