"""One machine: its namespaces, its root on an overlay of the image, its init; boot, exec, stop."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lab.linuxnode.image import IMAGE, lacking

ROOT = Path(__file__).resolve().parents[2]
CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids")
SYSCTLS = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1000000,
    "kernel/keys/root_maxbytes": 25000000,
    "fs/inotify/max_user_instances": 8192,
    "fs/inotify/max_user_watches": 524288,
}
"""This machine's own settings stay out of reach; these are shown to the node with the values that nodes want."""
BUILT_IN = {"br_netfilter": "/proc/sys/net/bridge", "overlay": "/proc/self/mountinfo"}
"""Modules that machines ask for, and what is there where this kernel has them: a machine's own root is an overlay."""
DROPPED = "-sys_time,-sys_module,-sys_rawio,-sys_boot"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOOT_SECONDS = 300
END_SECONDS = 60
"""Both far above what it takes: this machine may have other work."""
_STARTED: dict[int, "subprocess.Popen[Any]"] = {}
"""Machines that this process booted: it has to ask for their end."""


def boot(
    directory: Path,
    netns: str,
    hostname: str,
    user_data: str = "",
    meta_data: str = "",
    target: str = "multi-user.target",
) -> int:
    """Boot the machine in the folder; returns once systemd reached the target. 0, or 1 with the reason said.

    hostname: that of a new machine.
    """
    why = f"{directory} is running" if running(directory) else lacking()
    if why:
        return _say(why)
    seed = directory / "upper/var/lib/cloud/seed/nocloud"
    seed.mkdir(parents=True, exist_ok=True)
    about = (
        Path(meta_data).read_bytes()
        if meta_data
        else f"instance-id: i-{hostname}\nlocal-hostname: {hostname}\n".encode()
    )
    (seed / "user-data").write_bytes(Path(user_data).read_bytes() if user_data else b"#cloud-config\n{}\n")
    (seed / "meta-data").write_bytes(about)
    (directory / "upper/etc").mkdir(exist_ok=True)
    name = directory / "upper/etc/hostname"
    if name.exists():
        hostname = name.read_text().strip()  # which it may have changed itself
    name.write_text(f"{hostname}\n")
    words = [sys.executable, "-m", "lab.linuxnode", "_spawn", str(directory), netns, hostname]
    with (directory / "boot.log").open("ab") as log:
        options = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "start_new_session": True, "cwd": ROOT}
        process = subprocess.Popen(words, **options)
    _STARTED[process.pid] = process
    (directory / "pid").write_text(str(process.pid))
    reached = ["systemctl", "is-active", "--quiet", target]
    for _ in range(BOOT_SECONDS * 10):
        if process.poll() is not None:
            return _say(f"{hostname} ended with {process.returncode}: {(directory / 'boot.log').read_text()[-2000:]}")
        if init(directory) and execute(directory, reached, quiet=True) == 0:
            return 0
        time.sleep(0.1)
    return _say(f"{hostname} did not boot in {BOOT_SECONDS} s; see {directory}/console.log")


def execute(directory: Path, words: list[str], *, quiet: bool = False) -> int:
    """Run a command on the machine; its exit code."""
    if not running(directory):
        return _say(f"{directory} is not running")
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(command(directory, words), stdout=output, stderr=output, check=False).returncode


def command(directory: Path, words: list[str]) -> list[str]:
    """The command line that runs a command on the machine, which is running."""
    environment = ["env", "-i", f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8"]
    return ["nsenter", "-t", init(directory), "-a", "setpriv", f"--bounding-set={DROPPED}", *environment, *words]


def stop(directory: Path) -> int:
    """A cut of power: its processes end at once, its disk stays."""
    if running(directory):
        pid = int((directory / "pid").read_text())
        if first := init(directory):
            os.kill(int(first), 9)
        end = time.monotonic() + END_SECONDS
        while _lives(pid) and time.monotonic() < end:
            time.sleep(0.05)
        if process := _STARTED.pop(pid, None):
            process.wait(END_SECONDS)
    (directory / "pid").unlink(missing_ok=True)
    kept = directory / "cgroups"
    left = [Path(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    end = time.monotonic() + END_SECONDS
    while left and time.monotonic() < end:
        for group in left:
            _remove(group)
        left = [group for group in left if group.exists()]
        time.sleep(0.1 if left else 0)
    if not left:
        return 0
    return _say(f"cgroups left: {' '.join(map(str, left))}")


def running(directory: Path) -> bool:
    """Whether the machine was booted and not stopped."""
    try:
        words = Path(f"/proc/{(directory / 'pid').read_text()}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # the number may have become another's: ours names its folder, from its first command line to the last
    return not words or os.fsencode(directory) in words.split(b"\0")


def init(directory: Path) -> str:
    """Process id of its init, as this machine sees it; empty where there is none yet."""
    words = ["pgrep", "-P", (directory / "pid").read_text()]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.split("\n")[0]


def _say(text: str) -> int:
    print(f"linuxnode: {text}", file=sys.stderr)
    return 1


def _lives(pid: int) -> bool:
    """A zombie does not: who began it may not have asked for it yet."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except OSError:
        return False


def _remove(group: Path) -> None:
    for child in sorted(group.glob("**/"), key=lambda path: len(path.parts), reverse=True):
        try:
            child.rmdir()
        except OSError:
            continue  # something in it still ends


def spawn(directory: Path, netns: str, hostname: str) -> None:
    """In a process of its own: take cgroups, then enter the network and new namespaces, and go on with `inside`."""
    groups = _cgroups(f"linuxnode-{hostname}-{os.getpid()}")
    (directory / "cgroups").write_text("\n".join(map(str, groups)))
    words = ["nsenter", f"--net=/run/netns/{netns}", "unshare", "-m", "-p", "-u", "-i", "-C", "--fork", "--kill-child"]
    words += ["--propagation", "private", sys.executable, "-m", "lab.linuxnode", "_inside", str(directory), hostname]
    os.execvp("nsenter", words)  # noqa: S606


def _cgroups(name: str) -> list[Path]:
    """A group of its own for this process in every hierarchy of the machine; the node sees it as its root."""
    made: list[Path] = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():  # read whole first: it changes as we move
        _, controllers, path = line.split(":", 2)
        hierarchy = {"": "unified", "name=systemd": "systemd"}.get(controllers, controllers)
        group = Path("/sys/fs/cgroup") / hierarchy / path.strip("/") / name
        if not group.parent.is_dir():
            continue
        group.mkdir(exist_ok=True)
        if controllers == "cpuset":
            for knob in ("cpuset.cpus", "cpuset.mems"):
                (group / knob).write_text((group.parent / knob).read_text())
            (group / "cgroup.clone_children").write_text("1")
        made.append(group)
    for group in made:
        (group / "cgroup.procs").write_text(str(os.getpid()))
    return made


def _mount(*words: object) -> None:
    subprocess.run(["mount", *map(str, words)], check=True)


def inside(directory: Path, hostname: str) -> None:
    """As the first process of the node's namespaces: lay its root, then become its init."""
    root = directory / "root"
    for name in ("upper", "work", "root", "sysctl"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    subprocess.run(["hostname", hostname], check=True)
    layers = f"lowerdir={IMAGE},upperdir={directory}/upper,workdir={directory}/work"
    _mount("-t", "overlay", "overlay", "-o", layers, root)
    _mount("-t", "proc", "proc", root / "proc")
    _mount("-t", "sysfs", "-o", "ro,nosuid,nodev,noexec", "sysfs", root / "sys")
    _lay_modules(root / "sys/module")
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root / "sys/fs/cgroup")
    for options, name in [*((each, each) for each in CONTROLLERS), ("none,name=systemd", "systemd")]:
        (root / "sys/fs/cgroup" / name).mkdir()
        _mount("-t", "cgroup", "-o", options, "cgroup", root / "sys/fs/cgroup" / name)
    _lay_dev(root / "dev", directory)
    _lay_sysctls(root / "proc/sys", directory / "sysctl")
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root / "run")
    _mount("-t", "tmpfs", "tmpfs", root / "tmp")
    for name in ("containerd", "kubelet", "etcd"):  # an overlay cannot carry another overlay
        (directory / "var" / name).mkdir(parents=True, exist_ok=True)
        (root / "var/lib" / name).mkdir(parents=True, exist_ok=True)
        _mount("--bind", directory / "var" / name, root / "var/lib" / name)
    (root / ".old").mkdir(exist_ok=True)
    os.chdir(root)
    subprocess.run(["pivot_root", ".", ".old"], check=True)
    os.chdir("/")
    subprocess.run(["umount", "-l", "/.old"], check=True)
    _mount("--make-rshared", "/")
    words = ["setpriv", f"--bounding-set={DROPPED}", "/sbin/init", "systemd.log_target=console"]
    os.execve("/usr/bin/setpriv", words, {"container": "linuxnode", "PATH": PATH})  # noqa: S606


def _lay_sysctls(settings: Path, shown: Path) -> None:
    """Read-only, but for the network's, which are the namespace's own."""
    _mount("--bind", settings, settings)
    _mount("--bind", settings / "net", settings / "net")
    _mount("-o", "remount,bind,ro", settings)
    for name, value in SYSCTLS.items():
        file = shown / name.replace("/", "_")
        file.write_text(f"{value}\n")
        _mount("--bind", file, settings / name)


def _lay_modules(modules: Path) -> None:
    """The kernel's modules by name, and those built into it that it does not list for want of parameters."""
    names = {each.name for each in modules.iterdir()}
    names |= {name for name, sign in BUILT_IN.items() if Path(sign).exists()}
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", modules)
    for name in names:
        (modules / name).mkdir()
    _mount("-o", "remount,ro", modules)


def _lay_dev(dev: Path, directory: Path) -> None:
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", dev)
    for name in ("pts", "shm"):
        (dev / name).mkdir()
    _mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=620,gid=5", "devpts", dev / "pts")
    _mount("-t", "tmpfs", "tmpfs", dev / "shm")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        (dev / name).touch()
        _mount("--bind", f"/dev/{name}", dev / name)
    os.mknod(dev / "kmsg", 0o600 | 0o020000, os.makedev(1, 11))
    streams = {name: f"/proc/self/fd/{number}" for number, name in enumerate(("stdin", "stdout", "stderr"))}
    for name, target in {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", **streams}.items():
        (dev / name).symlink_to(target)
    for file in (directory / "console.log", dev / "console"):
        file.touch()
    _mount("--bind", directory / "console.log", dev / "console")
