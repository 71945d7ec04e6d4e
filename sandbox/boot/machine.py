"""A Linux machine of a world, booted for real from the user-data that the program gave the cloud."""

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
from typing import TYPE_CHECKING, Any

from lab import cluster as programs
from lab.linuxnode import machine
from sandbox.boot import network_namespaces
from sandbox.boot.mirror import IMAGES
from sandbox.records import Record
from sandbox.services.server import METADATA_ADDRESS

if TYPE_CHECKING:
    from sandbox.boot.network import Site

KUBECTL = ("/usr/local/bin/kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf")


@dataclass
class Machine:
    """One machine: its disk is below the folder, its network is its own."""

    site: "Site"
    record: Record
    name: str
    folder: Path
    space: str
    plan: Mapping[str, Any]
    """Of its bundle."""

    def boot(self) -> None:
        """Power on, the first time with a new disk; RuntimeError with its console where it does not come up."""
        if not self.folder.exists():
            made = programs.folder(self.plan["kubernetes"])
            _unpack(made / IMAGES, self.folder / "var" / "containerd")
            etc = self.folder / "upper" / "etc"
            etc.mkdir(parents=True)
            (etc / "resolv.conf").write_text(f"nameserver {self.site.resolver}\n", encoding="ascii")
        file = self.folder / "user-data"
        # with its cable out a machine finds no metadata, and goes on with what it was told before
        with suppress(OSError) if file.exists() else nullcontext():
            file.write_bytes(self.user_data())
        # The default target waits for Mullion's unit.
        if machine.boot(self.folder, self.space, "debian", str(file), "", "basic.target"):
            raise RuntimeError(f"{self.name} did not boot: {self.console()}")

    def cut(self) -> None:
        """The power goes; the disk stays."""
        if machine.stop(self.folder):
            raise RuntimeError(f"{self.name} left control groups behind; see {self.folder / 'cgroups'}")

    def user_data(self) -> bytes:
        """What the metadata service gives to the machine, asked in its own network."""

        def ask(method: str, path: str, headers: dict[str, str]) -> bytes:
            with closing(HTTPConnection(METADATA_ADDRESS, timeout=10)) as connection:
                connection.request(method, path, headers=headers)
                return connection.getresponse().read()

        return network_namespaces.within(self.space, partial(self.site.around.user_data, self.record, ask))

    def run(self, *words: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """A command on it, ended after its time."""
        argv = machine.command(self.folder, list(words))
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=seconds)

    def kubectl(self, *words: str, seconds: float = 60) -> str:
        """What kubectl says there, as the cluster's administrator; RuntimeError with its reason where it fails."""
        ran = self.run(*KUBECTL, *words, seconds=seconds)
        if ran.returncode:
            raise RuntimeError(f"kubectl {' '.join(words)} on {self.name}: {ran.stderr.strip()}")
        return ran.stdout

    def status(self) -> dict[str, Any]:
        """Its status record; empty where there is none."""
        stored = self.site.cloud_state.object(*self.site.status(self.record))
        return json.loads(stored.content) if stored else {}

    def until(self, state: str, seconds: float) -> dict[str, Any]:
        """Its status record once it has the state. TimeoutError tells what it has instead, and the end of its log."""
        end = time.monotonic() + seconds
        while (found := self.status()).get("state") != state:
            if time.monotonic() > end:
                raise TimeoutError(f"{self.name} is not {state} after {seconds} s: {found}\n{self.log()}")
            time.sleep(0.2)
        return found

    def log(self) -> str:
        """The end of what loader and executor wrote."""
        return self.run("journalctl", "--unit=mullion", "--no-pager", "--lines=40").stdout

    def file(self, path: str) -> Path:
        """A file that the machine wrote, as this machine sees it."""
        return self.folder / "upper" / path.lstrip("/")

    def read(self, path: str) -> bytes:
        """What is in a file of the machine."""
        return self.file(path).read_bytes()

    def console(self) -> str:
        """The end of its serial console."""
        log = self.folder / "console.log"
        return log.read_text(errors="replace")[-8000:] if log.exists() else ""


def _unpack(images: Path, target: Path) -> None:
    """The folder with its images: their layers are never written again, so a link will do; databases are copied."""

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
