"""A Windows machine whose networking API is the lab's: the DLLs in it, and the emulator that answers them."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

from lab.hns import dlls, server
from lab.hns.service import Build, Object, Service
from tests.lab.judge import Judgement, Windows, run
from tests.lab.rendered import Rendered, filled

PLUGINS = r"C:\k\cni"

NO_ID = "00000000-0000-0000-0000-000000000000"
"""Id of an object to create, if HNS chooses it."""

ADAPTER = "eth0"
"""Name of the machine's adapter under Wine."""


@dataclass
class Machine:
    """A machine, its service, and its network namespace on this host (none: that of the tests)."""

    windows: Windows
    service: Service
    address: str
    space: str | None = None
    made: list[str] = field(default_factory=list[str])

    def install(self, programs: Mapping[str, Path], folder: str = PLUGINS) -> None:
        """Link programs of the cache into a folder of the machine."""
        for name, path in programs.items():
            self.windows.install(path, rf"{folder}\{name}.exe")

    def call(self, *words: str) -> Any:
        """Call the emulator as a DLL does; return the value, parsed if it is JSON. Raises AssertionError if refused."""
        code, value, record = server.handle(self.service, words)
        assert code == 0, record
        return json.loads(value) if value.startswith(("{", "[")) else value

    def refused(self, *words: str) -> int:
        """Return the HRESULT of a refused call."""
        code, _, record = server.handle(self.service, words)
        assert code and json.loads(record)["ErrorCode"] == code
        return code

    def hns(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the output of a call of the first API."""
        answer = self.call("HNSCall", method, path, json.dumps(body) if body else "")
        assert answer["Success"], answer
        return answer.get("Output")

    def bridge(self, plan: Rendered) -> None:
        """Create what the plan's step hns-network creates (cloud-init/windows/kinds/hns.ps1)."""
        step = filled(plan.fields("hns-network"))
        first = IPv4Network(step["subnet"]).network_address
        subnet = {"AddressPrefix": step["subnet"], "GatewayAddress": str(first + 1)}
        made = self.hns("POST", "/networks", {"Name": step["network"], "Type": "L2Bridge", "Subnets": [subnet]})
        host = {"Name": step["endpoint"], "VirtualNetwork": made["ID"], "IPAddress": str(first + 2)}
        endpoint = self.hns("POST", "/endpoints", host)["ID"]
        self.hns("POST", f"/endpoints/{endpoint}/attach", {"SystemType": "Host", "CompartmentId": 1})

    def pod(self, plugin: Mapping[str, Any], name: str) -> Object:
        """Let the real plug-in add a pod as its runtime does; return the pod's endpoint."""
        self.added(plugin, name, self.sandbox(plugin, name))
        return self.service.named("Endpoint", f"{name}_{plugin['name']}")

    def sandbox(self, plugin: Mapping[str, Any], name: str) -> str:
        """Create what the runtime has before its call; return CNI_NETNS: a namespace's id, or "none" (Docker)."""
        if plugin.get("apiVersion") == 2:
            return self.call("CreateNamespace", "", NO_ID, json.dumps({"SchemaVersion": {"Major": 2, "Minor": 0}}))
        self.service.containers[name] = set()
        return "none"

    def added(self, plugin: Mapping[str, Any], name: str, netns: str) -> dict[str, Any]:
        """Return what the plug-in prints for ADD."""
        done, text = self.cni("ADD", plugin, name, netns)
        assert done.code == 0, f"{done.text}\n{text}\nrefusals: {self.service.refusals}"
        return json.loads(text)

    def cni(self, verb: str, plugin: Mapping[str, Any], name: str, netns: str) -> tuple[Judgement, str]:
        """Run a plug-in with its configuration on stdin; return its end, and its stdout."""
        self.windows.path(r"C:\k\conf.json").write_text(json.dumps(plugin), encoding="ascii")
        variables = {"COMMAND": verb, "CONTAINERID": name, "NETNS": netns, "IFNAME": "eth0", "PATH": PLUGINS}
        lines = ["@echo off", *(f"set CNI_{key}={value}" for key, value in variables.items())]
        lines.append(rf"{PLUGINS}\{plugin['type']}.exe < C:\k\conf.json > C:\k\out.json")
        self.windows.path(r"C:\k\call.cmd").write_text("\r\n".join(lines) + "\r\n", encoding="ascii")
        done = self.run(["cmd.exe", "/c", r"C:\k\call.cmd"])
        return done, self.windows.path(r"C:\k\out.json").read_text("utf-8")

    def run(self, command: Sequence[str]) -> Judgement:
        """Run a Windows program in the machine's network namespace."""
        if self.space is None:
            return self.windows.run(command)
        inside = ["nsenter", f"--net=/run/netns/{self.space}"]
        return run([*inside, self.windows.tool, "run", self.windows.folder, *command], self.windows.drive)


@contextmanager
def machine(
    tool: str, folder: Path, build: Build, address: str = "10.20.0.4", adapter: str = ADAPTER
) -> Iterator[Machine]:
    """Make a machine with the DLLs, and serve its calls."""
    subprocess.run([tool, "machine", folder], check=True, capture_output=True, timeout=300)
    for name in dlls.NAMES:
        shutil.copyfile(dlls.place(name), folder / "drive_c/windows/system32" / f"{name}.dll")
    service = Service(build, {adapter: address})
    try:
        with server.serving(service, folder):
            yield Machine(Windows(tool, folder), service, address)
    finally:
        subprocess.run([tool, "stop", folder], check=False, capture_output=True, timeout=60)


def plugin(conflist: Mapping[str, Any], flannel: Mapping[str, str]) -> dict[str, Any]:
    """Return the configuration that the runtime gives to win-bridge, or flannel's plug-in to win-overlay.

    flannel-io/cni-plugin flannel_windows.go adds name, cniVersion, ipMasq, ipMasqNetwork and ipam, by `flannel`, the
    values of subnet.env.
    """
    common = {"name": conflist["name"], "cniVersion": conflist["cniVersion"]}
    dns = {"servers": ["10.96.0.10"], "searches": ["default.svc.cluster.local"]}
    (only,) = conflist["plugins"]
    if only["type"] != "flannel":
        return {**only, **common, "runtimeConfig": {"dns": dns}}
    ipam = {"type": "host-local", "subnet": str(IPv4Interface(flannel["FLANNEL_SUBNET"]).network)}
    masquerade = {"ipMasq": flannel["FLANNEL_IPMASQ"] == "true", "ipMasqNetwork": flannel["FLANNEL_NETWORK"]}
    return {**only["delegate"], **common, **masquerade, "ipam": ipam, "runtimeConfig": {"dns": dns}}
