"""What the clouds' models judge: every custom resource of every stack and of stacks with other options."""

from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from components.node.merge import merge
from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import STASH, record
from sandbox.values import Asset, Unknown, plain
from tests import existing_networks
from tests.components.checks.cases.refused import AZURE_KEY, AZURE_USER, GCP_KEY, KEY
from tests.components.recorded_wiring import ROOT, config
from tests.components.wiring import test_ingress

KEYS = {
    "aws": {"encryption_key": KEY},
    "azure": {"encryption_key": AZURE_KEY, "encryption_identity": AZURE_USER},
    "gcp": {"encryption_key": GCP_KEY},
}
ROUTED = {"network": {"mode": "l2bridge", "pods": "10.128.0.0/14", "nodes": "10.30.0.0/22"}}
HUB = {**existing_networks.EXISTING["azure"], "bastion": existing_networks.BASTION}
MANY = {
    "api": {"access": "public", "allow": ["203.0.113.0/24"], "audit_days": 365},
    "ingress": {"node_ports": {"ports": [30080], "allow": ["192.168.0.0/16"]}},
    "network": {"outside": ["192.168.0.0/16"]},
    "pools": {
        "web": {"spot": True, "disk_gb": 200},
        "linux": {"spot": True},
        "longest-named": {"os": "windows-2025", "count": 1},
    },
}
"""Options that work together, in each cloud, and a pool with the longest name."""
LONGEST_NAME = 26
"""Characters of a stack's longest name (the error cluster-name)."""

CLOSED = {
    "network": {"egress": "none", "nat_gateways": "single"},
    "proxy": {"http": "http://10.0.0.1:3128", "https": "http://10.0.0.1:3128"},
    "api": {"access": "private"},
}
"""Without a way to the internet."""

OF_CLOUD: dict[str, dict[str, Any]] = {
    "aws": {"registry_credentials": ["ecr"], "cloud_controller": "external"},
    "azure": {"pools": {"web": {"licence": "own"}}},
    "gcp": {},
}
CHANGES: dict[str, dict[str, Any]] = {
    "key": {},
    "many": MANY,
    "public": {"network": {"egress": "public", "nat_gateways": "single"}, "protect": False},
    "routed": ROUTED,
    "session": {"access": "session"},
}
"""Changes of the stack for production, by the name of the case."""


@dataclass(frozen=True)
class Body:
    """A registered resource. inputs: plain values by the provider's names, without secret marks; files are Asset."""

    case: str
    type: str
    name: str
    inputs: dict[str, Any]


def on_file() -> list[str]:
    """Return the names of the stacks of this repository."""
    return sorted(path.name[len("Pulumi.") : -len(".yaml")] for path in (ROOT / "stacks").glob("Pulumi.*.yaml"))


def longest(case: str) -> str:
    """Return a stack's name for a case; it has the most characters, because other names are made of it."""
    return f"{case}-".ljust(LONGEST_NAME, "x")


def settings() -> dict[str, dict[str, Any]]:
    """Return the configuration of each case."""
    cases = {name: config(name) for name in on_file()}
    for cloud in ("aws", "azure", "gcp"):
        for name, change in CHANGES.items():
            extra = KEYS[cloud] if name == "key" else OF_CLOUD[cloud] if name == "many" else {}
            cases[f"{cloud}-{name}"] = changed(f"{cloud}-prod", merge(change, extra))
        cases[f"{cloud}-ingress"] = test_ingress.settings(cloud)
        cases[f"{cloud}-existing"] = existing_networks.stack(cloud)[0]
        cases[f"{cloud}-closed"] = changed(f"{cloud}-prod", CLOSED)
    cases["azure-bastion"] = existing_networks.stack("azure", existing=HUB)[0]
    return cases


def changed(stack: str, change: dict[str, Any]) -> dict[str, Any]:
    whole = deepcopy(config(stack))
    return {**whole, CLUSTER: merge(whole[CLUSTER], change)}


@lru_cache
def bodies(cloud: str) -> tuple[Body, ...]:
    """Return what the stacks of a cloud register, without resources of the engine itself."""
    found: list[Body] = []
    for case, whole in settings().items():
        if case.startswith(cloud):
            recording = record(case if case in on_file() else longest(case), whole)
            assert recording.errors == [], f"{case}: {recording.errors}"
            resources = (each for each in recording.resources.values() if each.custom and each.type != STASH)
            found += [Body(case, each.type, each.name, plain(each.inputs)) for each in resources]
    return tuple(found)


def content(value: Any) -> Any:
    """Return a value in the form of JSON: the text of a file, or its path, instead of the file."""
    if isinstance(value, Asset):
        return value.text if value.text is not None else str(value.path)
    assert not isinstance(value, Unknown), "an update knows every input"
    return value
