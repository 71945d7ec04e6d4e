"""Stacks that have no file: those of stacks/ with options on which a cluster's whole life depends.

CLOUD-existing is CLOUD-prod in a network of the user; CLOUD-ci-VARIANT is CLOUD-ci with a variant's options.
"""

import copy
from collections.abc import Mapping
from typing import Any

from components import naming
from components.stack_files.stack import CLUSTER, read_stack
from sandbox import existing_network, keys
from sandbox.cloud_state import CloudState
from tests import existing_networks
from tools.golden import cases

BASE = "ci"
VARIANTS = ("existing", "session", "spot", "key", "closed")
"""A network of the user, sessions to a private API, spot machines, a key of the user, no way to the internet."""
KINDS = tuple(f"{BASE}-{each}" for each in VARIANTS)
PROXY = dict.fromkeys(("http", "https"), "http://10.9.0.4:3128")


def fields(cloud: str, variant: str) -> dict[str, Any]:
    """Return the changes of a variant; None removes an option."""
    # on Azure the ranges still lead to the stores
    private = {"access": "private", **({} if cloud == "azure" else {"allow": None})}
    options: dict[str, dict[str, Any]] = {
        "existing": {"network": {"egress": None, "existing": cases.EXISTING[cloud]}, "api": private},
        "session": {"network": {"egress": None}, "api": private, "access": "session"},
        "spot": {"pools": {"windows": {"spot": True}}},
        "key": cases.KEYS[cloud],
        "closed": {"network": {"egress": "none"}, "api": private, "proxy": PROXY},
    }
    return options[variant]


def has_file(name: str) -> bool:
    """Return whether a stack is one of stacks/."""
    return name in cases.on_file()


def config(name: str) -> dict[str, Any]:
    """Return the configuration of a stack, with or without a file."""
    cloud, _, kind = name.partition("-")
    if has_file(name):
        return copy.deepcopy(cases.config(name))
    prod = kind == existing_networks.KIND
    whole = copy.deepcopy(cases.config(f"{cloud}-{'prod' if prod else BASE}"))
    changes = existing_networks.fields(cloud) if prod else fields(cloud, kind.removeprefix(f"{BASE}-"))
    merge(whole[CLUSTER], changes)
    return whole


def prepare(cloud_state: CloudState, name: str, settings: Mapping[str, Any]) -> None:
    """Create in a sandbox what a stack's configuration names of the user: networks and the key."""
    found = read_stack(name, {"gcp:project": "our-project", **settings})
    if existing_network.named(found.spec):
        existing_network.create(cloud_state, found.spec, found.region, naming.zone_name(name))
    if found.spec.encryption_key:
        with cloud_state.transaction():
            keys.put(cloud_state, found.spec.encryption_key, keys.Key(identity=found.spec.encryption_identity or ""))


def merge(into: dict[str, Any], fields: Mapping[str, Any]) -> None:
    """Merge copies of fields into a document recursively; None removes a field."""
    for key, value in fields.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            merge(into[key], value)
        elif value is None:
            into.pop(key, None)
        else:
            into[key] = copy.deepcopy(value)
