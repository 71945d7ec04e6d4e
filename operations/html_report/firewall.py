"""The firewall rules as a matrix: who may send to whom."""

from collections.abc import Iterable
from dataclasses import dataclass

from components.plan import ClusterPlan
from components.topology.firewall import Rule, SecurityGroup


@dataclass(frozen=True)
class Permission:
    """Ports that a rule opens (tcp 6443, udp 30000-32767, all), and what for."""

    ports: str
    why: str


@dataclass(frozen=True)
class Matrix:
    """Incoming rules. sources: columns. rows: a target, and its permissions by column."""

    sources: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[Permission, ...], ...]], ...]
    outgoing: tuple[tuple[str, str, Permission], ...]
    """Outgoing rules: group, peer, permission."""


def matrix(planned: ClusterPlan) -> Matrix:
    """Return the rules of a planned cluster, without names that only the cloud's resources need."""
    incoming = [rule for rule in planned.rules if rule.ingress]
    cells: dict[tuple[str, str], list[Permission]] = {}
    for rule in incoming:
        cells.setdefault((rule.group.value, _peer(rule)), []).append(_permission(rule))
    targets, sources = _once(rule.group.value for rule in incoming), _once(map(_peer, incoming))
    rows = tuple((target, tuple(tuple(cells.get((target, source), ())) for source in sources)) for target in targets)
    outgoing = tuple((rule.group.value, _peer(rule), _permission(rule)) for rule in planned.rules if not rule.ingress)
    return Matrix(sources, rows, outgoing)


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _peer(rule: Rule) -> str:
    return rule.peer.value if isinstance(rule.peer, SecurityGroup) else str(rule.peer)


def _permission(rule: Rule) -> Permission:
    first, last = rule.ports
    if rule.protocol == "all":
        return Permission("all", rule.why)
    return Permission(f"{rule.protocol} {first}" if first == last else f"{rule.protocol} {first}-{last}", rule.why)
