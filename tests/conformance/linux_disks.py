"""Areas `disks` and `mounts` of a case: files with real file systems, mounted in the machine's own namespace."""

from tests.conformance.linux_machine import LinuxMachine

MIB = 64
USED = {
    "ext4": 'mkfs.ext4 -q -U 11111111-2222-3333-4444-555555555555 "$0"',
    "swap": 'mkswap --quiet "$0"',
}
"""Commands that give a disk what it has, by blkid's name for that."""
TABLE = bytes(446) + bytes([0, 0, 2, 0, 0x83, 0, 0, 0, *(2048).to_bytes(4, "little"), *(4096).to_bytes(4, "little")])
TABLE = TABLE.ljust(510, b"\0") + b"\x55\xaa"
"""Partition table of a master boot record with one Linux partition; blkid calls it dos."""


def set_disks(machine: LinuxMachine, wanted: dict[str, str]) -> None:
    """Create disks of MIB MiB, empty or with what USED makes; `missing` removes one."""
    for path, has in wanted.items():
        machine.place(path).unlink(missing_ok=True)
        if has == "dos":
            machine.write(path, TABLE)
        if has != "missing":
            machine.call("truncate", f"--size={MIB}M", path)
        if has in USED:
            machine.call("sh", "-c", USED[has], path)


def disks(machine: LinuxMachine) -> dict[str, str]:
    """Return what blkid finds on each file in the case's folder that is a disk."""
    found: dict[str, str] = {}
    for file in machine.place("/srv/case").glob("disk*"):
        path = f"/srv/case/{file.name}"
        said = machine.call("sh", "-c", 'blkid --probe --output export "$0" || test $? = 2', path)
        has = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
        found[path] = has.get("TYPE") or has.get("PTTYPE") or "empty"
    return found


def set_mounts(machine: LinuxMachine, wanted: dict[str, bool]) -> None:
    """Unmount folders; only steps mount them."""
    for path, mounted in wanted.items():
        assert not mounted, "a case starts without a mount, or with one that a run made"
        machine.call("umount", path)


def mounts(machine: LinuxMachine) -> dict[str, bool]:
    """Return whether each folder in the case's folder has another file system than the folder."""
    top = machine.place("/srv/case")
    folders = [each for each in top.iterdir() if each.is_dir()]
    return {f"/srv/case/{each.name}": each.stat().st_dev != top.stat().st_dev for each in folders}
