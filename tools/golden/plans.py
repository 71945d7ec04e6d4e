"""Golden plans: some whole, other clouds' as what differs from AWS's, all others as digests; rights of what they write.

`make generate` writes them.
"""

import difflib
import hashlib
import json
from typing import Any

from components.node.kinds import Step
from components.node.plan import NodePlan, canonical
from components.spec.choices import Cloud, OperatingSystem
from tools.golden.samples import KUBERNETES, PATCHES, SYSTEMS, plan

ROUTED: dict[str, Any] = {"network": {"mode": "l2bridge"}}
DOCKER: dict[str, Any] = {"pool": {"runtime": "docker"}}

WHOLE: dict[str, tuple[str | None, dict[str, Any]]] = {
    "control-plane": (None, {}),
    "ubuntu-22.04": ("ubuntu-22.04", {}),
    "windows-2019": ("windows-2019", {}),
    "windows-2022-l2bridge": ("windows-2022", ROUTED),
    "windows-2019-dockershim": ("windows-2019", {**DOCKER, "kubernetes": "1.23.17"}),
    "windows-2019-cri-dockerd": ("windows-2019", DOCKER),
}
"""Name -> operating system (None: the control plane's), and the cluster's options."""


def whole(made: NodePlan) -> str:
    """plan.json, readable."""
    return json.dumps(made.document(), indent=1) + "\n"


def digests() -> dict[str, str]:
    """Digest of each plan by role or system, runtime, patch and network; the others show what a difference is about."""
    systems: dict[str, tuple[str | None, dict[str, Any]]] = {
        "control-plane": (None, {}),
        **{each: (each, {}) for each in SYSTEMS},
        **{f"{each} docker": (each, DOCKER) for each in SYSTEMS if OperatingSystem(each).is_windows},
    }
    return {
        f"{name} {kubernetes}{mode}": _digest(plan(os, kubernetes=kubernetes, **pool, **network))
        for mode, network in (("", {}), (" l2bridge", ROUTED))
        for kubernetes in PATCHES.values()
        for name, (os, pool) in systems.items()
    }


def _digest(made: NodePlan) -> str:
    return hashlib.sha256(canonical(made.document())).hexdigest()


def mode(step: Step) -> str:
    """Rights of what a step makes at its path: a folder's end with /."""
    private = step.fields.get("access") == "private" or step.kind in PRIVATE
    if step.kind == "directory":
        return "0700/" if private else "0755/"
    executable = 0o111 if step.fields.get("executable") else 0
    return f"{(0o600 | executable & 0o100) if private else (0o644 | executable):04o}"


def modes() -> str:
    """Every path that a step names as its own, with its rights; of Windows' machines private and public ones alike."""
    lines: list[str] = []
    for name, (os, options) in WHOLE.items():
        lines.append(f"### {name}")
        made = [each for each in plan(os, **options).steps if "path" in each.fields]
        lines += sorted(f"{mode(each):6} {each.fields['path']} ({each.kind})" for each in made)
    return "\n".join(lines) + "\n"


MACHINES: dict[str, tuple[str | None, dict[str, Any]]] = {
    "control-plane": (None, {}),
    "linux": ("ubuntu-24.04", {}),
    "windows containerd": ("windows-2022", {}),
    "windows docker": ("windows-2022", DOCKER),
}
NETWORKS: dict[str, dict[str, Any]] = {"overlay": {}, "l2bridge": ROUTED}


def differing(cloud: Cloud) -> str:
    """Every machine of a cloud by runtime and network: the lines of its plan that are not those of AWS's machine."""
    lines: list[str] = []
    for network, more in NETWORKS.items():
        for name, (os, options) in MACHINES.items():
            here, there = (whole(plan(os, cloud=each.value, **options, **more)) for each in (Cloud.AWS, cloud))
            lines.append(f"### {name} {network}")
            found = difflib.unified_diff(here.splitlines(), there.splitlines(), lineterm="", n=2)
            # without their numbers, which say nothing of the cloud
            lines += ["@@" if each.startswith("@@") else each for each in found if each[:3] not in ("---", "+++")]
    return "\n".join(lines) + "\n"


PRIVATE = ("secret", "encryption-configuration", "kubelet-bootstrap")
"""Kinds that write for root, or SYSTEM and Administrators, alone."""

DIGESTS, MODES = "digests.json", "modes.txt"
PLANS = {f"{name}-{each[1].get('kubernetes', KUBERNETES)}.json": each for name, each in WHOLE.items()}
CLOUDS = {f"{each.value}.diff": each for each in Cloud if each is not Cloud.AWS}
NAMES = (*PLANS, *CLOUDS, DIGESTS, MODES)
"""Golden files."""


def file(name: str) -> str:
    """Text of a golden file."""
    if name == MODES:
        return modes()
    if name in CLOUDS:
        return differing(CLOUDS[name])
    if name == DIGESTS:
        return json.dumps(digests(), indent=1) + "\n"
    os, options = PLANS[name]
    return whole(plan(os, **options))
