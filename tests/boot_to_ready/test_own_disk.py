"""etcd's disk on a machine with real systemd, mkfs and mounts: a loop device of this host is the disk.

udev does not run on machines of the lab: a unit of the test makes the device and the link by UUID, before the mounts.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from components.machine.bundle import scripts
from components.node.kinds import step
from lab.linuxnode import machine, network
from lab.linuxnode.image import lacking

pytestmark = [pytest.mark.engine, pytest.mark.subprocess]
RANGE, ADDRESS = "10.77.68.0/24", "10.77.68.11"
ETCD, JOINED = "/var/lib/etcd-data", "/var/lib/mullion/joined"
"""The folder is not /var/lib/etcd: there machines of the lab have a mount of their own."""
UDEV = r"""[Unit]
DefaultDependencies=no
Before=local-fs-pre.target
[Service]
Type=oneshot
ExecStart=mknod /dev/sdf b {number}
ExecStart=mkdir -p /dev/disk/by-uuid
ExecStart=/bin/sh -c 'ln -s /dev/sdf /dev/disk/by-uuid/$(blkid --probe --match-tag UUID --output value /dev/sdf)'
"""
PLAN = {
    "format": 1,
    "role": "control-plane",
    "pool": "control-plane",
    "os": "debian-12",
    "registration": {},
    "phases": [
        {
            "name": "control-plane",
            "scope": "node",
            "steps": [
                step("own-disk", "etcd-disk", disk="/dev/sdf", path=ETCD, service="kubelet", joined=JOINED).document(),
                step("service", "kubelet", service="kubelet", command=["/bin/sleep", "infinity"]).document(),
            ],
        }
    ],
}
TOLD = {"machine": {"name": "control-plane-0", "address": ADDRESS}, "facts": {"cloud": "aws", "cluster": "small"}}


class Machine:
    """One machine, whose disk for etcd may be attached or not."""

    def __init__(self, folder: Path, space: str) -> None:
        self.folder, self.space = folder, space
        with (folder / "etcd.img").open("wb") as file:
            file.truncate(64 << 20)
        words = ["losetup", "--find", "--show", str(folder / "etcd.img")]
        self.loop = Path(subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip())
        number = self.loop.stat().st_rdev
        self.number = str(os.major(number)), str(os.minor(number))
        for name, content in scripts("linux").items():
            self.write(f"/opt/mullion/current/{name}", content)
        self.write("/opt/mullion/current/plan.json", json.dumps(PLAN).encode())
        self.write("/opt/mullion/machine.json", json.dumps(TOLD).encode())

    def write(self, path: str, content: bytes) -> None:
        """Write a file of the machine's root disk."""
        place = self.folder / "upper" / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)

    def attach(self, attached: bool) -> None:
        """Attach or detach the disk for the next boot."""
        unit, wants = "/etc/systemd/system/udev-stand-in.service", "/etc/systemd/system/sysinit.target.wants"
        link = self.folder / "upper" / wants.lstrip("/") / "udev-stand-in.service"
        link.unlink(missing_ok=True)
        if attached:
            self.write(unit, UDEV.format(number=" ".join(self.number)).encode())
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(unit)

    def boot(self) -> None:
        """Power on; a machine that runs loses its power first."""
        self.off()
        assert machine.boot(self.folder, self.space, "cp0", target="basic.target") == 0, self.console()

    def off(self) -> None:
        """Cut the power."""
        assert machine.stop(self.folder) == 0

    def run(self, *words: str) -> tuple[int, str]:
        """Return the exit code and output of a command on the machine."""
        done = subprocess.run(machine.command(self.folder, list(words)), capture_output=True, text=True, timeout=60)
        return done.returncode, (done.stdout + done.stderr).strip()

    def executor(self) -> dict[str, Any]:
        """Run the executor; return its result."""
        _, said = self.run("python3", "-B", "/opt/mullion/current/node.py")
        code, result = self.run("cat", "/var/lib/mullion/result.json")
        assert code == 0, said
        return json.loads(result)

    def kubelet(self) -> str:
        """Return the state of the kubelet's service."""
        return self.run("systemctl", "is-active", "kubelet.service")[1]

    def console(self) -> str:
        """Return the end of its console."""
        return (self.folder / "console.log").read_text(errors="replace")[-4000:]


@pytest.fixture
def node(tmp_path: Path, missing: Callable[[str, str], NoReturn]) -> Iterator[Machine]:
    """Return a machine with an empty disk."""
    if why := lacking():
        missing("linuxnode", why)
    net = f"mullion-disk-{os.getpid()}"
    network.up(net, RANGE)
    network.add(net, "cp0", ADDRESS)
    made = Machine(tmp_path, f"{net}-cp0")
    try:
        yield made
    finally:
        made.off()
        network.down(net)
        subprocess.run(["losetup", "--detach", made.loop], check=True)


def test_the_disk_is_formatted_once_survives_boots_and_stops_the_kubelet_while_it_is_missing(node: Machine) -> None:
    node.attach(True)
    node.boot()
    assert node.executor()["state"] == "done"
    said = node.run("findmnt", "--noheadings", "--output", "SOURCE,FSTYPE", "--mountpoint", ETCD)[1]
    assert said.splitlines()[-1].split() == ["/dev/sdf", "ext4"]
    script = f"mkdir {ETCD}/member && echo data > {ETCD}/member/wal && touch {JOINED} && sync"
    assert node.run("sh", "-c", script)[0] == 0

    node.boot()
    assert node.run("cat", f"{ETCD}/member/wal") == (0, "data"), "systemd mounted it before the executor ran"
    assert node.kubelet() == "active"
    assert {each["outcome"] for phase in node.executor()["phases"] for each in phase["steps"]} == {"held"}

    node.attach(False)
    node.boot()
    assert node.run("cat", f"{ETCD}/member")[1] == f"The disk of {ETCD} is not mounted."
    assert node.kubelet() != "active"
    failed = node.executor()
    assert (failed["code"], failed["step"]) == (304, "etcd-disk")

    node.run("mknod", "/dev/sdf", "b", *node.number)
    assert node.executor()["state"] == "done"
    assert node.run("cat", f"{ETCD}/member/wal") == (0, "data")
    assert node.kubelet() == "active"
