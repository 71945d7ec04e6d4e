"""`mullion logs`: request a machine's logs through the bundle store, and wait for them. Needs no open port.

Only this machine may read the request object, and only this machine may write the answer (docs/logs.md). An attacker
who controls the machine may have written the answer, so it is saved to a file and never unpacked.
"""

import asyncio
import base64
import io
import json
import os
import secrets
import stat
import sys
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from components import releases
from components.naming import CONTROL_PLANE
from components.node.evidence import EVERY_MINUTES
from components.rollout.plain_text import plain
from components.spec.models import Runtime
from components.stack_files.stack import Stack
from operations.clouds import cloud_tables
from operations.commands.kubeconfig import built
from operations.console.exits import Exit, Stop
from operations.console.heartbeat import Heartbeat
from operations.engine import state
from operations.engine.scratch_stack import passing
from operations.stacks import boot_site, stack_files, target

ANSWER_SECONDS = 4 * 60 * EVERY_MINUTES
"""Longest wait: four times the interval at which a machine looks for requests, because collecting may be slow."""
POLL_SECONDS, LARGE_POLL_SECONDS = 3, 60
"""Seconds between two looks at the store; the second after a look that read an answer which is too large."""
MOST_BYTES = 24 << 20
"""Longest answer: base64 of an archive of 18 MiB. A machine collects at most 12 Mi characters (docs/logs.md)."""
TOO_LARGE: Mapping[str, Any] = {}
"""Stands for an answer that is longer."""
FORUMS = "https://discuss.kubernetes.io, https://serverfault.com/questions/tagged/kubernetes"


@dataclass(frozen=True)
class LogTarget:
    """A machine, its bundle store, and the parts of its object keys: prefix and instance id."""

    bucket: str
    prefix: str
    instance: str
    pool: str
    cloud: str

    @property
    def key(self) -> str:
        """Name of its object in the folders requests/ and logs/ of the store."""
        return f"{self.prefix}:{self.instance}.json"


def logs(name: str, machine: str, output: Path | None) -> None:
    """Write a machine's logs to a file, and print a template for an issue about it."""
    stack_files.load(name)
    boot_site.refuse_unbooted(name)
    fetch(name, machine, output)


def fetch(name: str, machine: str, output: Path | None) -> None:
    """Do the same as `logs`, also for a machine that the sandbox only simulates: its archive contains a note."""
    stack = stack_files.load(name)
    with built(name) as run:
        log_target = find(name, machine, state.resources(run))
    at_most = f"{ANSWER_SECONDS // 60} minutes"
    print(
        f"mullion: requested the logs of {machine}; it looks every {EVERY_MINUTES} minutes; waiting at most {at_most}",
        file=sys.stderr,
    )
    content = _archive(machine, _answer(name, machine, log_target, sandbox=target.in_sandbox(name)))
    moment = datetime.now(timezone.utc)
    path = output or target.root() / name / "logs" / f"{machine}-{moment:%Y%m%dT%H%M%SZ}.zip"
    write(path, content)
    print(f"{path} ({len(content) / 1024:,.0f} KiB), redacted on the machine; read it before you share it\n")
    print(issue(stack, log_target.pool))


def find(name: str, machine: str, resources: state.State) -> LogTarget:
    """Return a machine of a stack's state. Raises Stop with the names of all machines if none has this name."""
    machines = state.instances(resources)
    if machine not in machines:
        names = ", ".join(sorted(machines)) or "none"
        raise Stop(Exit.USAGE, f"stack {name} has no machine {machine!r}; it has {names}")
    pool = machines[machine]["pool"]
    stores = state.stores(name, resources)
    prefix = stores.prefix(pool, machine)
    return LogTarget(stores.bundles, prefix, machines[machine]["id"], pool, cloud_tables.of(resources).name)


def fetch_all(name: str, folder: Path) -> list[str]:
    """Write the logs of all machines of a stack's state to FOLDER/MACHINE.zip; return a line for each that failed."""
    with built(name) as run:
        resources = state.resources(run)
    asked = {machine: find(name, machine, resources) for machine in state.instances(resources)}
    if not asked:
        return ["the state has no machine"]
    print(
        f"mullion: requested the logs of {len(asked)} machines; waiting at most {ANSWER_SECONDS // 60} minutes",
        file=sys.stderr,
    )
    answers, failed = _answers(name, asked, sandbox=target.in_sandbox(name)), list[str]()
    for machine in asked:
        try:
            write(folder / f"{machine}.zip", _archive(machine, answers.get(machine, {})))
        except Stop as error:
            failed.append(str(error))
    return failed


def write(path: Path, content: bytes) -> None:
    """Write an archive; a file gets mode 0600, also if it existed, and a pipe or device keeps its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb", opener=partial(os.open, mode=0o600)) as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            os.fchmod(file.fileno(), 0o600)
        file.write(content)


def _answer(name: str, machine: str, log_target: LogTarget, *, sandbox: bool) -> Mapping[str, Any]:
    """Return the answer of one machine; empty if none came."""
    return _answers(name, {machine: log_target}, sandbox=sandbox).get(machine, {})


def _answers(name: str, asked: Mapping[str, LogTarget], *, sandbox: bool) -> dict[str, Mapping[str, Any]]:
    """Create a request for each machine, and return the answers in the store by machine. Deletes the requests."""
    question, answers = secrets.token_hex(8), dict[str, Mapping[str, Any]]()

    def program() -> None:
        import pulumi

        async def wait(machine: str, store: Any) -> bool:
            answer = await _awaited(store, f"logs/{asked[machine].key}", question, machine)
            if answer is not None:
                answers[machine] = answer
            return answer is not None

        for machine, log_target in asked.items():
            cloud, key = cloud_tables.provider(log_target.cloud), f"requests/{log_target.key}"
            request = cloud.put(f"request-{machine}", log_target.bucket, key, json.dumps({"id": question}))
            store = cloud.records(request, log_target.bucket)
            answered = request.id.apply(lambda _, machine=machine, store=store: wait(machine, store))
            pulumi.export(f"answered-{machine}", answered)

    with passing(name, program, sandbox=sandbox) as run:
        try:
            run.up(color="never")
        finally:
            run.destroy(color="never")
    return answers


async def _awaited(store: Any, key: str, question: str, machine: str) -> Mapping[str, Any] | None:
    """Return the answer to a question; TOO_LARGE if the last look found an answer that is; None if none came."""
    from components.rollout.provider_calls import ProviderError

    end, heart, large = time.monotonic() + ANSWER_SECONDS, Heartbeat(), False
    while time.monotonic() < end:
        try:
            text = await store.beginning(key, MOST_BYTES + 1)
            large = len(text) > MOST_BYTES
            answer = None if large else json.loads(text)
            if isinstance(answer, dict) and answer.get("id") == question:
                return answer
        except (ProviderError, ValueError, RecursionError):  # a compromised machine may write any text
            pass
        heart.beat(f"the logs of {machine}")
        await asyncio.sleep(LARGE_POLL_SECONDS if large else POLL_SECONDS)
    return TOO_LARGE if large else None


def _archive(machine: str, answer: Mapping[str, Any]) -> bytes:
    """Return the zip archive in an answer. Raises Stop if there is none."""
    if answer is TOO_LARGE:
        raise Stop(
            Exit.FAILED,
            f"{machine} answered with more than {MOST_BYTES >> 20} MiB, which no machine of Mullion does by itself: "
            "look for an intruder. docs/logs.md shows how to collect logs on the machine itself",
        )
    if not answer:
        raise Stop(
            Exit.FAILED,
            f"{machine} did not answer in {ANSWER_SECONDS // 60} minutes: it is off, cannot reach the bundle store, "
            "or was created by a version without `mullion logs`. Its serial console shows how far it booted; "
            "docs/logs.md shows how to collect logs on the machine itself",
        )
    try:
        content = base64.b64decode(answer["archive"], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise Stop(Exit.FAILED, f"{machine} answered without an archive: {plain(error)[:200]}") from error
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise Stop(Exit.FAILED, f"{machine} answered with data that is not a zip archive")
    return content


def issue(stack: Stack, pool: str) -> str:
    """Return a template for a Kubernetes issue about a pool's machines; `/sig windows` notifies the right group."""
    spec = stack.spec
    machines = spec.control_plane if pool == CONTROL_PLANE else spec.pools[pool]
    release = releases.release(spec.kubernetes)
    docker = pool != CONTROL_PLANE and spec.pools[pool].runtime is Runtime.DOCKER
    runtime = (
        f"docker {releases.docker(spec.kubernetes).version}"
        if docker
        else "containerd " + (machines.containerd.version or release.containerd.version)
    )
    windows = machines.os.is_windows
    build = f" (build {releases.windows(machines.os.value).build})" if windows else ""
    sig, where = ("windows", "#sig-windows") if windows else ("node", "#sig-node")
    lines = [
        "For an issue at https://github.com/kubernetes/kubernetes/issues/new (attach the archive):",
        "",
        f"/sig {sig}",
        "/kind bug",
        "**What happened, what you expected, how to reproduce it**",
        "",
        f"- Kubernetes: {spec.kubernetes}",
        f"- cloud: {spec.cloud.value}, {stack.region}, {machines.size}",
        f"- system: {machines.os.value}{build}",
        f"- container runtime: {runtime}",
        f"- network: {spec.network.mode.value}, flannel {releases.FLANNEL}, CNI plugins {releases.CNI_PLUGINS}",
        "- installed by: Mullion",
        "",
        f"Questions: {where} at https://slack.k8s.io, {FORUMS}",
    ]
    return "\n".join(lines)
