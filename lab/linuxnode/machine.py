"""One machine: namespaces, a root on an overlay of the image, and init; boot, exec, stop."""

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
"""Sysctls with the values that the machine sees; it cannot write those of the host."""
BUILT_IN = {"br_netfilter": "/proc/sys/net/bridge", "overlay": "/proc/self/mountinfo"}
"""Kernel modules that machines load, and a path that exists if this kernel has them built in."""
DROPPED = "-sys_time,-sys_module,-sys_rawio,-sys_boot"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOOT_SECONDS = 300
END_SECONDS = 60
"""Time limits of boot and of the end of processes; far above the usual times, for a busy host."""
_STARTED: dict[int, "subprocess.Popen[Any]"] = {}
"""Machines that this process booted, by process id; it must reap these processes."""


def boot(
    directory: Path,
    netns: str,
    hostname: str,
    user_data: str = "",
    meta_data: str = "",
    target: str = "multi-user.target",
) -> int:
    """Boot the machine in the folder; return 0 once systemd reached the target, or print the reason and return 1.

    hostname: host name of a new machine.
    """
    why = f"{directory} is running" if running(directory) else lacking()
    if why:
        return _say(why)
    seed = directory / "upper/var/lib/cloud/seed/nocloud"
    seed.mkdir(parents=True, exist_ok=True)
    metadata = (
        Path(meta_data).read_bytes()
        if meta_data
        else f"instance-id: i-{hostname}\nlocal-hostname: {hostname}\n".encode()
    )
    (seed / "user-data").write_bytes(Path(user_data).read_bytes() if user_data else b"#cloud-config\n{}\n")
    (seed / "meta-data").write_bytes(metadata)
    (directory / "upper/etc").mkdir(exist_ok=True)
    name = directory / "upper/etc/hostname"
    if name.exists():
        hostname = name.read_text().strip()  # the name that the machine gave itself
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
    """Run a command on the machine; return its exit code."""
    if not running(directory):
        return _say(f"{directory} is not running")
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(command(directory, words), stdout=output, stderr=output, check=False).returncode


def command(directory: Path, words: list[str]) -> list[str]:
    """Return the command line that runs a command on a running machine."""
    environment = ["env", "-i", f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8"]
    return ["nsenter", "-t", init(directory), "-a", "setpriv", f"--bounding-set={DROPPED}", *environment, *words]


def stop(directory: Path) -> int:
    """Cut the power: processes end at once, the disk stays. Return 0, or print leftovers and return 1."""
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
    list_of_groups = directory / "cgroups"
    left = [Path(line) for line in list_of_groups.read_text().splitlines()] if list_of_groups.exists() else []
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
    """Return whether the machine is booted."""
    try:
        words = Path(f"/proc/{(directory / 'pid').read_text()}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # the process id may belong to another process by now; the machine's process has its folder as an argument
    return not words or os.fsencode(directory) in words.split(b"\0")


def init(directory: Path) -> str:
    """Return the process id of its init on this host; empty before it starts."""
    words = ["pgrep", "-P", (directory / "pid").read_text()]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.split("\n")[0]


def _say(text: str) -> int:
    print(f"linuxnode: {text}", file=sys.stderr)
    return 1


def _lives(pid: int) -> bool:
    """Return whether a process runs; a zombie (ended, but not waited for) does not."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except OSError:
        return False


def _remove(group: Path) -> None:
    for child in sorted(group.glob("**/"), key=lambda path: len(path.parts), reverse=True):
        try:
            child.rmdir()
        except OSError:
            continue  # a process in the cgroup has not ended yet


def spawn(directory: Path, netns: str, hostname: str) -> None:
    """In a new process: create cgroups, enter the network and new namespaces, then run `inside`."""
    groups = _cgroups(f"linuxnode-{hostname}-{os.getpid()}")
    (directory / "cgroups").write_text("\n".join(map(str, groups)))
    words = ["nsenter", f"--net=/run/netns/{netns}", "unshare", "-m", "-p", "-u", "-i", "-C", "--fork", "--kill-child"]
    words += ["--propagation", "private", sys.executable, "-m", "lab.linuxnode", "_inside", str(directory), hostname]
    os.execvp("nsenter", words)  # noqa: S606


def _cgroups(name: str) -> list[Path]:
    """Move this process into a new group of each hierarchy, the machine's cgroup root; return the groups."""
    groups: list[Path] = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():  # a copy: moving the process changes the file
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
        groups.append(group)
    for group in groups:
        (group / "cgroup.procs").write_text(str(os.getpid()))
    return groups


def _mount(*words: object) -> None:
    subprocess.run(["mount", *map(str, words)], check=True)


def inside(directory: Path, hostname: str) -> None:
    """As the first process in the machine's namespaces: mount its root, then exec its init."""
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
    for options, name in [*((controller, controller) for controller in CONTROLLERS), ("none,name=systemd", "systemd")]:
        (root / "sys/fs/cgroup" / name).mkdir()
        _mount("-t", "cgroup", "-o", options, "cgroup", root / "sys/fs/cgroup" / name)
    _lay_dev(root / "dev", directory)
    _lay_sysctls(root / "proc/sys", directory / "sysctl")
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root / "run")
    _mount("-t", "tmpfs", "tmpfs", root / "tmp")
    for name in ("containerd", "kubelet", "etcd"):  # not on the overlay: overlayfs refuses an overlay as a layer
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
    """Mount settings read-only, except those of the network, which belong to the namespace."""
    _mount("--bind", settings, settings)
    _mount("--bind", settings / "net", settings / "net")
    _mount("-o", "remount,bind,ro", settings)
    for name, value in SYSCTLS.items():
        file = shown / name.replace("/", "_")
        file.write_text(f"{value}\n")
        _mount("--bind", file, settings / name)


def _lay_modules(modules: Path) -> None:
    """List the kernel's modules, and built-in ones that it does not list because they have no parameters."""
    names = {module.name for module in modules.iterdir()}
    names |= {name for name, path in BUILT_IN.items() if Path(path).exists()}
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
