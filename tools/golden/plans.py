"""Golden files of node plans: whole plans, differences of other clouds from AWS, digests of all others, file modes.

`make generate` writes them.
"""

import difflib
import hashlib
import json
from typing import Any

from components import releases
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
"""Operating system (None for the control plane) and options of the cluster, by name."""


def whole(node_plan: NodePlan) -> str:
    """Return plan.json with line breaks."""
    return json.dumps(node_plan.document(), indent=1) + "\n"


def digests() -> dict[str, str]:
    """Return the digest of each plan by role or system, runtime, patch and network."""
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


def _digest(node_plan: NodePlan) -> str:
    return hashlib.sha256(canonical(node_plan.document())).hexdigest()


def mode(step: Step) -> str:
    """Return the octal mode of a step's path; a folder's mode ends with /."""
    private = step.fields.get("access") == "private" or step.kind in PRIVATE
    if step.kind == "directory":
        return "0700/" if private else "0755/"
    executable = 0o111 if step.fields.get("executable") else 0
    return f"{(0o600 | executable & 0o100) if private else (0o644 | executable):04o}"


def modes() -> str:
    """Return every path that a step creates, with its mode; on Windows the mode means private or public access."""
    lines: list[str] = []
    for name, (os, options) in WHOLE.items():
        lines.append(f"### {name}")
        steps = [each for each in plan(os, **options).steps if "path" in each.fields]
        lines += sorted(f"{mode(each):6} {each.fields['path']} ({each.kind})" for each in steps)
    return "\n".join(lines) + "\n"


MACHINES: dict[str, tuple[str | None, dict[str, Any]]] = {
    "control-plane": (None, {}),
    "linux": ("ubuntu-24.04", {}),
    "windows containerd": ("windows-2022", {}),
    "windows docker": ("windows-2022", DOCKER),
}
NEWEST = list(PATCHES.values())[-1]
IMAGES = (
    *releases.control_plane_images(NEWEST),
    *{releases.pause_image(NEWEST, os) for os in SYSTEMS},
    f"ghcr.io/flannel-io/flannel:v{releases.FLANNEL}",
    f"ghcr.io/flannel-io/flannel-cni-plugin:v{releases.FLANNEL_CNI}",
)
"""Container images of a cluster of the newest minor."""
NETWORKS: dict[str, dict[str, Any]] = {"overlay": {}, "l2bridge": ROUTED}


def differing(cloud: Cloud) -> str:
    """Return the differences between the plans of the cloud's machines and AWS's, by machine and network."""
    lines: list[str] = []
    for network, more in NETWORKS.items():
        for name, (os, options) in MACHINES.items():
            aws, other = (whole(plan(os, cloud=each.value, **options, **more)) for each in (Cloud.AWS, cloud))
            lines += [f"### {name} {network}", *_changed(aws, other)]
    return "\n".join(lines) + "\n"


def pinned() -> str:
    """Return the changes in plans of the newest minor when the stack pins every image by digest."""
    lines: list[str] = []
    artifacts = {"images": dict.fromkeys(IMAGES, f"sha256:{'0' * 64}")}
    for name, (os, options) in MACHINES.items():
        by_tag = whole(plan(os, kubernetes=NEWEST, **options))
        by_digest = whole(plan(os, kubernetes=NEWEST, artifacts=artifacts, **options))
        lines += [f"### {name}", *_changed(by_tag, by_digest)]
    return "\n".join(lines) + "\n"


def isolated() -> str:
    """Return the changes in plans of the newest minor when a pool offers Hyper-V isolation."""
    lines: list[str] = []
    for os, name in ((None, "control-plane"), ("windows-2022", "windows")):
        plans: list[str] = []
        for isolation in ("process", "hyperv"):
            pool = {"size": "m8i.xlarge", "isolation": isolation}
            others = {} if os else {"pools": {"pool": {"os": "windows-2022", **pool}}}
            plans.append(whole(plan(os, pool, kubernetes=NEWEST, **others)))
        lines += [f"### {name}", *_changed(*plans)]
    return "\n".join(lines) + "\n"


def _changed(before: str, after: str) -> list[str]:
    diff = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    # line numbers are left out, because they change with every step
    return ["@@" if line.startswith("@@") else line for line in diff if line[:3] not in ("---", "+++")]


PRIVATE = ("secret", "encryption-configuration", "authorization-configuration", "kubelet-bootstrap")
"""Kinds whose files only root, or SYSTEM and Administrators, can read."""

DIGESTS, MODES, PINNED, ISOLATED = "digests.json", "modes.txt", "pinned.diff", "hyperv.diff"
PLANS = {f"{name}-{each[1].get('kubernetes', KUBERNETES)}.json": each for name, each in WHOLE.items()}
CLOUDS = {f"{each.value}.diff": each for each in Cloud if each is not Cloud.AWS}
NAMES = (*PLANS, *CLOUDS, DIGESTS, MODES, PINNED, ISOLATED)
"""Names of the golden files."""


def file(name: str) -> str:
    """Return the text of a golden file."""
    if name == MODES:
        return modes()
    if name == PINNED:
        return pinned()
    if name == ISOLATED:
        return isolated()
    if name in CLOUDS:
        return differing(CLOUDS[name])
    if name == DIGESTS:
        return json.dumps(digests(), indent=1) + "\n"
    os, options = PLANS[name]
    return whole(plan(os, **options))
