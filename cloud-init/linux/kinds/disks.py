"""A disk of the machine's own for one folder, which a service must not use while the disk is missing.

The unit of the mount is also the machine's record: it names the UUID of the file system before mkfs makes it. So the
machine formats a disk once, recognises its own file system at every later run, and never touches another one.
"""

import os
import re
import uuid
from pathlib import Path

from failure import Failure
from run import Run, Step
from writing import write_whole

from kinds import services
from kinds.files import MODES
from kinds.kubeadm import BEGUN

UUID = re.compile(r"^What=/dev/disk/by-uuid/(\S+)$", re.MULTILINE)
OPTIONS = "noatime,nodev,nosuid,noexec,errors=remount-ro"
"""errors: mkfs.ext4 sets `continue`, and etcd would write on over damaged metadata (ext4(5))."""
BLANK = 1 << 20
"""Bytes at the start of a new disk that must be zero; every cloud hands out disks of zeros."""
NOTHING = 2
"""Exit code of blkid for a device without a file system, partition table or other signature (blkid(8))."""
GUARD = "member"
"""File in the folder below the mount, where etcd wants to make a folder: without the disk it cannot start empty."""

UNIT = """[Unit]
Description=Disk of {path}

[Mount]
What=/dev/disk/by-uuid/{uuid}
Where={path}
Type=ext4
Options={options}

[Install]
WantedBy=local-fs.target
"""
DROP_IN = """[Unit]
Requires={unit}
After={unit}
AssertPathIsMountPoint={path}
"""


def disk_holds(run: Run, step: Step) -> bool:
    """Return whether the disk is mounted now and at boot. A machine that joined without one keeps the root disk."""
    unit, known = unit_name(step), recorded(run, step)
    if not known:
        return run.path(step["joined"]).exists()
    written = services.unit_written(run, unit, text_of(step, known)) and services.unit_written(run, *drop_in(step))
    return written and services.ready(run, unit) and mounted(run, step, known)


def make_disk(run: Run, step: Step) -> None:
    """Format the disk if it is new, mount it, and tie the mount and the service together."""
    known = recorded(run, step)
    device, unit = found(run, step), unit_name(step)
    blank = refuse_used(run, device, known)
    if blank and known and served(run, step):
        lost = f"{device} is empty, but this machine's {step['path']} was on {known}"
        raise Failure("disk-used", f"{lost}: replace the machine, or attach the former disk")
    known = known or str(uuid.uuid4())
    services.write_unit(run, unit, text_of(step, known))
    if blank:
        run.command("mkfs.ext4", "-q", "-m", "0", "-U", known, "-L", "mullion-etcd", str(device))
    if not mounted(run, step, known):
        guard(run, step)
        run.command("mount", "-t", "ext4", "-o", OPTIONS, str(device), str(run.path(step["path"])))
    clean(run, step)
    services.write_unit(run, *drop_in(step))
    run.command("systemctl", "daemon-reload")
    run.command("systemctl", "enable", "--quiet", unit)
    if run.path(step["joined"]).exists():
        # it did not start at boot without the mount, and systemd does not try again
        run.command("systemctl", "start", f"{step['service']}.service")


def served(run: Run, step: Step) -> bool:
    """Return whether the machine has joined, or began to: then its disk has had data, and an empty one is another."""
    return any(run.path(step["joined"] + ending).exists() for ending in ("", BEGUN))


def found(run: Run, step: Step) -> Path:
    """Return the device. Raise Failure disk-missing if the machine does not have it."""
    try:
        paths = run.cloud.disk(run, step["disk"])
    except (OSError, ValueError, LookupError) as error:
        raise Failure("disk-missing", f"{step['disk']}: {type(error).__name__}: {error}") from None
    existing = [run.path(each) for each in paths if run.path(each).exists()]
    if not existing:
        raise Failure("disk-missing", f"the machine has none of {', '.join(paths)}, for {step['path']}")
    return existing[0].resolve()


def refuse_used(run: Run, device: Path, known: str) -> bool:
    """Return whether to format the device. Raise Failure disk-used if it has anything that this machine did not write.

    known: UUID of the file system that this machine has made or began to make; empty if none.
    """
    said = run.command("blkid", "--probe", "--output", "export", str(device), check=False)
    if said.returncode == 0:
        has = dict(line.split("=", 1) for line in said.stdout.splitlines() if "=" in line)
        if known and has.get("UUID") == known and has.get("TYPE") == "ext4":
            return False
        kind = has.get("TYPE") or has.get("PTTYPE") or "data"
        raise Failure("disk-used", f"{device} has {kind} {has.get('UUID') or has.get('PTUUID', '')} of somebody else")
    if said.returncode != NOTHING:
        raise Failure("disk-used", f"blkid cannot tell what {device} has: {said.stderr.strip()[-300:]}")
    with device.open("rb") as file:
        if not known and any(file.read(BLANK)):
            raise Failure("disk-used", f"{device} has no file system, but its first {BLANK} bytes are not all zero")
    return True


def guard(run: Run, step: Step) -> None:
    """Put a file below the mount, so that the service cannot begin anew there. Raise Failure disk-used for data."""
    folder = run.path(step["path"])
    place = folder / GUARD
    if place.is_dir():
        raise Failure("disk-used", f"{place} has data on the root disk, which the mount would hide")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(place, f"The disk of {step['path']} is not mounted.\n".encode(), MODES["private"])


def clean(run: Run, step: Step) -> None:
    """Remove mkfs's folder: kubeadm joins only with an empty folder (kubeadm, DirAvailable in preflight/checks.go)."""
    folder = run.path(step["path"])
    if (folder / "lost+found").is_dir() and not any((folder / "lost+found").iterdir()):
        (folder / "lost+found").rmdir()
    folder.chmod(0o700)


def mounted(run: Run, step: Step, known: str) -> bool:
    """Return whether the file system with this UUID is mounted on the folder.

    f_fsid of ext4 is made of the UUID (Linux, ext4_statfs in fs/ext4/super.c, uuid_to_fsid).
    """
    folder, parts = run.path(step["path"]), uuid.UUID(known).bytes
    expected = int.from_bytes(parts[:8], "little") ^ int.from_bytes(parts[8:], "little")
    return folder.is_dir() and os.statvfs(folder).f_fsid == expected


def recorded(run: Run, step: Step) -> str:
    """Return the UUID in the mount's unit; empty if there is no unit."""
    file = services.unit_path(run, unit_name(step))
    known = UUID.search(file.read_text()) if file.exists() else None
    return known[1] if known else ""


def text_of(step: Step, known: str) -> str:
    """Return the unit of the mount."""
    return UNIT.format(path=step["path"], uuid=known, options=OPTIONS)


def drop_in(step: Step) -> tuple[str, str]:
    """Return name and text of the service's drop-in, which does not let it start without the mount."""
    text = DROP_IN.format(unit=unit_name(step), path=step["path"])
    return f"{step['service']}.service.d/mullion-disk.conf", text


def unit_name(step: Step) -> str:
    """Return the mount's unit, named as systemd escapes its path (systemd.unit(5), String Escaping)."""
    letters = (each if each.isalnum() or each in ":_./" else f"\\x{ord(each):02x}" for each in step["path"].strip("/"))
    return f"{''.join(letters).replace('/', '-')}.mount"
