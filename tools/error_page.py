"""Renders docs/errors.md: the table of errors that both executors read, and the errors of each step."""

import json
from collections.abc import Iterable, Iterator

from components.machine.bundle import CLOUD_INIT, ERRORS
from components.node.kinds import Step
from components.node.merge import merge
from components.plan import plan_cluster
from components.stack_files.stack import CLUSTER, read_stack
from operations.stacks import stack_files

HEADER = """# Errors of a machine

Written by `make generate` from `cloud-init/errors.json`, which both executors read.

A failed run writes number, name, phase, step and a message without secrets to its result file
(`/var/lib/mullion/result.json`, `C:\\ProgramData\\mullion\\result.json`), to the serial console and to its
status record. Errors that may be temporary are retried with growing waits before they end the run; the next boot
retries all errors.
"""

STEPS = """## Steps of a Windows node

Errors that each step can end with. Every step can also end with: """

GROUPS = {
    1: "The plan and the run",
    2: "Downloads, archives, stores",
    3: "Files",
    4: "Programs, services, checks",
    5: "Windows, restarts, network, missing parts of a node",
    9: "Other errors",
}

EVERY_STEP = (
    "reference-unresolved", "step-invalid", "not-reached", "step-timeout", "file-failed", "disk-full", "unexpected",
)  # fmt: skip
"""Errors that a step of any kind can end with."""

ENDS: dict[str, tuple[str, ...]] = {
    "api-version": ("wait-timeout",),
    "archive": ("archive-unsafe", "archive-broken"),
    "artifact": ("download-failed", "digest-mismatch", "certificate-refused", "redirect-refused"),
    "build": ("build-refused",),
    "certificate-authority": ("download-failed", "digest-mismatch"),
    "container-image": ("image-refused", "command-failed", "command-timeout"),
    "defender-exclusion": (),
    "directory": (),
    "environment": (),
    "feature": ("feature-failed",),
    "file": (),
    "firewall-profiles": (),
    "firewall-rule": (),
    "hns-network": ("network-missing", "code-blocked"),
    "hostname": (),
    "hypervisor": ("hypervisor-missing", "command-failed", "reboot-limit"),
    "kubelet-bootstrap": ("secret-unavailable", "service-failed"),
    "local-user": (),
    "metadata-route": ("network-missing",),
    "node-object": ("node-unregistered", "node-not-ready"),
    "overlay-network": ("overlay-missing", "adapter-missing", "service-failed", "code-blocked"),
    "pagefile": (),
    "partition": ("drive-small",),
    "pod-range": ("pod-range-missing",),
    "port-range": ("command-failed",),
    "probe": ("probe-failed",),
    "reboot": ("reboot-limit",),
    "registry": (),
    "service": ("service-failed",),
    "source-vip": ("command-failed", "command-timeout"),
    "stale-network": ("service-failed", "network-missing", "code-blocked"),
    "system-service": ("service-failed",),
    "task": (),
    "wait": ("wait-timeout",),
}
"""Further errors that a step on Windows can end with, by its kind."""

WINDOWS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("aws-dev", "web", {"isolation": "hyperv", "size": "m8i.xlarge"}),
    ("aws-docker", "legacy", {}),
    ("aws-routed", "web", {}),
    ("azure-dev", "web", {}),
)
"""Stacks and pools, with changes of the pool, whose plans have every step that a Windows node can have."""


def render() -> str:
    """Return the page, in Markdown."""
    rows = json.loads((CLOUD_INIT / ERRORS).read_text(encoding="ascii"))["errors"]
    parts = [HEADER]
    for group, title in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += ["| code | name | cause | what to do | tried again |", "|---|---|---|---|---|"]
        parts += [_row(**each) for each in rows if each["code"] // 100 == group]
        parts.append("")
    codes = {each["name"]: each["code"] for each in rows}
    parts += [f"{STEPS}{_codes(codes, EVERY_STEP)}.\n", *_steps(codes)]
    return "\n".join(parts).rstrip() + "\n"


def windows_steps() -> list[Step]:
    """Return every step of the Windows plans, each name once, in the order of the plans."""
    steps: dict[str, Step] = {}
    for stack, pool, change in WINDOWS:
        whole = merge(stack_files.config(stack), {CLUSTER: {"pools": {pool: change}}})
        groups = plan_cluster(stack, read_stack(stack, whole).spec).pools
        plan = next(each.node_plan for each in groups if each.name == pool)
        steps |= {each.name: each for each in plan.steps if each.name not in steps}
    return list(steps.values())


def _steps(codes: dict[str, int]) -> Iterator[str]:
    yield "| step | kind | numbers |"
    yield "|---|---|---|"
    for step in windows_steps():
        own = step.fields.get("error")
        names = (own,) if own else ENDS[step.kind]
        yield f"| `{step.name}` | {step.kind} | {_codes(codes, names)} |"


def _codes(codes: dict[str, int], names: Iterable[str]) -> str:
    return " ".join(str(codes[each]) for each in names)


def _row(code: int, name: str, retry: bool, cause: str, remedy: str) -> str:
    return f"| {code} | `{name}` | {cause} | {remedy} | {'yes' if retry else 'no'} |"
