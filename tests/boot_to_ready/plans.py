"""Small node plans with many step kinds, for machines that really boot; the lab serves their files."""

import gzip
import hashlib
import io
import tarfile
from typing import Any

from components.machine.bundle import Bundle, bundle, scripts
from components.node.kinds import Step, ref, step
from components.node.plan import NodePlan, Phase, Scope
from tests.boot_to_ready.lab import REGION, Lab

LINUX_TOOL = "#!/bin/sh\nexec sleep infinity\n"


def packed(files: dict[str, str]) -> bytes:
    """Return a tar.gz of these files, all executable; the same bytes on every call."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text.encode()), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(buffer.getvalue(), mtime=0)


def published(lab: Lab, key: str, content: bytes) -> dict[str, Any]:
    """Return the fields of an artifact step for a public file."""
    lab.put(lab.public, key, content)
    url = f"http://{lab.public}.s3.{REGION}.amazonaws.com/{key}"
    return {"url": url, "digest": f"sha256:{hashlib.sha256(content).hexdigest()}"}


def linux(lab: Lab, mark: str) -> Bundle:
    """Return a plan's bundle for the Linux worker; each `mark` gives another bundle."""
    tool = published(lab, "tool.tar.gz", packed({"tool/bin/tool": LINUX_TOOL}))
    system = (
        step("swap", "no-swap"),
        step("hostname", "hostname", value=ref("machine.name")),
        step("directory", "settings", path="/etc/lab"),
        step("directory", "keys", path="/etc/lab/keys", access="private"),
        step("sysctl", "forwarding", key="net.ipv4.ip_forward", value="1"),
        step("environment", "variable", variable="LAB", value="yes"),
        step("user", "user", user="lab"),
        step("firewall-rule", "port", rule="lab", protocol="tcp", ports=["10250"]),
        step("reboot", "restart"),
    )
    program = (
        step("directory", "downloads", path="/var/cache/lab"),
        step("artifact", "tool", path="/var/cache/lab/tool.tar.gz", **tool),
        step("archive", "unpacked", source="/var/cache/lab/tool.tar.gz", target="/opt/lab", strip=1),
        step("link", "link", path="/usr/local/bin/tool", target="/opt/lab/bin/tool"),
        step("access", "access", path="/opt/lab", access="private"),
    )
    about = {name: ref(name) for name in ("machine.name", "node.address", "node.provider_id", "facts.cluster")}
    node = (
        step("secret", "token", secret=ref("facts.join_secret"), path="/etc/lab/keys/token"),
        step("file", "about", path="/etc/lab/about.json", format="json", content={**about, "mark": mark}),
        step("service", "service", service="lab", command=["/usr/local/bin/tool"], restarts_on=["/etc/lab/about.json"]),
        step("task", "task", task="lab", command=["/bin/true"], schedule={"every_minutes": 60}),
        step("probe", "systemd", argv=["/bin/systemctl", "is-active", "lab"], expect="active", message="no lab"),
        step("wait", "runs", condition={"service": "lab"}),
        step("command", "once", argv=["/bin/sh", "-c", "echo ran >> /etc/lab/ran"], creates="/etc/lab/ran"),
    )
    return _bundled("linux", "ubuntu-24.04", system, program, node)


def _bundled(family: str, os: str, *phases: tuple[Step, ...]) -> Bundle:
    named = tuple(Phase(f"phase-{number}", Scope.NODE, steps) for number, steps in enumerate(phases))
    plan = NodePlan("worker", family, os, named, kubernetes="1.36.4")
    return bundle(plan, scripts("linux" if family == "linux" else "windows"))


def windows(lab: Lab, mark: str) -> Bundle:
    """Return a plan's bundle for the Windows worker; each `mark` gives another bundle."""
    tool = published(lab, "tool.tgz", packed({"tool/bin/tool.txt": "tool\n"}))
    software = r"HKLM:\SOFTWARE\Lab"
    system = (
        step("hostname", "hostname", value=ref("machine.name")),
        step("feature", "containers", feature="Containers"),
        step("reboot", "restart"),
        step("directory", "settings", path=r"C:\lab"),
        step("directory", "keys", path=r"C:\lab\keys", access="private"),
        step("registry", "registry", key=software, value="Mark", type="String", data=mark),
        step("environment", "variable", variable="LAB", value="yes"),
        step("port-range", "ports", protocol="tcp", start=10000, count=20000),
        step("firewall-rule", "port", rule="lab", protocol="tcp", ports=["10250"]),
    )
    program = (
        step("artifact", "tool", path=r"C:\lab\tool.tgz", **tool),
        step("archive", "unpacked", source=r"C:\lab\tool.tgz", target=r"C:\lab\tool", strip=1),
        step("access", "access", path=r"C:\lab\tool", access="private"),
    )
    about = {name: ref(name) for name in ("machine.name", "node.provider_id", "facts.cluster")}
    node = (
        step("secret", "token", secret=ref("facts.join_secret"), path=r"C:\lab\keys\token"),
        step("file", "about", path=r"C:\lab\about.json", format="json", content={**about, "mark": mark}),
        step("task", "task", task="lab", command=[r"C:\Windows\System32\cmd.exe"], schedule={"every_minutes": 60}),
        step("command", "once", argv=["cmd.exe", "/c", r"echo ran>>C:\lab\ran"], creates=r"C:\lab\ran"),
    )
    return _bundled("windows", "windows-2022", system, program, node)
