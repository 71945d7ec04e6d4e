"""`mullion logs`: ask a machine for its logs through the bundle store, and wait for them. No port is open for it.

A request is an object that only this machine may read; the answer is one that only it may write (docs/logs.md). What a
machine answers may come from anybody who holds it: it is written to a file, and never unpacked.
"""

import asyncio
import base64
import binascii
import io
import json
import secrets
import sys
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from components import releases
from components.naming import CONTROL_PLANE
from components.node.evidence import EVERY_MINUTES
from components.spec.models import Runtime
from components.stack_files.stack import Stack
from operations.clouds import cloud_tables
from operations.commands.kubeconfig import built
from operations.console.exits import Exit, Stop
from operations.engine import state
from operations.engine.scratch_stack import passing
from operations.stacks import stack_files, target

COLLECT_SECONDS = 4 * 60 * EVERY_MINUTES
"""Seconds: collecting on a slow machine takes longer than its next look at the store."""
INTERVAL = 3
FORUMS = "https://discuss.kubernetes.io, https://serverfault.com/questions/tagged/kubernetes"


@dataclass(frozen=True)
class Asked:
    """A machine: where it is asked, under which name, and what it is."""

    bucket: str
    role_id: str
    instance: str
    pool: str
    cloud: str

    @property
    def key(self) -> str:
        """Its object's name in each folder of the store."""
        return f"{self.role_id}:{self.instance}.json"


def logs(name: str, machine: str, output: Path | None) -> None:
    """Write a machine's logs to a file, and print what an issue about it should say."""
    stack = stack_files.load(name)
    with built(name) as run:
        asked = find(name, machine, state.resources(run))
    at_most = f"{COLLECT_SECONDS // 60} minutes"
    print(f"mullion: asked {machine}; it looks every {EVERY_MINUTES} minutes, for at most {at_most}", file=sys.stderr)
    content = _packed(machine, _answer(name, asked, sandbox=target.in_sandbox(name)))
    moment = datetime.now(timezone.utc)
    path = output or target.root() / name / "logs" / f"{machine}-{moment:%Y%m%dT%H%M%SZ}.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    print(f"{path} ({len(content) / 1024:,.0f} KiB), redacted on the machine; look through it before you share it\n")
    print(issue(stack, asked.pool))


def find(name: str, machine: str, resources: state.State) -> Asked:
    """The machine in a stack's state. Stop names all there are where it is none of them."""
    known = state.instances(resources)
    if machine not in known:
        raise Stop(Exit.USAGE, f"stack {name} has no machine {machine!r}; it has {', '.join(sorted(known)) or 'none'}")
    pool = known[machine]["pool"]
    stores = state.stores(name, resources)
    role_id = stores.control_plane if pool == CONTROL_PLANE else stores.workers
    return Asked(stores.bundles, role_id, known[machine]["id"], pool, cloud_tables.of(resources).name)


def _answer(name: str, asked: Asked, *, sandbox: bool) -> Mapping[str, Any]:
    """What the machine puts into the store for a request of ours, which is there meanwhile; empty: nothing came."""
    question, answers = secrets.token_hex(8), list[dict[str, Any]]()

    def program() -> None:
        import pulumi

        from components.rollout.provider_calls import ProviderError

        cloud = cloud_tables.provider(asked.cloud)
        request = cloud.put("request", asked.bucket, f"requests/{asked.key}", json.dumps({"id": question}))
        store = cloud.records(request, asked.bucket, asked.role_id)

        async def wait(_: str) -> bool:
            end = time.monotonic() + COLLECT_SECONDS
            while time.monotonic() < end:
                try:
                    found = json.loads(await store.text(f"logs/{asked.key}"))
                    if isinstance(found, dict) and found.get("id") == question:
                        answers.append(found)
                        return True
                except (ProviderError, ValueError):
                    pass
                await asyncio.sleep(INTERVAL)
            return False

        pulumi.export("answered", request.id.apply(wait))

    with passing(name, program, sandbox=sandbox) as run:
        try:
            run.up(color="never")
        finally:
            run.destroy(color="never")
    return answers[0] if answers else {}


def _packed(machine: str, answer: Mapping[str, Any]) -> bytes:
    """The archive in an answer."""
    if not answer:
        raise Stop(
            Exit.FAILED,
            f"{machine} did not answer in {COLLECT_SECONDS // 60} minutes: it is off, has no way to the bundle store, "
            "or was made before there was `mullion logs`. Its serial console says how far it came; docs/logs.md says "
            "how to collect on the machine itself",
        )
    try:
        content = base64.b64decode(answer["archive"], validate=True)
    except (KeyError, TypeError, binascii.Error) as error:
        raise Stop(Exit.FAILED, f"{machine} answered with something that is no archive: {error!r}") from error
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise Stop(Exit.FAILED, f"{machine} answered with something that is no zip archive")
    return content


def issue(stack: Stack, pool: str) -> str:
    """What an issue about the machines of a pool should say; `/sig windows` calls the people who know."""
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
