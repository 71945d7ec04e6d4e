"""`mullion plan`: what a cluster will be, as one document that is printed as text or as JSON.

Nothing here imports Pulumi, so that it costs no more than reading the stack; only `--resources` does.
"""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from components.catalogue import instance_sizes
from components.checks import reserves
from components.checks.addresses import address_figures
from components.checks.check import Subject
from components.machine import user_data
from components.plan import ClusterPlan, Machine, MachineGroup, plan_cluster
from components.stack_files.stack import Stack
from components.topology.firewall import Rule, SecurityGroup
from operations.commands import plan_against, plan_text
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files

FORMAT = 1
"""Version of the document; `--against` refuses any other."""


def plan(name: str, *, as_json: bool, resources: bool, earlier: Path | None) -> None:
    """Print the plan of a stack."""
    stack = stack_files.load(name)
    planned = plan_cluster(name, stack.spec)
    whole = document(stack, planned)
    if resources:
        whole["resources"] = _resources(name)
    if earlier:
        whole["against"] = plan_against.compare(whole, plan_against.read(earlier))
    print(json.dumps(whole, indent=2) if as_json else plan_text.text(whole))


def document(stack: Stack, planned: ClusterPlan) -> dict[str, Any]:
    """Return everything that is planned, as JSON can hold it."""
    spec, subject = stack.spec, Subject(stack.name, stack.region, stack.spec)
    return {
        "format": FORMAT,
        "cluster": planned.name,
        "cloud": spec.cloud.value,
        "region": stack.region,
        "kubernetes": spec.kubernetes,
        "endpoint": asdict(planned.endpoint) | {"url": planned.endpoint.url},
        "network": _network(subject),
        "pools": [_pool(planned, group, subject) for group in planned.machine_groups],
        "machines": [_machine(planned, group, each) for group in planned.machine_groups for each in group.machines],
        "rules": [_rule(each) for each in planned.rules],
        "reachability": {
            "needed": len(planned.paths),
            "missing": [asdict(each) for each in planned.paths if each.missing],
        },
        "warnings": [
            {"id": each.id, "path": each.path, "wrong": each.wrong, "fix": each.fix, "acknowledged": each.acknowledged}
            for each in stack.warnings
        ],
    }


def _network(subject: Subject) -> dict[str, Any]:
    """Ranges, and how many pod addresses both rules ask for (IPP-02: a /24 a node; IPP-03: nodes and their pods)."""
    network, figures = subject.spec.network, address_figures(subject)
    return {
        "mode": network.mode.value,
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
        "image": group.image,
        "count": len(group.machines),
        "max_unavailable": group.max_unavailable,
        "allocatable": _allocatable(group, subject),
        "bundle": {"key": group.bundle.key, "bytes": len(group.bundle.content), "sha256": group.bundle.sha256},
        "replace_digest": group.replace_digest,
        "user_data": {"bytes": group.longest_user_data, "limit": user_data.LIMITS[planned.spec.cloud.value]},
    }


def _allocatable(group: MachineGroup, subject: Subject) -> dict[str, int] | None:
    """What a node has for pods (RES-06): thousandths of a core, bytes. None for a size that no table has."""
    size = instance_sizes.size(group.size)
    limits = next(each for each in subject.groups if each.name == group.name)
    if size is None:
        return None
    return {
        "cpu_milli": reserves.allocatable_cpu_milli(limits, size.vcpu),
        "memory_bytes": reserves.allocatable_memory(limits, size.memory),
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
    peer = rule.peer.value if isinstance(rule.peer, SecurityGroup) else str(rule.peer)
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
    """Run the wiring on the recording monitor, and count what it registers by type."""
    from operations.recorder.recorder import record

    recording = record(name, stack_files.config(name), preview=True)
    if recording.errors:
        raise Stop(Exit.FAILED, "\n".join([f"the program refused stack {name}:", *recording.errors]))
    return dict(sorted(Counter(each.type for each in recording.resources.values()).items()))
