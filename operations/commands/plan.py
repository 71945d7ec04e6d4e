"""`mullion plan`: the preview of a cluster as one document, printed as text or JSON.

Only `--resources` and `--against` without a file import Pulumi, so that the command starts fast.
"""

import json
from collections import Counter
from dataclasses import asdict
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from components.catalogue import instance_sizes
from components.checks import reserves
from components.checks.addresses import address_figures
from components.checks.check import MachineGroupSpec, Subject
from components.cost import bill as bills
from components.plan import ClusterPlan, Machine, MachineGroup, plan_cluster
from components.plan.images import started_images
from components.spec.defaults import HARD_EVICTION, windows_cpu_milli
from components.spec.ingress import Ingress
from components.stack_files.stack import Stack
from components.topology.firewall import Rule
from components.topology.load_balancers import LoadBalancer
from operations.clouds.account_limits import account_limits
from operations.commands import plan_text
from operations.console.exits import Exit, Stop
from operations.cost import budget, shown
from operations.stacks import stack_files

FORMAT = 1
"""Version of the document; `--against` refuses any other."""


def plan(name: str, *, as_json: bool, resources: bool, against: str | None, firewall: bool = False) -> None:
    """Print the plan of a stack.

    against: file of an earlier plan or state to compare with; empty: the state of the built cluster.
    firewall: list every firewall rule in the text.
    Raises Stop, after the plan, if the cluster costs more than its budget.
    """
    stack = stack_files.load(name)
    planned = plan_cluster(name, stack.spec)
    bill = bills.bill(planned, stack.region)
    whole = {**document(stack, planned), "cost": shown.summary(bill)}
    if resources:
        whole["resources"] = _resources(name)
    if against is not None:
        whole["against"] = _compared(name, whole, against)
    print(json.dumps(whole, indent=2) if as_json else plan_text.text(whole, firewall=firewall))
    if stack.spec.budget is not None:
        budget.refuse(bill, stack.spec.budget.month)


def _compared(name: str, whole: dict[str, Any], against: str) -> dict[str, Any]:
    """Return the differences from a file; from the built cluster, if `against` is empty."""
    from operations.commands import plan_against

    earlier = plan_against.read(Path(against)) if against else plan_against.from_state(_built(name), f"state of {name}")
    return {"with": against or "the built cluster", **plan_against.compare(whole, earlier)}


def _built(name: str) -> list[Any]:
    """Return the resources in the stack's state; this needs the engine. Raises Stop if it was never built."""
    from operations.commands import kubeconfig
    from operations.recovery import recovery

    with kubeconfig.built(name) as run:
        return recovery.export(run)["deployment"].get("resources") or []


def document(stack: Stack, planned: ClusterPlan) -> dict[str, Any]:
    """Return the plan as JSON values."""
    spec, subject = stack.spec, Subject(stack.name, stack.region, stack.spec)
    return {
        "format": FORMAT,
        "cluster": planned.name,
        "cloud": spec.cloud.value,
        "region": stack.region,
        "expires": spec.expires,
        "protect": spec.protect,
        "kubernetes": spec.kubernetes,
        "spec": spec.model_dump(mode="json"),
        "endpoint": _endpoint(planned),
        "network": _network(subject),
        "load_balancers": [_load_balancer(balancer, spec.ingress) for balancer in planned.load_balancers],
        "pools": [_pool(planned, group, subject) for group in planned.machine_groups],
        "machines": [_machine(planned, group, each) for group in planned.machine_groups for each in group.machines],
        "rules": [_rule(each) for each in planned.rules],
        "reachability": {
            "needed": len(planned.paths),
            "missing": [asdict(each) for each in planned.paths if each.missing],
        },
        "images": _images(planned),
        "limits": account_limits(planned),
        "warnings": [
            {
                "id": warning.id,
                "path": warning.path,
                "wrong": warning.wrong,
                "fix": warning.fix,
                "acknowledged": warning.acknowledged,
            }
            for warning in stack.warnings
        ],
    }


def _images(planned: ClusterPlan) -> dict[str, Any]:
    """Return the container images that machines start by digest, and those that they start by tag."""
    found = {image for group in planned.machine_groups for image in started_images(planned, group)}
    by_digest = sorted(image for image in found if "@" in image)
    return {"by_digest": by_digest, "by_tag": sorted(found - set(by_digest))}


def _endpoint(planned: ClusterPlan) -> dict[str, Any]:
    addresses = [str(address) for address in planned.endpoint.balancer_addresses]
    return {**asdict(planned.endpoint), "balancer_addresses": addresses, "url": planned.endpoint.url}


def _load_balancer(balancer: LoadBalancer, ingress: Ingress) -> dict[str, Any]:
    return {
        "name": balancer.name,
        "internal": balancer.internal,
        "addresses": [str(address) for address in balancer.addresses],
        "pools": list(balancer.pools),
        "ports": [{"port": port, "node_port": node_port} for port, node_port in balancer.ports],
        "health": {"ports": list(balancer.probed_ports), "path": balancer.health_path},
        "allow": [str(allowed) for allowed in ingress.load_balancers[balancer.name].allow],
    }


def _network(subject: Subject) -> dict[str, Any]:
    """Return the ranges and the pod addresses needed by two rules (IPP-02: a /24 per node; IPP-03: nodes and pods)."""
    network, figures = subject.spec.network, address_figures(subject)
    return {
        "mode": network.mode.value,
        "egress": network.egress.value,
        **{name: str(getattr(network, name)) for name in ("nodes", "pods", "services", "dns")},
        "pod_addresses": {
            "available": figures["available"],
            "needed_by_node": figures["by_node"],
            "needed_by_pods": figures["by_pods"],
            "nodes": figures["nodes"],
        },
    }


def _pool(planned: ClusterPlan, group: MachineGroup, subject: Subject) -> dict[str, Any]:
    return {
        "name": group.name,
        "control_plane": group.is_control_plane,
        "os": group.os.value,
        "size": group.size,
        "disk_gb": group.disk_gb,
        **({"etcd_disk": {**asdict(group.etcd_disk), "type": group.etcd_disk.type.value}} if group.etcd_disk else {}),
        "image": group.image,
        "count": len(group.machines),
        "max_unavailable": group.max_unavailable,
        "canary": group.canary,
        "labels": _words(group.node_plan.registration["labels"]),
        "taints": _words(group.node_plan.registration["taint_text"]),
        "reserved": _reserved(group, subject),
        "allocatable": _allocatable(group, subject),
        "bundle": {"key": group.bundle.key, "bytes": len(group.bundle.content), "sha256": group.bundle.sha256},
        "replace_digest": group.replace_digest,
        "user_data": {"bytes": group.longest_user_data, "limit": planned.spec.cloud.facts.user_data_limit},
    }


def _words(text: str) -> list[str]:
    return text.split(",") if text else []


def _limits(group: MachineGroup, subject: Subject) -> MachineGroupSpec:
    return next(limits for limits in subject.groups if limits.name == group.name)


def _reserved(group: MachineGroup, subject: Subject) -> dict[str, dict[str, str]]:
    """Return the kubelet's reserves as quantities: for the system, for Kubernetes, hard eviction."""
    kubelet, size = _limits(group, subject).options.kubelet, instance_sizes.size(group.size)
    system = kubelet.system_reserved.model_dump(exclude_none=True)
    if group.os.is_windows:
        system = {"cpu": f"{windows_cpu_milli(size.vcpu if size else 0)}m", **system}
    eviction = {"memory.available": HARD_EVICTION[group.family]["memory.available"], **kubelet.eviction_hard}
    kube = reserves.kube_reserved(_limits(group, subject), size)
    return {"system": system, "kube": kube, "eviction": eviction}


def _allocatable(group: MachineGroup, subject: Subject) -> dict[str, int] | None:
    """Return a node's allocatable CPU (thousandths of a core) and memory (bytes) (RES-06). None for an unknown size."""
    size, limits = instance_sizes.size(group.size), _limits(group, subject)
    if size is None:
        return None
    return {
        "cpu_milli": reserves.allocatable_cpu_milli(limits, size),
        "memory_bytes": reserves.allocatable_memory(limits, size),
    }


def _machine(planned: ClusterPlan, group: MachineGroup, machine: Machine) -> dict[str, Any]:
    zones = planned.network.zone_names
    return {
        "name": machine.name,
        "pool": group.name,
        "os": group.os.value,
        "size": group.size,
        "zone": zones[machine.zone] if zones else str(machine.zone),
        "address": str(machine.address),
        **({} if machine.pods is None else {"pods": str(machine.pods)}),
    }


def _rule(rule: Rule) -> dict[str, Any]:
    peer = str(rule.peer) if isinstance(rule.peer, IPv4Network) else rule.peer.value
    return {
        "name": rule.name,
        "group": rule.group.value,
        "direction": "in" if rule.ingress else "out",
        "peer": peer,
        "protocol": rule.protocol,
        "ports": list(rule.ports),
        "why": rule.why,
    }


def _resources(name: str) -> dict[str, int]:
    """Run the Pulumi program offline, and return the number of its resources by type."""
    from operations.recorder.recorder import record

    recording = record(name, stack_files.config(name), preview=True)
    if recording.errors:
        raise Stop(Exit.FAILED, "\n".join([f"the program refused stack {name}:", *recording.errors]))
    return dict(sorted(Counter(each.type for each in recording.resources.values()).items()))
