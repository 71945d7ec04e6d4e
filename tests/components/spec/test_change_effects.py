"""The table of change effects: each option of a sample stack is changed, and the two plans are compared."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, get_args, get_origin

import pytest

from components.plan import ClusterPlan, MachineGroup, plan_cluster
from components.spec.change_effects import EFFECTS, NOTES, Effect, effect, general_path
from components.spec.models import ClusterSpec
from components.spec.options import Model
from components.spec.report import SpecError
from components.stack_files.stack import CLUSTER, read_stack
from components.wiring.fixed_layout import LATER, NETWORK_OPTIONS
from operations.recorder.recorder import STASH, record
from tests import existing_networks
from tests.certificates import AUTHORITY
from tests.components.spec import gmsa_values, other_values

CONFIG = {"aws:region": "eu-west-1", "azure-native:location": "westeurope"}
CONFIG |= {"gcp:region": "europe-west1", "gcp:project": "our-project"}
SAMPLE: dict[str, Any] = {  # a stack without errors
    "cloud": "aws",
    "kubernetes": "1.36.4",
    "network": {"zones": 1, "pods": "10.244.0.0/16", "nodes": "10.20.0.0/16"},
    "control_plane": {"count": 1},
    "pools": {"linux": {"os": "ubuntu-24.04", "count": 2}, "web": {"os": "windows-2022", "count": 2}},
}

OIDC = {"api": {"oidc": {"issuer": "https://login.example.com", "client": "kubernetes"}}}
PROXY = {"proxy": {"http": "http://10.0.0.1:3128"}}
ROUTED = {"network": {"pods": "10.244.0.0/14", "nodes": "10.20.0.0/22"}}
DOWNLOAD = {
    "name": "kubernetes-node",
    "version": "1.36.4",
    "os": "windows",
    "url": "https://files.example.com/kubernetes-node-windows-amd64.tar.gz",
    "sha256": "0" * 64,
}

MACHINES = {
    "kubelet.system_reserved.cpu": "1",
    "kubelet.system_reserved.memory": "3Gi",
    "kubelet.system_reserved.ephemeral_storage": "2Gi",
    "kubelet.kube_reserved.cpu": "1",
    "kubelet.kube_reserved.memory": "1Gi",
    "kubelet.kube_reserved.ephemeral_storage": "2Gi",
    "kubelet.eviction_hard": {"memory.available": "600Mi"},
    "kubelet.accept_low_reserve": True,
    "kubelet.priority_class": "HIGH_PRIORITY_CLASS",
    "kubelet.verbosity": 4,
    "kubelet.config": {"maxOpenFiles": 500000},
    "kube_proxy.dsr": True,
    "kube_proxy.config": {"configSyncPeriod": "10m0s"},
    "containerd.version": "2.2.7",
    "containerd.mirrors": {"docker.io": ["https://mirror.example.com"]},
    "containerd.config": {"debug": {"level": "debug"}},
}
"""Options of both the control plane and pools, with another value for each."""

VALUES: dict[str, Any] = {
    "cloud": "gcp",
    "kubernetes": "1.37.0",
    "network.mode": "l2bridge",
    "network.pods": "10.128.0.0/16",
    "network.services": "10.112.0.0/16",
    "network.nodes": "10.30.0.0/16",
    "network.dns": "10.96.0.11",
    "network.domain": "example.local",
    "network.vni": 4097,
    "network.port": 8472,
    "network.zones": 2,
    "network.zone_names": ["eu-west-1b"],
    **dict.fromkeys(("network.egress", "api.access"), "public"),
    "network.nat_gateways": "zonal",
    "network.outside": ["192.168.0.0/16"],
    "network.neighbour_pods": ["10.128.0.0/16"],
    "network.exporter_ports": [9100],
    "network.route_limit": 100,
    "network.existing.network": "vpc-0fedcba9876543210",
    "network.existing.subnets": [{"id": "subnet-0123456789abcdef4", "range": "10.20.8.0/22"}],
    "network.existing.public_subnets": ["subnet-0fedcba9876543210"],
    "network.existing.private_zone": "Z0123456789ABCDEFGHIJ",
    "api.allow": ["203.0.113.0/24"],
    "api.audit_days": 365,
    "api.virtual_network_rules": [existing_networks.EXISTING["azure"]["subnets"][0]["id"]],
    "api.oidc.issuer": "https://login.example.com/other",
    "api.oidc.client": "other",
    "api.oidc.username_claim": "email",
    "api.oidc.groups_claim": "roles",
    "api.oidc.prefix": "people:",
    "api.oidc.required_claims": {"hd": "example.com"},
    "api.oidc.admins": ["platform-team"],
    "api.oidc.editors": ["web-team"],
    "api.oidc.viewers": ["everyone"],
    **other_values.VALUES,
    **dict.fromkeys(("pod_security.enforce", "pod_security.warn", "pod_security.audit"), "restricted"),
    **{key: ["monitoring"] for key in ("pod_security.exempt_namespaces", "admission.exempt_namespaces")},
    "admission.windows_workloads": "enforce",
    **dict.fromkeys(("control_plane.count", "pools.*.count"), 3),
    "control_plane.os": "ubuntu-22.04",
    "control_plane.size": "m6i.xlarge",
    "control_plane.disk_gb": 60,
    "control_plane.reboot_window": "02:00-05:00",
    "pools.*.os": "windows-2025",
    "pools.*.runtime": "docker",
    "pools.*.size": "m6i.2xlarge",
    "pools.*.disk_gb": 200,
    "pools.*.max_pods": 100,
    "pools.*.pre_pull": ["mcr.microsoft.com/windows/servercore:ltsc2022"],
    "pools.*.labels": {"team": "web"},
    "pools.*.taints": ["os=windows:NoSchedule", "team=web:NoSchedule"],
    "pools.*.rollout.max_unavailable": 2,
    "pools.*.rollout.canary": "30m",
    "pools.*.rollout.drain": "5m",
    "pools.*.rollout.require_drain": False,
    "pools.*.rollout.gate": "registered",
    "pools.*.slot": 77,
    "pools.*.licence": "own",
    "pools.*.isolation": "hyperv",
    "kubeadm.ignore_preflight": ["Swap"],
    "kubeadm.config": {"ClusterConfiguration": {"featureGates": {}}},
    **dict.fromkeys(("addons.metrics_server", "protect", "pools.*.spot"), True),
    "images": {"windows-2022": "ami-0123456789abcdef0"},
    "owner": "platform-team",
    "tags": {"environment": "test"},
    "budget.month": 5000,
    "expires": "8h",
    **dict.fromkeys(("rotation.certificate_authorities", "rotation.service_account", "rotation.encryption"), 1),
    **dict.fromkeys(("rotation.desired_state", "rotation.administrator", "rotation.images"), 1),
    "cloud_controller": "external",
    "registry_credentials": ["ecr"],
    "worker_identity": "pool",
    "access": "session",
    **dict.fromkeys(("proxy.http", "proxy.https"), "http://10.0.0.2:3128"),
    "proxy.no_proxy": ["example.com"],
    "trusted_cas": [AUTHORITY],
    "artifacts.entries": [DOWNLOAD],
    "artifacts.images": {"registry.k8s.io/pause:3.10.2": f"sha256:{64 * '1'}"},
    "artifacts.mirror": "https://mirror.example.com",
    "encryption_key": "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
    "csi": ["ebs"],
    "acknowledge": {"kubernetes-end-of-life": "tried"},
    **{f"{base}.{option}": value for base in ("control_plane", "pools.*") for option, value in MACHINES.items()},
    "pools.*.kube_proxy.dsr": False,
}
"""Another value for each option."""

_SUBNETS = [{"id": "subnet-0123456789abcdef0", "range": "10.20.4.0/22"}]
EXISTING: dict[str, Any] = {"network": {"existing": {"network": "vpc-0123456789abcdef0", "subnets": _SUBNETS}}}

CONTEXT: dict[str, dict[str, Any]] = {
    **{f"network.existing.{option}": EXISTING for option in ("network", "subnets", "private_zone")},
    **other_values.CONTEXT,
    "network.existing.public_subnets": {
        "network": {"existing": {**EXISTING["network"]["existing"], "public_subnets": ["subnet-0fedcba987654321f"]}},
        "api": {"access": "public", "allow": ["203.0.113.0/24"]},
    },
    "network.mode": ROUTED,
    "pools.*.isolation": {"pools": {"web": {"size": "m8i.xlarge"}}},
    "worker_identity": {"cloud": "gcp"},
    **{key: {"cloud": "azure"} for key in ("pools.*.licence", "api.virtual_network_rules")},
    "api.allow": {"api": {"access": "public", "allow": ["198.51.100.0/24"]}},
    **{
        f"api.oidc.{option}": OIDC
        for option in (
            *("issuer", "client", "username_claim", "groups_claim", "prefix"),
            *("required_claims", "admins", "editors", "viewers"),
        )
    },
    **dict.fromkeys(("proxy.http", "proxy.https", "proxy.no_proxy"), PROXY),
}
"""Further options of the stack, set before and after the change."""

WITH_IT: dict[str, Any] = {"api.access": {"api": {"allow": ["203.0.113.0/24"]}}, **gmsa_values.WITH_IT}
"""Options that must change together with the option."""

SEEN_ELSEWHERE = {
    "cloud": "the stack is built in another cloud: operations/stacks/target.py refuses",
    "rotation.images": "the program looks the image up: test_raising_rotation_images_looks_images_up_again",
    "existing_cluster.ca": "the layout in the state has the hash of its key: tests/components/aws/test_joined.py",
    "artifacts.file": "its entries are read into artifacts.entries",
    "encryption_identity": "no plan has it: tests/engine/test_encryption_key.py changes it",
}
"""Options whose effect cannot be seen by comparing two plans, and why."""


def options(kind: Any, path: str = "") -> Iterator[str]:
    """Yield the path of every option of a model."""
    if isinstance(kind, type) and issubclass(kind, Model):
        for name, field in kind.model_fields.items():
            yield from options(field.annotation, f"{path}.{name}".lstrip("."))
        return
    inner = [each for each in get_args(kind) if isinstance(each, type) and issubclass(each, Model)]
    if inner and get_origin(kind) is not list:
        yield from options(inner[0], f"{path}.*" if get_origin(kind) is dict else path)
    else:
        yield path


OPTIONS = sorted(options(ClusterSpec))


def merged(document: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    whole = deepcopy(document)
    for key, value in change.items():
        nested = isinstance(value, dict) and isinstance(whole.get(key), dict)
        whole[key] = merged(whole[key], value) if nested else deepcopy(value)
    return whole


def with_value(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    whole = deepcopy(document)
    *above, last = path.replace("*", "web").split(".")
    at = whole
    for key in above:
        at = at.setdefault(key, {})
    at[last] = value
    return whole


def planned(document: dict[str, Any]) -> ClusterPlan:
    return plan_cluster("small", read_stack("small", {**CONFIG, CLUSTER: document}).spec)


def layout(plan: ClusterPlan) -> list[str]:
    existing, key = (network := plan.spec.network).existing, plan.spec.encryption_key
    kept = (existing.network, existing.subnets, existing.private_zone) if existing else None
    values = {"nodes": plan.network.cidr, "zones": plan.network.zones, "existing": kept, "encryption_key": key}
    values["joins"] = plan.joins
    return [str(values[key] if key in values else getattr(network, key)) for key in NETWORK_OPTIONS if key not in LATER]


def measured(before: ClusterPlan, after: ClusterPlan) -> Effect:
    """Return the effect of the change, found by comparing the plans before and after it."""
    if layout(before) != layout(after):
        return Effect.REFUSED
    pools = list(zip(before.pools, after.pools, strict=True))
    if any(old.replace_digest != new.replace_digest or moved(old, new) for old, new in pools):
        return Effect.REPLACED
    if any(plan_of(old) != plan_of(new) for old, new in pools):
        return Effect.NEXT_MACHINE
    old, new = before.control_plane, after.control_plane
    if any(getattr(old, name) != getattr(new, name) for name in ("os", "size", "disk_gb", "etcd_disk", "image")):
        return Effect.NEXT_MACHINE
    return Effect.IN_PLACE


def moved(old: MachineGroup, new: MachineGroup) -> bool:
    """Return whether a machine of the same name has another address."""
    addresses = {machine.name: machine.address for machine in old.machines}
    return any(addresses.get(machine.name, machine.address) != machine.address for machine in new.machines)


def plan_of(group: MachineGroup) -> dict[str, Any]:
    """Return the node plan without labels and taints, which the control-plane agent writes to the Node."""
    return {**group.node_plan.document(), "registration": {}}


@pytest.mark.parametrize("path", [path for path in OPTIONS if path not in SEEN_ELSEWHERE])
def test_changing_an_option_has_the_effect_that_the_table_says(path: str) -> None:
    before = merged(SAMPLE, CONTEXT.get(path, {}))
    after = merged(with_value(before, path, VALUES[path]), WITH_IT.get(path, {}))
    first = planned(before)
    if effect(path) is Effect.NOT_AVAILABLE:
        with pytest.raises(SpecError, match=path.replace("*", "web").partition(".existing")[0]):
            planned(after)
        return
    assert measured(first, planned(after)) is effect(path)


def test_every_option_has_an_effect_and_every_row_an_option() -> None:
    assert not [path for path in OPTIONS if effect(path) is None]
    assert not [row for row in (*EFFECTS, *NOTES) if not any(f"{path}.".startswith(f"{row}.") for path in OPTIONS)]
    assert set(SEEN_ELSEWHERE) <= set(OPTIONS)


def test_raising_rotation_images_looks_images_up_again() -> None:
    triggers = [
        {
            resource.name: resource.replacement_trigger
            for resource in record("small", {**CONFIG, CLUSTER: document}, preview=True).resources.values()
            if resource.type == STASH and resource.name.endswith("windows-2022")
        }
        for document in (SAMPLE, with_value(SAMPLE, "rotation.images", 1))
    ]
    assert triggers[0] != triggers[1]


def test_effect_takes_pool_names_and_groups_of_options() -> None:
    assert general_path("pools.web.size") == "pools.*.size"
    assert effect("pools.web.size") is Effect.REPLACED
    assert effect("pools.web.kubelet.system_reserved") is Effect.REPLACED
    assert effect("pools.web.kubelet") is None, "accept_low_reserve is in place"
    assert effect("api") is Effect.IN_PLACE
    assert (effect("pools"), effect("nothing")) == (None, None)
