"""A Linux machine of the sandbox, booted for real from the user-data that the program gave the cloud."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from lab import cluster as programs
from lab.linuxnode import machine
from sandbox.boot import network_namespaces
from sandbox.boot.cluster_network import ClusterNetwork
from sandbox.boot.mirror import IMAGES
from sandbox.records import Record
from sandbox.services.server import METADATA_ADDRESS

KUBECTL = ("/usr/local/bin/kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf")


@dataclass
class Machine:
    """One machine with a disk in `folder` and a network namespace `space`."""

    network: ClusterNetwork
    record: Record
    name: str
    folder: Path
    space: str
    plan: Mapping[str, Any]
    """The plan in its bundle."""

    def boot(self) -> None:
        """Power on, at the first boot with a new disk. Raises RuntimeError with its console if it does not come up."""
        if not self.folder.exists():
            built = programs.folder(self.plan["kubernetes"])
            _unpack(built / IMAGES, self.folder / "var" / "containerd")
            etc = self.folder / "upper" / "etc"
            etc.mkdir(parents=True)
            (etc / "resolv.conf").write_text(f"nameserver {self.network.resolver}\n", encoding="ascii")
        file = self.folder / "user-data"
        # without its cable the machine reaches no metadata, and cloud-init uses the user-data of the boot before
        with suppress(OSError) if file.exists() else nullcontext():
            file.write_bytes(self.user_data())
        # The default target waits for Mullion's unit.
        if machine.boot(self.folder, self.space, "debian", str(file), "", "basic.target"):
            raise RuntimeError(f"{self.name} did not boot: {self.console()}")

    def cut(self) -> None:
        """Cut the power; the disk stays."""
        if machine.stop(self.folder):
            raise RuntimeError(f"{self.name} left control groups behind; see {self.folder / 'cgroups'}")

    def user_data(self) -> bytes:
        """Return the user-data that the metadata service gives to this machine, requested from its namespace."""

        def ask(method: str, path: str, headers: dict[str, str]) -> bytes:
            with closing(HTTPConnection(METADATA_ADDRESS, timeout=10)) as connection:
                connection.request(method, path, headers=headers)
                return connection.getresponse().read()

        return network_namespaces.within(self.space, partial(self.network.cloud_services.user_data, self.record, ask))

    def run(self, *words: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a command on the machine; it is killed after `seconds`."""
        argv = machine.command(self.folder, list(words))
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=seconds)

    def kubectl(self, *words: str, seconds: float = 60) -> str:
        """Run kubectl as administrator; return its output. Raises RuntimeError with its error if it fails."""
        ran = self.run(*KUBECTL, *words, seconds=seconds)
        if ran.returncode:
            raise RuntimeError(f"kubectl {' '.join(words)} on {self.name}: {ran.stderr.strip()}")
        return ran.stdout

    def status(self) -> dict[str, Any]:
        """Return its status record; empty if there is none."""
        stored = self.network.cloud_state.object(*self.network.status_object(self.record))
        return json.loads(stored.content) if stored else {}

    def until(self, state: str, seconds: float) -> dict[str, Any]:
        """Wait until its status record has the state; return the record. Raises TimeoutError with the last record."""
        end = time.monotonic() + seconds
        while (record := self.status()).get("state") != state:
            if time.monotonic() > end:
                raise TimeoutError(f"{self.name} is not {state} after {seconds} s: {record}\n{self.log()}")
            time.sleep(0.2)
        return record

    def log(self) -> str:
        """Return the last lines of loader and executor."""
        return self.run("journalctl", "--unit=mullion", "--no-pager", "--lines=40").stdout

    def file(self, path: str) -> Path:
        """Return the path on this host of a file that the machine wrote."""
        return self.folder / "upper" / path.lstrip("/")

    def read(self, path: str) -> bytes:
        """Return the content of a file on the machine."""
        return self.file(path).read_bytes()

    def console(self) -> str:
        """Return the end of its serial console."""
        log = self.folder / "console.log"
        return log.read_text(errors="replace")[-8000:] if log.exists() else ""


def _unpack(images: Path, target: Path) -> None:
    """Copy a folder of images: link layers, which are never written again, and copy databases."""

    def lay(source: str, to: str) -> None:
        if source.endswith(".db"):
            shutil.copy2(source, to)
        else:
            os.link(source, to, follow_symlinks=False)

    try:
        shutil.copytree(images, target, symlinks=True, copy_function=lay)
    except shutil.Error:  # on another disk: no links
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "--archive", images, target], check=True)
