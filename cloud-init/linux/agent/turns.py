"""What a control plane does to itself next, decided from what its agent sees: one machine at a time has the turn."""

from typing import Any, Literal, NamedTuple

Action = Literal["rest", "wait", "take", "snapshot", "switch", "renew", "rekey", "start", "watch", "give"]


class Sight(NamedTuple):
    """What one agent sees of its machine and of the turn."""

    me: str
    refused: str = ""
    """Why the pointer cannot be followed; empty where it can."""
    changed: bool = False
    """Another bundle than the pointer's is current."""
    applied: bool = True
    """The static pods are as the current configuration says."""
    renewal: bool = False
    """A certificate ends soon."""
    rekey: bool = False
    """The API server shall have other keys, or another order of them."""
    holder: str = ""
    """Who has the turn; empty: nobody, or a machine that is no member any more."""
    turn: dict[str, Any] | None = None
    """This machine's note of its turn."""
    done: bool = False
    """The executor ended well, with the current bundle, since the turn began."""
    trouble: str = ""
    """How the executor's last run failed."""
    unhealthy: str = ""
    """Which API server is not ready."""


def decide(sight: Sight) -> tuple[Action, str]:
    """The one thing to do now, and why."""
    if sight.holder == sight.me:
        return in_turn(sight)
    wanted = sight.changed or not sight.applied or sight.renewal or sight.rekey
    if sight.refused or not wanted:
        return "rest", sight.refused
    if sight.holder:
        return "wait", f"{sight.holder} has its turn"
    return ("wait", sight.unhealthy) if sight.unhealthy else ("take", "")


def in_turn(sight: Sight) -> tuple[Action, str]:
    """What comes next in a machine's turn: the first row whose condition holds."""
    turn = sight.turn or {}
    rows: tuple[tuple[object, Action, str], ...] = (
        (not turn, "take", ""),
        (not turn.get("snapshot"), "snapshot", ""),
        (sight.changed and not sight.refused, "switch", ""),
        (sight.renewal and not turn.get("started"), "renew", ""),  # kubeadm's upgrade renews them too
        (sight.rekey and not turn.get("started"), "rekey", ""),
        (not turn.get("started"), "start", ""),
        (not sight.done, "watch", sight.trouble or "the executor runs"),
        (not sight.applied, "watch", "the executor ended well, and kubeadm has not applied the configuration"),
        (sight.unhealthy, "watch", sight.unhealthy),
        (True, "give", sight.refused),
    )
    return next((action, why) for holds, action, why in rows if holds)


def hop(have: str, want: str) -> str:
    """Why a control plane cannot go from one version to the other; empty where it can."""
    before, after = (tuple(map(int, each.split("."))) for each in (have, want))
    if after < before or after[0] != before[0] or after[1] > before[1] + 1:
        return f"it asks for {want} from {have}: Kubernetes goes up by one minor version at a time, and never back"
    return ""
