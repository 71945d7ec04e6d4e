"""Sandboxes that can boot: from `up --bootable` to `down` their stack is read with sandbox/boot/lab.yaml over it.

The stack file stays as it is; that it is read so is kept beside the sandbox's world.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.stack_files.stack import CLUSTER
from operations.console.exits import Exit, Stop
from operations.stacks import target


@dataclass(frozen=True)
class As:
    """How a stack is made bootable. kubernetes: in the place of its file's version."""

    kubernetes: str | None = None


def _memory(name: str) -> Path:
    return target.root() / "sandbox" / name / "bootable.json"


def is_chosen(name: str) -> bool:
    """Whether the stack's sandbox is made to boot."""
    return _memory(name).is_file()


def choose(name: str, config: Mapping[str, Any], kubernetes: str | None) -> None:
    """Read the stack so from now on. config: what its file says. kubernetes: in the place of the file's version.

    Stop where the world has machines that were not made to boot, or where programs of the version are missing.
    """
    from sandbox.cloud_state import SERVICES, CloudState

    cluster = config.get(CLUSTER) or {}
    own = str(cluster.get("kubernetes", ""))
    version = kubernetes or own
    refuse_unbootable(name)
    _refuse_unbuilt(cluster, version)
    memory = _memory(name)
    made = memory.with_name("world.db")
    memory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    cloud_state = CloudState(made)
    with cloud_state.transaction():
        cloud_state.set_setting(SERVICES, "http")
    cloud_state.close()
    target.write(memory, json.dumps({"of": own, "kubernetes": version}) + "\n")


def begin(name: str, config: Mapping[str, Any], chosen: As | None) -> None:
    """Before an `up`: read the stack as was chosen; Stop where one that is read so has a version now that is not built.

    config: what its file says.
    """
    cluster = config.get(CLUSTER)
    if chosen:
        choose(name, config, chosen.kubernetes)
    elif is_chosen(name) and isinstance(cluster, Mapping):
        _refuse_unbuilt(cluster, kubernetes(name, str(cluster.get("kubernetes", ""))))


def refuse_unbootable(name: str) -> None:
    """Raise Stop if the stack's sandbox has machines that were not made to boot."""
    if (target.sandbox_folder(name) / "world.db").exists() and not is_chosen(name) and target.in_sandbox(name):
        raise Stop(
            Exit.REFUSED,
            f"stack {name} is in the sandbox with machines that cannot boot: remove them first, "
            f"mullion down {name} --sandbox, then: mullion up {name} --sandbox --bootable",
        )


def _refuse_unbuilt(cluster: Mapping[str, Any], version: str) -> None:
    from lab import cluster as programs

    needs = systems(cluster)
    if not programs.is_built(version, needs):
        raise Stop(
            Exit.FAILED,
            f"the programs of Kubernetes {version} that machines here run ({', '.join(needs)}) are not built; this "
            f"builds them once, in 20 to 60 minutes on two cores: python -m lab cluster {version}. Or boot a "
            f"version that is built: --kubernetes {' | '.join(programs.built(needs)) or '(none is)'}",
        )


def systems(cluster: Mapping[str, Any]) -> tuple[str, ...]:
    """The systems of a `mullion:cluster` object's machines; what has no shape of a pool is none."""
    pools = cluster.get("pools")
    found = pools.values() if isinstance(pools, Mapping) else ()
    windows = any(isinstance(each, Mapping) and str(each.get("os", "")).startswith("windows") for each in found)
    return ("linux", "windows") if windows else ("linux",)


def over(name: str, config: dict[str, Any]) -> dict[str, Any]:
    """The configuration of a stack as its sandbox has it: as its file says, or with what booting needs over that."""
    cluster = config.get(CLUSTER)
    if not is_chosen(name) or not isinstance(cluster, dict):
        return config
    from sandbox.boot.overlay import bootable

    version = kubernetes(name, str(cluster.get("kubernetes", "")))
    other = {} if version == cluster.get("kubernetes") else {"kubernetes": version, "acknowledge": {}}
    return {**config, CLUSTER: bootable({**cluster, **other}, str(_digests(name)))}


def _digests(name: str) -> Path:
    """A file of the digests of all that is built: pools have the old version while a cluster changes it."""
    from lab import cluster as programs

    file = _memory(name).with_name("artifacts.json")
    now = json.dumps(programs.entries(programs.built(programs.LINUX)))
    if not file.is_file() or file.read_text("utf-8") != now:
        target.write(file, now)
    return file


def kubernetes(name: str, own: str) -> str:
    """The version that is booted where the stack file says `own`: another one only until the file changes its mind."""
    path = _memory(name)
    try:
        chosen = json.loads(path.read_text("utf-8"))
        version, of = chosen["kubernetes"], chosen["of"]
        if not isinstance(version, str) or not isinstance(of, str):
            raise TypeError("its values must be text")  # noqa: TRY301 - handled as all that cannot be read
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Stop(
            Exit.REFUSED, f"{path} cannot be read ({error}); write it anew: mullion up {name} --sandbox --bootable"
        ) from None
    return version if of == own else own


def forget(name: str) -> None:
    """Read the stack as its file says."""
    _memory(name).unlink(missing_ok=True)


if __name__ == "__main__":  # `make demo` asks before it builds programs for most of an hour
    try:
        refuse_unbootable(sys.argv[1])
    except Stop as stop:
        print(f"mullion: {stop}", file=sys.stderr)
        sys.exit(stop.code)
