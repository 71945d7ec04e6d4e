"""linuxnode: throw-away Linux machines at native speed: systemd as PID 1, real cloud-init, own network, no VM.

  python -m lab.linuxnode setup          install what is missing and make the disk image (Debian 12, a minute, once)
  ... net up NET CIDR                      a bridge in a network namespace NET, no way out; it has CIDR's first address
  ... net add NET NODE ADDRESS             a network namespace NET-NODE with eth0 = ADDRESS
  ... net down NET                         end the bridge and all that was added to it
  ... boot DIR NETNS HOSTNAME [USER_DATA [META_DATA [TARGET]]]
                                           boot the machine in DIR (made if new); cloud-init gets the files as NoCloud
                                           seed; returns when systemd reached TARGET (multi-user.target)
  ... exec DIR COMMAND...                  run a command on it; its exit code is returned
  ... stop DIR                             a cut of power: its processes end at once, its disk stays; boot it again

The machine's disk is an overlay: DIR/upper holds what it wrote (put files there before it boots, not while it runs);
DIR/var/{containerd,kubelet,etcd} are its /var/lib directories of those names; DIR/console.log is its console.
Root is needed, and a machine with cgroup v1 hierarchies. The image is kept in LINUXNODE_HOME (~/.cache/linuxnode).
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
    # Of its own, in processes that it starts.
    ("_spawn",): lambda folder, *rest: machine.spawn(Path(folder), *rest),
    ("_inside",): lambda folder, hostname: machine.inside(Path(folder), hostname),
}


def main(words: list[str]) -> int:
    """Do what the words say; 2 where they say nothing."""
    for name, command in COMMANDS.items():
        if tuple(words[: len(name)]) == name:
            return command(*words[len(name) :]) or 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
