"""Golden plans: three whole, all others as digests. `make generate` writes them."""

import hashlib
import json

from components.node.plan import NodePlan, canonical
from tests.components.node.samples import KUBERNETES, PATCHES, SYSTEMS, plan

WHOLE = {"control-plane": None, "ubuntu-22.04": "ubuntu-22.04", "windows-2019": "windows-2019"}


def whole(made: NodePlan) -> str:
    """plan.json, readable."""
    return json.dumps(made.document(), indent=1) + "\n"


def digests() -> dict[str, str]:
    """Digest of each plan by role or system and patch; the golden files show what a difference is about."""
    systems = {"control-plane": None, **{each: each for each in SYSTEMS}}
    return {
        f"{name} {kubernetes}": hashlib.sha256(canonical(plan(os, kubernetes=kubernetes).document())).hexdigest()
        for kubernetes in PATCHES.values()
        for name, os in systems.items()
    }


DIGESTS = "digests.json"
NAMES = (*(f"{name}-{KUBERNETES}.json" for name in WHOLE), DIGESTS)
"""Golden files."""


def file(name: str) -> str:
    """Text of a golden file."""
    if name == DIGESTS:
        return json.dumps(digests(), indent=1) + "\n"
    return whole(plan(WHOLE[name.removesuffix(f"-{KUBERNETES}.json")]))
