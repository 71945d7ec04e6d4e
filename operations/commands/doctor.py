"""`mullion doctor`: whether this machine has what the commands need, and what each stack is."""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from components.plan import plan_cluster
from components.spec.report import SpecError
from operations.console.exits import EngineError, Exit, Stop
from operations.engine import failures, locate, locks, workspace
from operations.recovery import recovery, state_check
from operations.stacks import stack_files, target
from operations.stacks.paths import REPOSITORY

OLDEST_PYTHON = (3, 10)
PACKAGES = ("pulumi", "pulumi-aws", "pydantic", "typer", "rich", "PyYAML", "cryptography")
LEAST_DISK = 2**30
"""Bytes: an engine build, the plugins of one cloud and some states."""


@dataclass(frozen=True)
class Finding:
    """One thing looked at: `fault` says what is wrong and what to do, or is empty."""

    what: str
    fault: str = ""


def doctor(stack: str | None) -> None:
    """Print everything found; Stop where something is wrong."""
    faults = 0
    for look in LOOKS:
        faults += _print(look())
    if stack:
        faults += _print(_stack(stack))
        faults += _print(_run(stack))
    if faults:
        raise Stop(Exit.FAILED, f"{faults} {'thing is' if faults == 1 else 'things are'} wrong")


def _print(findings: Iterator[Finding]) -> int:
    faults = 0
    for each in findings:
        print(f"{'wrong' if each.fault else 'ok':<6} {each.what}")
        if each.fault:
            faults += 1
            print("".join(f"       {line}\n" for line in each.fault.splitlines()), end="")
    return faults


def _python() -> Iterator[Finding]:
    fault = "" if sys.version_info >= OLDEST_PYTHON else f"Python {locate.dotted(OLDEST_PYTHON)} or newer is needed"
    yield Finding(f"Python {platform.python_version()}", fault)
    found = {name: _version(name) for name in PACKAGES}
    missing = [name for name, version in found.items() if not version]
    there = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    yield Finding(f"packages: {there}", f"missing: {', '.join(missing)}; `make venv` installs them" if missing else "")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _engine() -> Iterator[Finding]:
    notes: list[str] = []
    try:
        found = locate.installed(notes.append)
    except EngineError as error:
        yield Finding("engine", str(error))
        return
    passed_over = "".join(f"\n       {note.removeprefix('mullion: ')}" for note in notes)
    if found:
        yield Finding(f"engine {found.version} from {found.origin.value}: {found.path}{passed_over}")
    else:
        yield Finding("engine", f"there is none on this machine; `make engine` builds one{passed_over}")


def _plugins() -> Iterator[Finding]:
    from sandbox.home import CLOUDS, provider_version

    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    for part in CLOUDS.values():
        if not _version(part.sdk.replace("_", "-")):
            continue
        version = provider_version(part.sdk)
        there = (home / "plugins" / f"resource-{part.provider}-v{version}").is_dir()
        real = "installed" if there else "the engine downloads it at the first `up` in an account"
        yield Finding(f"provider {part.provider} {version}: the sandbox brings its own; the real one: {real}")


def _backend() -> Iterator[Finding]:
    url = workspace.backend()
    yield Finding(f"backend for real accounts: {url or 'none yet (pulumi login); the sandbox needs none'}")


def _worlds() -> Iterator[Finding]:
    for name in stack_files.names():
        try:
            world = target.recall(name)
        except Stop as error:
            yield Finding(f"stack {name}", str(error))
            continue
        folder = target.root() / "sandbox" / name / "state"
        fault = f"locked; `mullion doctor {name}` says by whom" if locks.held(name, folder.as_uri()) else ""
        yield Finding(f"stack {name}: {f'in {world}' if world else 'not built'}", fault)


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(REPOSITORY).free
    fault = "" if free >= LEAST_DISK else "less than 1 GiB is free; make room"
    yield Finding(f"disk: {free / 2**30:.1f} GiB free", fault)


def _stack(name: str) -> Iterator[Finding]:
    try:
        stack = stack_files.load(name)
        planned = plan_cluster(name, stack.spec)
    except SpecError as error:
        yield Finding(f"spec of {name}", str(error))
        return
    open_warnings = [str(each) for each in stack.warnings if each.acknowledged is None]
    text = "".join(f"\n       {each}" for each in open_warnings)
    yield Finding(f"spec of {name}: {len(planned.machines)} machines, {len(open_warnings)} open warnings{text}")


def _run(name: str) -> Iterator[Finding]:
    """What the last run left: locks, operations that were cut off, and where state and world differ."""
    try:
        yield from _left(name)
    except Stop as error:
        yield Finding(f"last run of {name}", str(error))


def _left(name: str) -> Iterator[Finding]:
    world, found = target.recall(name), locate.installed(lambda _: None)
    if world is None or found is None:
        return
    sandbox = world.name == target.SANDBOX
    with workspace.opened(name, found, sandbox=sandbox) as place, failures.reported(name):
        locked, broken = locks.held(name, workspace.backend()), locks.broken(name, workspace.backend())
        for path in broken:
            yield Finding(f"state of {name}", f"{path} was half written; the next `mullion up {name}` takes it away")
        if broken:
            return
        run = workspace.existing(name, place)
        deployment = recovery.export(run)["deployment"] if run else {}
    for lock in locked:
        gone = f"its run is gone; the next `mullion up {name}` takes it away"
        yield Finding(f"lock of {name}: {lock}", gone if lock.dead else "a run is under way")
    pending = deployment.get("pending_operations") or []
    for each in pending:
        yield Finding(f"{each['type']} {recovery.named(each['resource'])} was cut off", _remedy(name, sandbox))
    if sandbox and not pending and not locked:
        faults = state_check.faults(name, deployment.get("resources") or [])
        yield Finding(f"state and world of {name} {'differ' if faults else 'agree'}", "\n".join(faults))


def _remedy(name: str, sandbox: bool) -> str:
    return f"the next `mullion up {name}` {'looks for it in the world' if sandbox else 'says how to look for it'}"


LOOKS: tuple[Callable[[], Iterator[Finding]], ...] = (_python, _engine, _plugins, _backend, _worlds, _disk)
