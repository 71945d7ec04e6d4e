"""linuxnode: disposable Linux machines in namespaces, without a VM: systemd as PID 1, cloud-init, own network.

  python -m lab.linuxnode setup          install missing packages and make the disk image (Debian 12; once, a minute)
  ... net up NET CIDR                      add namespace NET with a bridge without uplink, at CIDR's first address
  ... net add NET NODE ADDRESS             add namespace NET-NODE with eth0 = ADDRESS
  ... net down NET                         remove the namespaces of NET
  ... boot DIR NETNS HOSTNAME [USER_DATA [META_DATA [TARGET]]]
                                           boot the machine in DIR, with a new disk if DIR has none; the files are
                                           cloud-init's NoCloud seed; returns when systemd reached TARGET
                                           (multi-user.target)
  ... exec DIR COMMAND...                  run a command on it; returns its exit code
  ... stop DIR                             cut its power: its processes end at once, its disk stays

The machine's disk is an overlay: DIR/upper holds its changes (add files there before a boot, not while it runs);
DIR/var/{containerd,kubelet,etcd} are its /var/lib directories of those names; DIR/console.log is its console.
Needs root and a host with cgroup v1 hierarchies. The image is in LINUXNODE_HOME (~/.cache/linuxnode).
"""

import sys
from collections.abc import Callable
from pathlib import Path

from lab.linuxnode import image, machine, network

COMMANDS: dict[tuple[str, ...], Callable[..., int | None]] = {
    ("setup",): image.setup,
    ("net", "up"): network.up,
    ("net", "add"): network.add,
    ("net", "down"): network.down,
    ("boot",): lambda folder, *rest: machine.boot(Path(folder).absolute(), *rest),
    ("exec",): lambda folder, *words: machine.execute(Path(folder).absolute(), list(words)),
    ("stop",): lambda folder: machine.stop(Path(folder).absolute()),
    # run by machine.boot in new processes
    ("_spawn",): lambda folder, *rest: machine.spawn(Path(folder), *rest),
    ("_inside",): lambda folder, hostname: machine.inside(Path(folder), hostname),
}


def main(words: list[str]) -> int:
    """Run a command; return its exit code, or 2 for an unknown command."""
    for name, command in COMMANDS.items():
        if tuple(words[: len(name)]) == name:
            return command(*words[len(name) :]) or 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
