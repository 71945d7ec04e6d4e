"""A Linux machine of one case: a mount namespace over this host's files. Needs root, but no boot.

Its root is an overlay of / whose changes are in memory: real paths and real programs are used, and the host does not
change. Calls to the kernel or systemd go to stand-ins (linux_programs.py); /proc and /sys are plain files. A process
holds the namespace; the test reads the files through /proc/<its id>/root.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from components.machine.bundle import scripts
from tests.conformance import linux_programs
from tests.conformance.linux_fork import Fork
from tests.conformance.state import Program, State

ROOT, PROGRAMS, STAND_INS, BUNDLE = "/srv/case", "/srv/programs", "/srv/stand-ins", "/opt/mullion/current"
MODES = {"private": 0o600, "public": 0o644}
FULL_SIZE = 4 << 20
"""Size of the file system at ROOT in cases with a full disk."""
SETUP = """set -e
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay none -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount --rbind /dev "$1/root/dev"
mkdir -p "$1/root/srv/case"
if [ -n "$2" ]; then mount -t tmpfs -o "size=$2,mode=755" none "$1/root/srv/case"; fi
exec chroot "$1/root" sh -c 'echo ready; exec setpriv --pdeathsig KILL sleep 3600'
"""
SECONDS = 60
"""Seconds: longer than any run of a case takes."""


class LinuxMachine:
    """One machine; paths are those of plans."""

    python = str(Path(sys.executable).resolve())
    readers: dict[str, Callable[[], Any]]
    """Readers of the system's areas; the case's runner sets them, because they include those of the cloud."""

    def __init__(self, folder: Path, limited: bool) -> None:
        """folder: empty; limited: the space below ROOT is limited, so it can be full."""
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SETUP, "sh", str(folder)]
        self.holder = subprocess.Popen(
            [*words, str(FULL_SIZE) if limited else ""], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.holder.stdout
        greeting = self.holder.stdout.readline()
        assert greeting == "ready\n", greeting + self.holder.stdout.read()
        self.root = Path(f"/proc/{self.holder.pid}/root")
        self.outside = folder / "root"

    def close(self) -> None:
        """Remove the namespace and all its processes."""
        self.holder.kill()
        self.holder.communicate()

    def place(self, path: str) -> Path:
        """Return the path at which the test can read the file."""
        return self.root / path.lstrip("/")

    def write(self, path: str, content: str | bytes, mode: int = 0o644) -> None:
        """Write a file, and create missing parent folders."""
        place = self.place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        place.chmod(mode)

    def arrange(self, state: State) -> None:
        """Set up files, folders, links and rights of the state."""
        for path in state.folders:
            self.place(path).mkdir(parents=True, exist_ok=True)
        for path, text in state.files.items():
            self.write(path, text)
        for path, target in state.links.items():
            self.place(path).parent.mkdir(parents=True, exist_ok=True)
            self.place(path).unlink(missing_ok=True)
            self.place(path).symlink_to(target)
        for path, access in {**state.folders, **state.access}.items():
            bits = MODES[access]
            self.place(path).chmod(bits | bits >> 2 & 0o111 if self.place(path).is_dir() else bits)
        for path, user in state.owners.items():
            owner = next(entry for entry in self.users() if entry[0] == user)
            os.chown(self.place(path), int(owner[2]), int(owner[3]))
        for path in state.executable:
            self.place(path).chmod(0o755)
        for path in state.absent:
            place = self.place(path)
            shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink(missing_ok=True)

    def system(self, area: str) -> Any:
        """Return the system's state of an area."""
        return self.readers[area]()

    def users(self) -> list[list[str]]:
        """Return the passwd fields of the machine's users."""
        return [line.split(":") for line in self.place("/etc/passwd").read_text().splitlines()]

    def access(self, path: str) -> str:
        """Return private, public, or the mode."""
        bits = self.place(path).stat().st_mode & 0o7777
        return {0o600: "private", 0o700: "private", 0o644: "public", 0o755: "public"}.get(bits, f"{bits:o}")

    def owner(self, path: str) -> str:
        """Return the owner."""
        return next(entry[0] for entry in self.users() if int(entry[2]) == self.place(path).stat().st_uid)

    def executable(self, path: str) -> bool:
        """Return whether its owner may run it."""
        return bool(self.place(path).stat().st_mode & 0o100)

    def link(self, path: str) -> str | None:
        """Return the target of a link."""
        return str(self.place(path).readlink()) if self.place(path).is_symlink() else None

    def words(self, *argv: str) -> list[str]:
        """Return the words that start a program in the machine."""
        return ["nsenter", "--target", str(self.holder.pid), "--mount", "--root", "--wd", *argv]

    def environment(self) -> dict[str, str]:
        """Return the environment of a program in the machine."""
        path = f"{STAND_INS}:{PROGRAMS}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return {"PATH": path, "LANG": "C.UTF-8", "HOME": "/root"}

    def call(self, *argv: str) -> str:
        """Return the output of a program that must succeed."""
        return subprocess.run(
            self.words(*argv), capture_output=True, text=True, check=True, timeout=SECONDS, env=self.environment()
        ).stdout

    def start(self, spec: dict[str, Any], number: int) -> Fork:
        """Start the executor."""
        self.write(f"/run/case-{number}.json", json.dumps(spec))
        argv = [f"{STAND_INS}/linux_run.py", f"/run/case-{number}.json"]
        return Fork(self.holder.pid, argv, self.environment(), self.outside.parent.with_name(f"run-{number}"))

    def fill(self, full: bool) -> None:
        """Use up all space and all inodes below ROOT, or free them."""
        state = os.statvfs(self.place(ROOT))
        size = (state.f_blocks - state.f_bfree) * state.f_frsize if full else FULL_SIZE
        names = state.f_files - state.f_ffree if full else 10000
        options = f"remount,size={size or 1},nr_inodes={names}"
        enter = ["nsenter", "--target", str(self.holder.pid), "--mount"]
        subprocess.run([*enter, "mount", "-o", options, f"{self.outside}{ROOT}"], check=True, timeout=SECONDS)

    def install_kernel(self) -> None:
        """Write the kernel's files in /proc and /sys."""
        self.write("/proc/sys/kernel/hostname", "ip-10-20-1-4\n")
        self.write("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")

    def boot(self) -> None:
        """Simulate a restart: memory is empty, enabled services run."""
        for name in ("reboot-required", "lock"):
            subprocess.run(["rm", "-rf", str(self.place(f"/run/{name}"))], check=True)
        self.write("/proc/sys/kernel/random/boot_id", f"{uuid.uuid4()}\n")
        linux_programs.boot(self.root)


def install(machine: LinuxMachine, told: dict[str, Any], programs: dict[str, Program]) -> None:
    """Install the bundle, machine.json, the stand-ins, and the state of a kernel that has just booted."""
    for name, content in scripts("linux").items():
        machine.write(f"{BUNDLE}/{name}", content)
    machine.write("/opt/mullion/machine.json", json.dumps(told))
    folder = Path(__file__).parent
    for name in ("linux_run.py", "linux_programs.py", "linux_kubectl.py"):
        machine.write(f"{STAND_INS}/{name}", (folder / name).read_bytes(), 0o755)
    for name in linux_programs.PROGRAMS:
        start = f'#!/bin/sh\nexec {machine.python} -I -S -B {STAND_INS}/linux_programs.py {name} "$@"\n'
        machine.write(f"{STAND_INS}/{name}", start, 0o755)
    for name, program in programs.items():
        machine.write(f"{PROGRAMS}/{name}", script(name, program), 0o755)
    machine.install_kernel()
    machine.boot()


def script(name: str, program: Program) -> str:
    """Return the script of a case's stand-in program."""
    ran, quote = f"{ROOT}/ran/{name}", shlex.quote
    lines = ["#!/bin/sh", f"mkdir -p {ROOT}/ran", f'echo "$*" >> {ran}']
    if program.keeps_input:
        lines.append(f"mkdir -p $(dirname {quote(program.keeps_input)}); cat > {quote(program.keeps_input)}")
    if program.fails_first:
        lines.append(f"[ $(wc -l < {ran}) -gt {program.fails_first} ] || exit 1")
    for path, text in program.creates.items():
        lines.append(f"mkdir -p $(dirname {quote(path)}); printf %s {quote(text)} > {quote(path)}")
    if program.cluster:
        python = Path(sys.executable).resolve()
        lines.append(f'exec {python} -I -S -B {STAND_INS}/linux_kubectl.py {quote(program.cluster)} "$@"')
    if program.stays:
        lines.append("exec sleep infinity")
    if program.hangs:
        lines += [f"(sleep 3; touch {ran}.child; sleep 300) &", "sleep 300"]
    return "\n".join([*lines, f"printf %s {quote(program.says)}", f"exit {program.exits}", ""])


@contextmanager
def machine(folder: Path, limited: bool) -> Iterator[LinuxMachine]:
    """Create a fresh machine, and remove it at the end."""
    fresh = LinuxMachine(folder, limited)
    try:
        yield fresh
    finally:
        fresh.close()
