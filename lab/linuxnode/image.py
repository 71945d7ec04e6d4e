"""The disk image of all machines: Debian 12 with systemd and cloud-init, made once into a cache."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "iptables", "nftables", "iproute2", "ethtool", "conntrack", "socat"),
    *("cloud-init", "python3", "kmod", "ca-certificates", "curl", "procps", "util-linux", "mount", "openssl"),
    *("xz-utils", "zstd", "busybox-static"),
)
CACHE = Path(os.environ.get("LINUXNODE_HOME") or Path.home() / ".cache" / "linuxnode")
IMAGE = CACHE / "bookworm-1"
MASKED = (
    *("console-getty.service", "sys-kernel-debug.mount", "sys-kernel-tracing.mount", "sys-kernel-config.mount"),
    *("dev-hugepages.mount", "dev-mqueue.mount", "sys-fs-fuse-connections.mount", "systemd-timesyncd.service"),
    *("systemd-udevd.service", "systemd-udev-trigger.service"),
)
"""Units that need their own kernel; they are masked."""
FILES = {
    # `sysctl --system` fails if it cannot write a setting
    "usr/lib/sysctl.d/50-pid-max.conf": "",
    "usr/lib/sysctl.d/99-protect-links.conf": "",
    "usr/sbin/modprobe": "#!/bin/sh\nexit 0\n",
    "etc/cloud/cloud.cfg.d/99-linuxnode.cfg": (
        "network: {config: disabled}\nlocale: false\ndatasource_list: [NoCloud, None]\n"
    ),
    "etc/machine-id": "",
    "etc/resolv.conf": "",
}


def lacking() -> str:
    """Return why no machine can boot on this host, and the fix; empty if machines can boot."""
    if os.geteuid() != 0:
        return "machines need root; run as root"
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        return "this host has cgroup v2 only; linuxnode needs the hierarchies of cgroup v1"
    missing = [program for program in ("ip", "unshare", "nsenter", "pgrep") if not shutil.which(program)]
    if missing:
        return f"{', '.join(missing)} missing; install with `python -m lab.linuxnode setup`"
    if not (IMAGE / ".ready").exists():
        return f"no disk image {IMAGE}; make it with `python -m lab.linuxnode setup` (a minute)"
    return ""


def setup() -> None:
    """Install missing packages and make the image; does nothing if machines can boot."""
    if not lacking():
        return
    if not (shutil.which("mmdebstrap") and shutil.which("ip")):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], check=True, stdout=sys.stderr)
        packages = ("mmdebstrap", "iproute2", "util-linux", "procps")
        words = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
        subprocess.run(words, check=True, stdout=sys.stderr, env=quiet)
    shutil.rmtree(IMAGE, ignore_errors=True)
    IMAGE.parent.mkdir(parents=True, exist_ok=True)
    sources = [*Path("/etc/apt/sources.list.d").glob("*.sources"), Path("/etc/apt/sources.list")]
    source = next(path for path in sources if path.is_file() and path.stat().st_size)
    words = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
    subprocess.run([*words, "bookworm", str(IMAGE), str(source)], check=True, stdout=sys.stderr)
    for unit in MASKED:
        link = IMAGE / "etc/systemd/system" / unit
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
    for name, text in FILES.items():
        (IMAGE / name).unlink(missing_ok=True)
        (IMAGE / name).write_text(text, encoding="utf-8")
    (IMAGE / "usr/sbin/modprobe").chmod(0o755)
    (IMAGE / ".ready").touch()
