"""Real clusters: `mullion up --sandbox` creates a stack merged with lab.yaml, and its machines really boot."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import yaml

from lab import cluster as programs
from operations.console.exits import Exit
from operations.stacks.paths import REPOSITORY
from sandbox.aws.network import INSTANCE
from sandbox.boot.host_lock import lock_host
from sandbox.boot.machine import Machine
from sandbox.boot.network import BootedCluster, booted_cluster
from sandbox.boot.overlay import bootable
from sandbox.boot.windows import hosts
from tests import clones

THREE: dict[str, Any] = {
    "cloud": "aws",
    "control_plane": {"count": 3},
    "network": {"zones": 3},
    "pools": {"linux": {"os": "ubuntu-24.04", "count": 1}},
}
"""A small version of aws-prod."""
CLUSTERS: dict[str, dict[str, Any]] = {
    "three": THREE,
    "mixed": {**THREE, "pools": {**THREE["pools"], "web": {"os": "windows-2022", "count": 1}}},
}
"""Clusters that have no file in stacks/, by stack name."""


def stack_file(name: str, kubernetes: str, artifacts: Path) -> dict[str, Any]:
    """Return a stack of the repository or of CLUSTERS with this Kubernetes version and the settings for booting here.
    artifacts: file of digests."""
    file = REPOSITORY / "stacks" / f"Pulumi.{name}.yaml"
    if file.is_file():
        whole = yaml.safe_load(file.read_text(encoding="utf-8"))
    else:
        whole = {"config": {"aws:region": "eu-west-1", "mullion:cluster": CLUSTERS[name]}}
    # warnings accepted for the stack's own version may differ from those of this version
    cluster = {**whole["config"]["mullion:cluster"], "kubernetes": kubernetes, "acknowledge": {}}
    return {"config": {**whole["config"], "mullion:cluster": bootable(cluster, str(artifacts))}}


def boot(machines: Sequence[Machine], seconds: float) -> None:
    """Boot machines one after the other, and wait until each is ready."""
    for each in machines:
        each.boot()
    for each in machines:
        each.until("ready", seconds)


def booted_mixed(booted: BootedCluster, missing: Callable[[str, str], NoReturn], seconds: float) -> BootedCluster:
    """Boot all machines of the cluster `mixed` at once, and wait until each is ready, the Windows worker registered."""
    (web,) = booted.machine_names("web")
    if why := hosts.why_not(web):
        missing("winpwsh", why)
    pools = ("control-plane", "linux", "web")
    machines = [booted.machine(name) for pool in pools for name in booted.machine_names(pool)]
    with ThreadPoolExecutor(len(machines)) as at_once:
        list(at_once.map(lambda each: each.boot(), machines))
    for each in machines:
        each.until("registered" if each.name == web else "ready", seconds)
    return booted


IN_CLONE = """
import sys
from pathlib import Path
from operations.engine import workspace
from operations.stacks import boot_site, stack_files, target
folder, api = Path(sys.argv.pop(1)), sys.argv.pop(1)
for module in (stack_files, target, workspace):
    module.REPOSITORY = folder
if api:
    boot_site.api = lambda name: api
from operations.__main__ import main
main()
"""
"""The command as a separate process. First arguments: the clone's folder, and the API's URL on this host or ""."""


def in_clone(folder: Path, *words: str, api: str = "") -> list[str]:
    """Return the words of a process that runs a command in a clone. api: the API's URL on this host, if it is known."""
    return [sys.executable, "-c", IN_CLONE, str(folder), api, *words]


def renewed(booted: BootedCluster, *words: str, ends: Exit = Exit.OK, gated: bool = False) -> list[Machine]:
    """Run a command that replaces machines and waits for them; boot the new ones with empty disks as they appear.

    gated: let the program treat the machines as those of a cloud: its gates read their status records.
    """
    folder = booted.folder.parent
    instances = {name: machine.record.id for name, machine in booted.machines.items()}
    machines: list[Machine] = []
    argv = in_clone(folder, *words, api=booted.api if gated else "")
    with (
        (folder / "command.log").open("w+", encoding="utf-8") as log,
        subprocess.Popen(
            argv,
            cwd=REPOSITORY,
            env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        ) as command,
    ):
        while command.poll() is None:
            for record in booted.cloud_state.resources(INSTANCE):
                name = booted.document(record)["machine"]["name"]
                if instances.get(name, record.id) != record.id:
                    instances[name] = record.id
                    booted.remove(name)
                    machines.append(booted.machine(name))
                    machines[-1].boot()
            time.sleep(0.2)
        log.seek(0)
        assert command.returncode == ends, log.read()
    return machines


def change(
    booted: BootedCluster,
    stack: str,
    edit: Callable[[dict[str, Any]], None],
    *,
    ends: Exit = Exit.OK,
    gated: bool = False,
) -> None:
    """Edit the stack's cluster and run `mullion up`, which replaces no machine."""
    place = booted.folder.parent / "stacks" / f"Pulumi.{stack}.yaml"
    whole = yaml.safe_load(place.read_text(encoding="utf-8"))
    edit(whole["config"]["mullion:cluster"])
    place.write_text(yaml.safe_dump(whole), encoding="utf-8")
    assert renewed(booted, "up", stack, "--sandbox", "--yes", ends=ends, gated=gated) == []


@contextmanager
def running(folder: Path, name: str, kubernetes: str, *later: str) -> Iterator[BootedCluster]:
    """Create a stack's cloud, in which no machine has booted. later: more versions that its machines can download."""
    folder.mkdir(exist_ok=True)
    versions, file = (kubernetes, *later), folder / "artifacts.json"
    file.write_text(json.dumps(programs.entries(versions)), encoding="ascii")
    with lock_host():
        cloud_state = clones.up(folder, name, yaml.safe_dump(stack_file(name, kubernetes, file)))
        net = f"lab{os.getpid()}{name[:2]}"
        with booted_cluster(cloud_state, net, folder / "machines", versions) as here:
            yield here
        cloud_state.close()
        shutil.rmtree(folder / "machines")  # each disk contains a gigabyte of images
