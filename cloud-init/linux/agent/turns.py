"""Decides the next action of a control-plane machine from its agent's view; one machine at a time has the turn."""

from typing import Any, Literal, NamedTuple

Action = Literal[
    "rest", "wait", "take", "snapshot", "switch", "renew", "rekey", "restart", "reboot", "start", "watch", "give"
]


class Sight(NamedTuple):
    """An agent's view of its machine and of the turn."""

    me: str
    refused: str = ""
    """Why the pointer cannot be followed; empty if it can."""
    changed: bool = False
    """The current bundle is not the pointer's."""
    applied: bool = True
    """The static pods match the current configuration."""
    renewal: bool = False
    """A certificate ends soon."""
    urgent: bool = False
    """A certificate ends within days, or has ended."""
    ended: bool = False
    """A certificate has ended."""
    rekey: bool = False
    """The API server needs other keys, or the same keys in another order."""
    restart: bool = False
    """A machine that is revoked may have a watch open at the API server."""
    reboot: bool = False
    """Packages ask for a restart, and the window allows it."""
    holder: str = ""
    """Machine that has the turn; empty if none has, or if it is no longer a member."""
    turn: dict[str, Any] | None = None
    """Note of this machine's turn."""
    done: bool = False
    """The executor has succeeded with the current bundle since the turn began."""
    trouble: str = ""
    """Failure of the executor's last run."""
    unhealthy: str = ""
    """Why the control plane is not healthy; empty if it is."""

    @property
    def wanted(self) -> bool:
        """Whether the machine has to change."""
        due = self.renewal or self.rekey or self.restart or self.reboot
        return self.changed or not self.applied or due


def decide(sight: Sight) -> tuple[Action, str]:
    """Return the next action and the reason.

    An urgent renewal waits for no turn: another machine that is down for months gives none, and without certificates
    etcd and API servers of all machines stop. kubeadm renews them in an upgrade, but once they have ended it fails, as
    on a machine that was switched off in the middle of its turn.
    """
    if sight.urgent and (not (sight.turn or {}).get("started") or (sight.ended and sight.trouble)):
        return "renew", ""
    if sight.holder == sight.me:
        return in_turn(sight)
    if (sight.refused and not sight.restart) or not sight.wanted:
        return "rest", sight.refused
    if sight.holder:
        return "wait", f"{sight.holder} has its turn"
    return ("wait", sight.unhealthy) if sight.unhealthy else ("take", "")


def in_turn(sight: Sight) -> tuple[Action, str]:
    """Return the next action in a machine's turn: the first row whose condition holds."""
    turn = sight.turn or {}
    rows: tuple[tuple[object, Action, str], ...] = (
        (not turn, "take", ""),
        (not turn.get("snapshot"), "snapshot", ""),
        (sight.changed and not sight.refused, "switch", ""),
        (sight.renewal and not turn.get("started"), "renew", ""),  # kubeadm upgrade also renews them
        (sight.rekey and not turn.get("started"), "rekey", ""),
        (sight.restart and not turn.get("started"), "restart", ""),
        (sight.reboot and not turn.get("started") and sight.unhealthy, "watch", sight.unhealthy),
        (sight.reboot and not turn.get("started"), "reboot", ""),
        (not turn.get("started"), "start", ""),
        (not sight.done, "watch", sight.trouble or "the executor runs"),
        (not sight.applied, "watch", "the executor ended well, and kubeadm has not applied the configuration"),
        (sight.unhealthy, "watch", sight.unhealthy),
        (True, "give", sight.refused),
    )
    return next((action, why) for holds, action, why in rows if holds)


def hop(have: str, want: str) -> str:
    """Return why the control plane cannot go from one version to the other; empty if it can."""
    before, after = (tuple(map(int, each.split("."))) for each in (have, want))
    if after < before or after[0] != before[0] or after[1] > before[1] + 1:
        return f"it asks for {want} from {have}: Kubernetes goes up by one minor version at a time, and never back"
    return ""
