"""A Windows machine whose networking API is the lab's: the DLLs in it, and the emulator that answers them."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any

from lab.hns import server
from lab.hns.service import Build, Object, Service
from sandbox.boot.network_namespaces import within
from sandbox.boot.windows.winpwsh import BOOKS, new_machine
from tests.lab.judge import Judgement, Windows, run
from tests.lab.rendered import VALUES, Rendered, filled

POWERSHELL = r"C:\Program Files\PowerShell\7\pwsh.exe"

ROOT = Path(__file__).resolve().parents[3]

PLUGINS = r"C:\k\cni"

NO_ID = "00000000-0000-0000-0000-000000000000"
"""Id of an object to create, if HNS chooses it."""

API, NODE, GATEWAY = "10.20.0.2", "10.20.0.4", "10.20.0.1"
"""Addresses of the API server, the machine (VALUES in tests/lab/rendered.py), and the way out."""

ADAPTER = "eth0"
"""Name of the machine's adapter under Wine."""

OWN_INTERFACE = 7
"""Index of the interface with the machine's address (sandbox/boot/windows/modules/windows/windows_hns.ps1)."""


@dataclass
class Machine:
    """A machine, its service, and its network namespace on this host."""

    windows: Windows
    service: Service
    space: str

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

    def routes(self) -> list[str]:
        """Return the ranges that steps routed through the management adapter, in the record of its stand-in."""
        kept = json.loads(self.windows.path(rf"{BOOKS}\routes.json").read_text())
        return [each["DestinationPrefix"] for each in kept.values() if each["InterfaceIndex"] == OWN_INTERFACE]

    def steps(self, plan: Rendered, *names: str, **values: str) -> list[str]:
        """Run steps of a plan with the executor's functions in PowerShell; return a line for each (steps.ps1).

        `values`: references with _ for the dot, instead of VALUES (node_pod_subnet="10.244.3.0/24").
        """
        known = {**VALUES, **{name.replace("_", ".", 1): value for name, value in values.items()}}
        kinds = {each.name: each.kind for each in plan.plan.steps}
        wanted = [{"kind": kinds[name], "fields": filled(plan.fields(name), known)} for name in names]
        self.windows.path(r"C:\k\steps.json").write_text(json.dumps({"steps": wanted}), encoding="ascii")
        said = self.script("-Steps", r"C:\k\steps.json").splitlines()
        # Wine itself prints a line when a program of the machine crashes
        return [line for line in said if line.partition(" ")[0] in kinds.values()]

    def script(self, *words: str) -> str:
        """Run steps.ps1 with these words; return its output. Raises AssertionError if it fails."""
        shutil.copytree(ROOT / "cloud-init" / "windows", self.windows.path(r"C:\mullion"), dirs_exist_ok=True)
        shutil.copyfile(Path(__file__).with_name("steps.ps1"), self.windows.path(r"C:\k\steps.ps1"))
        options = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass"]
        done = self.run([POWERSHELL, *options, "-File", r"C:\k\steps.ps1", *words])
        assert done.code == 0, f"{done.text}\nrefusals: {self.service.refusals}"
        return done.text

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
        inside = ["nsenter", f"--net=/run/netns/{self.space}"]
        return run([*inside, self.windows.tool, "run", self.windows.folder, *command], self.windows.drive)


@contextmanager
def machine(tool: str, folder: Path, build: Build) -> Iterator[Machine]:
    """Make a machine with the DLLs in a network namespace of its own, and serve its calls."""
    # its own name: a run that was killed leaves its namespace behind
    with _space(f"hns-{os.getpid()}-{folder.name[-8:]}") as space:
        new_machine(tool, folder)
        service = Service(build, {ADAPTER: NODE})
        serving = server.serving(service, folder)
        within(space, serving.__enter__)
        try:
            yield Machine(Windows(tool, folder), service, space)
        finally:
            serving.__exit__(None, None, None)
            subprocess.run([tool, "stop", folder], check=False, capture_output=True, timeout=60)


@contextmanager
def _space(name: str) -> Iterator[str]:
    """Make a network namespace with one adapter, which has the addresses of the machine and of an API server."""
    output(["ip", "netns", "add", name])
    inside = ("ip", "-n", name)
    try:
        output([*inside, "link", "set", "lo", "up"])
        output([*inside, "link", "add", ADAPTER, "type", "veth", "peer", "name", "wire0"])
        for address in (NODE, API):
            output([*inside, "address", "add", f"{address}/22", "dev", ADAPTER])
        for link in ("wire0", ADAPTER):
            output([*inside, "link", "set", link, "up"])
        output([*inside, "route", "add", "default", "via", GATEWAY])
        yield name
    finally:
        output(["ip", "netns", "delete", name])


def output(command: Sequence[str]) -> str:
    """Return a program's stdout. Raises AssertionError with all output if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


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
