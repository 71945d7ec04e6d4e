"""Whether the table of firewall rules lets packets through, and which rule is missing if not."""

from ipaddress import IPv4Network

from components.topology.addressing import ANYWHERE
from components.topology.firewall import Group, Rule, peer_name


def allows(table: tuple[Rule, ...], source: Group | None, target: Group | None, protocol: str, port: int) -> str | None:
    """Return None if source can reach target (None: the internet) on the port, else the missing rule."""
    if source is not None and not any(
        not entry.ingress
        and entry.group == source
        and entry.peer in (ANYWHERE, target)
        and _covers(entry, protocol, port)
        for entry in table
    ):
        return (
            f"no outbound rule of {source.value} to {target.value if target else 'the internet'} on {protocol}/{port}"
        )
    return None if target is None else lets_in(table, source, target, protocol, port)


def lets_in(
    table: tuple[Rule, ...], source: Group | IPv4Network | None, target: Group, protocol: str, port: int
) -> str | None:
    """Return None if target lets in packets of source, a group or a range, else the missing rule."""
    if any(
        entry.ingress and entry.group == target and entry.peer == source and _covers(entry, protocol, port)
        for entry in table
    ):
        return None
    origin = "the internet" if source is None else peer_name(source)
    return f"no inbound rule of {target.value} from {origin} on {protocol}/{port}"


def _covers(rule: Rule, protocol: str, port: int) -> bool:
    return rule.protocol in ("all", protocol) and rule.ports[0] <= port <= rule.ports[1]
