"""`mullion doctor`: checks that this machine has all that the commands need, and the state of each stack."""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata

from components.checks import TO_ACKNOWLEDGE
from components.plan import ClusterPlan, plan_cluster
from components.rollout import session_commands
from components.spec.choices import MachineAccess
from components.spec.report import SpecError
from operations.clouds import cloud_tables, identity
from operations.commands import account_check, issuer_documents, pin_images, readiness
from operations.console.exits import EngineError, Exit, Stop
from operations.engine import failures, locate, locks, workspace
from operations.recovery import recovery, state_check
from operations.stacks import account, stack_files, target
from operations.stacks.paths import REPOSITORY

OLDEST_PYTHON = (3, 10)
PACKAGES = (
    *("pulumi", "pulumi-aws", "pulumi-azure-native", "pulumi-gcp", "pulumi-policy", "pydantic", "typer", "rich"),
    *("PyYAML", "cryptography", "httpx", "websockets"),
)
LARGE_STATE = 50
"""Machines from which `doctor` says what their state costs in a backend of files: then 2 MB (docs/proof-log.md)."""
COMPRESSION = tuple(f"PULUMI_{each}_{by}" for each in ("DIY_BACKEND", "SELF_MANAGED_STATE") for by in ("GZIP", "ZSTD"))
"""Variables by which the engine compresses the state in a backend of files (sdk/go/common/env/env.go of Pulumi)."""
LEAST_DISK = 2**30
"""Bytes of free disk: for an engine build, the plugins of one cloud and some states."""


@dataclass(frozen=True)
class Finding:
    """One check: `fault` says what is wrong and how to fix it, or is empty. note: a warning, not a fault."""

    what: str
    fault: str = ""
    note: bool = False


def doctor(stack: str | None) -> None:
    """Print all findings. Raises Stop if one has a fault."""
    faults = 0
    for check in CHECKS:
        faults += _print(check())
    if stack:
        faults += _print(_stack(stack))
        faults += _print(_run(stack))
    if faults:
        raise Stop(Exit.FAILED, f"{faults} {'check' if faults == 1 else 'checks'} failed")


def _print(findings: Iterator[Finding]) -> int:
    faults = 0
    for finding in findings:
        print(f"{'wrong' if finding.fault else 'note' if finding.note else 'ok':<6} {finding.what}")
        if finding.fault:
            faults += 1
            print("".join(f"       {line}\n" for line in finding.fault.splitlines()), end="")
    return faults


def _python() -> Iterator[Finding]:
    fault = "" if sys.version_info >= OLDEST_PYTHON else f"Python {locate.dotted(OLDEST_PYTHON)} or newer is needed"
    yield Finding(f"Python {platform.python_version()}", fault)
    versions = {name: _version(name) for name in PACKAGES}
    missing = [name for name, version in versions.items() if not version]
    installed = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    yield Finding(
        f"packages: {installed}", f"missing: {', '.join(missing)}; `make venv` installs them" if missing else ""
    )


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _engine() -> Iterator[Finding]:
    notes: list[str] = []
    try:
        engine = locate.installed(notes.append)
    except EngineError as error:
        yield Finding("engine", str(error))
        return
    skipped = "".join(f"\n       {note.removeprefix('mullion: ')}" for note in notes)
    if engine:
        yield Finding(f"engine {engine.version} from {engine.origin.value}: {engine.path}{skipped}")
    else:
        yield Finding("engine", f"no Pulumi engine on this machine; `make engine` builds one{skipped}")


def _plugins() -> Iterator[Finding]:
    from sandbox.home import CLOUDS

    for cloud, facts in CLOUDS.items():
        if not _version(facts.sdk.replace("_", "-")):
            continue
        provider, version, installed = readiness.plugin(cloud)
        plugin = "is installed" if installed else "is downloaded by the engine at the first `up` in an account"
        yield Finding(f"provider {provider} {version}: its plugin {plugin}; the sandbox has its own")


def _backend() -> Iterator[Finding]:
    url = workspace.backend()
    yield Finding(f"backend for real accounts: {url or 'none yet (pulumi login); the sandbox needs none'}")


def _stacks() -> Iterator[Finding]:
    for name in stack_files.names():
        try:
            place = target.recall(name)
        except Stop as error:
            yield Finding(f"stack {name}", str(error))
            continue
        folder = target.root() / "sandbox" / name / "state"
        fault = f"locked; `mullion doctor {name}` says by whom" if locks.of_stack(name, folder.as_uri()) else ""
        yield Finding(f"stack {name}: {f'in {place}' if place else 'not built'}", fault)


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(REPOSITORY).free
    fault = "" if free >= LEAST_DISK else "less than 1 GiB is free; delete files"
    yield Finding(f"disk: {free / 2**30:.1f} GiB free", fault)


def _stack(name: str) -> Iterator[Finding]:
    try:
        stack = stack_files.load(name)
        planned = plan_cluster(name, stack.spec)
    except SpecError as error:
        yield Finding(f"spec of {name}", str(error))
        return
    open_warnings = [str(warning) for warning in stack.warnings if warning.acknowledged is None]
    text = "".join(f"\n       {line}" for warning in open_warnings for line in warning.splitlines())
    count = "1 open warning" if len(open_warnings) == 1 else f"{len(open_warnings)} open warnings"
    stopping = [each.id for each in stack.warnings if each.acknowledged is None and each.id in TO_ACKNOWLEDGE]
    fault = f"`up` stops unless these are acknowledged: {', '.join(stopping)}" if stopping else ""
    what = f"spec of {name}: {len(planned.machines)} machines, {count}{text}"
    yield Finding(what, fault, note=bool(open_warnings))
    yield _images(planned)
    yield from _uncompressed(planned)
    yield from _account(name, planned, stack.region)


def _images(planned: ClusterPlan) -> Finding:
    """Return how many of the images that machines start have a digest: a tag can be moved to another image."""
    names, always = pin_images.images(planned)
    free = [image for image in names if image not in planned.spec.artifacts.images]
    counts = f"container images: {len(names) - len(free)} by digest, {len(free) + len(always)} by tag"
    advice = f"; {target.command('pin images', planned.name)} pins {len(free)}" if free else ""
    return Finding(counts + advice, note=bool(free))


def _uncompressed(planned: ClusterPlan) -> Iterator[Finding]:
    """Yield a note if a backend of files will keep the state of many machines uncompressed.

    Pulumi Cloud (http, https) takes single changes; every other backend the whole state, twice for each resource.
    """
    url, machines = workspace.real_backend(), len(planned.machines)
    of_files = url and not url.startswith(("http://", "https://"))
    if of_files and machines >= LARGE_STATE and not any(os.environ.get(name) for name in COMPRESSION):
        yield Finding(
            f"state of {planned.name}: the engine writes that of all {machines} machines to {url} twice a resource; set"
            " PULUMI_DIY_BACKEND_ZSTD=true, which makes it much smaller (docs/recovery.md, Large clusters)",
            note=True,
        )


def _account(name: str, planned: ClusterPlan, region: str) -> Iterator[Finding]:
    """Yield findings about the account's limits: the sandbox's if the stack is built there, else the cloud's."""
    try:
        place = target.recall(name)
    except Stop:
        return  # `_run` says why
    sandbox = place is not None and place.name == target.SANDBOX
    if not sandbox:
        yield from (Finding(lack, note=True) for lack in readiness.lacks(planned.spec.cloud.value))
        if planned.spec.access is MachineAccess.SESSION:
            yield Finding("programs for sessions", session_commands.missing(planned.spec.cloud.value))
        yield _identity(name, planned.spec.cloud.value, region)
    for found in account_check.findings(name, planned, region, sandbox=sandbox, built=place is not None):
        yield Finding(found.line, found.fault, found.note)


def _identity(name: str, cloud: str, region: str) -> Finding:
    """Return the account and region that the stack is or would be built in."""
    facts, used = cloud_tables.CLOUDS[cloud], identity.of_stack(cloud, stack_files.config(name))
    command = " ".join((*facts.account[0], *used.options))
    if found := account.account(facts, used):
        return Finding(f"{name} in account {found}, region {region}")
    if not used.certain:
        return Finding(f"{name}: account of the stack's own credentials, region {region}")
    return Finding(f"{name}: account unknown, because `{command}` names none here; region {region}", note=True)


def _run(name: str) -> Iterator[Finding]:
    """Yield what the last run left behind: locks, interrupted operations, differences between state and sandbox."""
    try:
        yield from _leftovers(name)
    except Stop as error:
        yield Finding(f"last run of {name}", str(error))


def _leftovers(name: str) -> Iterator[Finding]:
    built_in, engine = target.recall(name), locate.installed(lambda _: None)
    if built_in is None or engine is None:
        return
    sandbox = built_in.name == target.SANDBOX
    with workspace.opened(name, engine, sandbox=sandbox) as place, failures.reported(name):
        locked, broken = locks.of_stack(name, workspace.backend()), locks.broken(name, workspace.backend())
        for path in broken:
            yield Finding(
                f"state of {name}", f"{path} is incomplete; the next `{target.command('up', name)}` deletes it"
            )
        if broken:
            return
        run = workspace.existing(name, place)
        deployment = recovery.export(run)["deployment"] if run else {}
    for lock in locked:
        died = f"its run died; the next `{target.command('up', name)}` deletes the lock"
        yield Finding(f"lock of {name}: {lock}", died if lock.dead else "a run is in progress")
    pending = deployment.get("pending_operations") or []
    for operation in pending:
        resource = recovery.named(operation["resource"])
        yield Finding(f"{operation['type']} {resource} was interrupted", _remedy(name, sandbox))
    resources = deployment.get("resources") or []
    if not sandbox and (issuer := issuer_documents.issuer_of(resources)):
        yield Finding(f"issuer of {name}: {issuer}", "\n".join(issuer_documents.faults(issuer, resources)))
    if sandbox and not pending and not locked:
        faults = state_check.faults(name, resources)
        yield Finding(f"state and sandbox of {name} {'differ' if faults else 'agree'}", "\n".join(faults))


def _remedy(name: str, sandbox: bool) -> str:
    return f"the next `{target.command('up', name)}` {'finds it in the sandbox' if sandbox else 'says how to find it'}"


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (_python, _engine, _plugins, _backend, _stacks, _disk)
