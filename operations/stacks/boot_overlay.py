"""Bootable sandboxes: from `up --bootable` to `down`, sandbox/boot/lab.yaml overrides the stack file.

The stack file is not changed; `bootable.json` in the sandbox's folder records the choice.
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
    """Choices of `up --bootable`. kubernetes: overrides the stack file's version."""

    kubernetes: str | None = None


def _memory(name: str) -> Path:
    return target.root() / "sandbox" / name / "bootable.json"


def is_chosen(name: str) -> bool:
    """Return whether the stack's sandbox was created bootable."""
    return _memory(name).is_file()


def choose(name: str, config: Mapping[str, Any], kubernetes: str | None) -> None:
    """Apply the bootable overlay from now on. config: of the stack file. kubernetes: overrides the file's version.

    Raises Stop if the sandbox has machines that cannot boot, or if the version's programs are not built.
    """
    from sandbox.cloud_state import SERVICES, CloudState

    cluster = config.get(CLUSTER) or {}
    own = str(cluster.get("kubernetes", ""))
    version = kubernetes or own
    refuse_unbootable(name)
    refuse_unbuilt(cluster, version)
    memory = _memory(name)
    database = memory.with_name("world.db")
    memory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    cloud_state = CloudState(database)
    with cloud_state.transaction():
        cloud_state.set_setting(SERVICES, "http")
    cloud_state.close()
    target.write(memory, json.dumps({"of": own, "kubernetes": version}) + "\n")


def begin(name: str, config: Mapping[str, Any], chosen: As | None) -> None:
    """Apply the bootable overlay if requested now or earlier. config: of the stack file.

    Raises Stop if the programs of its Kubernetes version are not built.
    """
    cluster = config.get(CLUSTER)
    if chosen:
        choose(name, config, chosen.kubernetes)
    elif is_chosen(name) and isinstance(cluster, Mapping):
        refuse_unbuilt(cluster, kubernetes(name, str(cluster.get("kubernetes", ""))))


def refuse_unbootable(name: str) -> None:
    """Raise Stop if the stack's sandbox has machines that were not created bootable."""
    if (target.sandbox_folder(name) / "world.db").exists() and not is_chosen(name) and target.in_sandbox(name):
        raise Stop(
            Exit.REFUSED,
            f"stack {name} is in the sandbox with machines that cannot boot: remove them first, "
            f"mullion down {name} --sandbox, then: mullion up {name} --sandbox --bootable",
        )


def refuse_unbuilt(cluster: Mapping[str, Any], version: str, option: str = "--kubernetes ") -> None:
    """Raise Stop if the programs of a version are not built.

    cluster: a `mullion:cluster` object. option: what the user writes before another version.
    """
    from lab import cluster as programs

    needs = systems(cluster)
    if not programs.is_built(version, needs):
        raise Stop(
            Exit.FAILED,
            f"the programs of Kubernetes {version} that machines here run ({', '.join(needs)}) are not built. To build "
            f"them once, in 20 to 60 minutes on two cores: python -m lab cluster {version}. Or boot a "
            f"version that is built: {option}{' | '.join(programs.built(needs)) or '(none is)'}",
        )


def systems(cluster: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the operating systems of a `mullion:cluster` object's machines; malformed pools are ignored."""
    pools = cluster.get("pools")
    found = pools.values() if isinstance(pools, Mapping) else ()
    windows = any(isinstance(each, Mapping) and str(each.get("os", "")).startswith("windows") for each in found)
    return ("linux", "windows") if windows else ("linux",)


def over(name: str, config: dict[str, Any]) -> dict[str, Any]:
    """Return a stack's configuration with the bootable overlay, if it is chosen."""
    cluster = config.get(CLUSTER)
    if not is_chosen(name) or not isinstance(cluster, dict):
        return config
    from sandbox.boot.overlay import bootable

    version = kubernetes(name, str(cluster.get("kubernetes", "")))
    other = {} if version == cluster.get("kubernetes") else {"kubernetes": version, "acknowledge": {}}
    return {**config, CLUSTER: bootable({**cluster, **other}, str(_digests(name)))}


def _digests(name: str) -> Path:
    """Return a file with the digests of all built versions: during an upgrade, pools still run the old version."""
    from lab import cluster as programs

    file = _memory(name).with_name("artifacts.json")
    now = json.dumps(programs.entries(programs.built(programs.LINUX)))
    if not file.is_file() or file.read_text("utf-8") != now:
        target.write(file, now)
    return file


def kubernetes(name: str, own: str) -> str:
    """Return the version to boot. `--kubernetes` overrides `own`, the stack file's version, until the file's version
    changes.
    """
    path = _memory(name)
    try:
        chosen = json.loads(path.read_text("utf-8"))
        version, file_version = chosen["kubernetes"], chosen["of"]
        if not isinstance(version, str) or not isinstance(file_version, str):
            raise TypeError("its values must be text")  # noqa: TRY301 - one message for every unreadable file
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Stop(
            Exit.REFUSED, f"{path} cannot be read ({error}); to write it again: mullion up {name} --sandbox --bootable"
        ) from None
    return version if file_version == own else own


def forget(name: str) -> None:
    """Stop applying the bootable overlay."""
    _memory(name).unlink(missing_ok=True)


if __name__ == "__main__":  # `make demo` checks this before it builds programs for up to an hour
    try:
        refuse_unbootable(sys.argv[1])
    except Stop as stop:
        print(f"mullion: {stop}", file=sys.stderr)
        sys.exit(stop.code)
