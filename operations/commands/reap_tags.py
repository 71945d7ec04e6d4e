"""`mullion reap --by-tags`: remove clusters past their expiry whose state is lost, by the tags of their resources."""

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime

from components.rollout.plain_text import plain
from components.spec import expiry
from operations.commands import ls, reap
from operations.commands.reap import EXPIRED, FAILED, KEPT, LATER, REMOVED
from operations.console.exits import Exit, Stop, ending
from operations.engine import failures, workspace
from operations.engine.clusters import names_of, span, utc
from operations.reaping import accounts, sweep
from operations.reaping.sweep import Left
from operations.reaping.things import Account, Remains

BY_STATE = "it has a state: mullion reap without --by-tags removes it once it is expired"


@dataclass(frozen=True)
class Asked:
    """What the caller asked for."""

    cloud: str
    limits: reap.Limits
    regions: tuple[str, ...] = ()
    sandbox: bool = False
    yes: bool = False
    snapshots: bool = False
    form: str = "text"


@dataclass(frozen=True)
class Verdict:
    """Result for one cluster in one account. left: what could not be deleted."""

    account: str
    remains: Remains
    result: str
    why: str
    left: tuple[Left, ...] = ()
    code: Exit = Exit.OK


def run(asked: Asked) -> None:
    """Print the expired clusters without a state; with yes remove them, the longest expired first.

    Raises Stop if a cluster could not be removed, or if a state could not be read, because any of them may have it.
    """
    if asked.form not in reap.FORMATS:
        raise Stop(Exit.USAGE, f"--format {asked.form} is unknown; write {', '.join(reap.FORMATS)}")
    accounts.check(asked.cloud)
    if not asked.sandbox and not workspace.has_backend():
        raise Stop(
            Exit.USAGE,
            "no backend for real accounts is set, so nobody can say which clusters have a state: pulumi login "
            "(if its folder or bucket is lost, to an empty one)",
        )
    with reap.alone() if asked.yes else nullcontext(), failures.interruptible():
        listed, now = ls.of_sandboxes() if asked.sandbox else ls.of_backend(), expiry.now()
        with accounts.opened(asked.cloud, asked.regions, sandbox=asked.sandbox) as found:
            verdicts = [one for account in found for one in _judged(account, asked, listed, now)]
            verdicts = _limited(verdicts, asked, {each.name: each for each in found}, listed, now)
    print(report(verdicts, asked, now))
    for line in listed.unread:
        print(f"mullion: {line}", file=sys.stderr)
    code = max([each.code for each in verdicts] + [Exit.FAILED] * bool(listed.unread), default=Exit.OK)
    if code:
        failed = [each.remains.cluster for each in verdicts if each.result == FAILED]
        parts = [f"not removed: {', '.join(failed)}"] * bool(failed) + ["a state cannot be read"] * bool(listed.unread)
        raise Stop(Exit(code), "; ".join(parts))


def _judged(account: Account, asked: Asked, listed: ls.Inventory, now: datetime) -> list[Verdict]:
    """Return a verdict for each cluster of an account: KEPT or EXPIRED. Raises Stop if the account cannot be listed."""
    unknown = "a state cannot be read, and it may be this cluster's" if listed.unread else ""
    stated = listed.names
    verdicts = list[Verdict]()
    for each in accounts.clusters_of(account):
        kept = each.kept(now, snapshots=asked.snapshots) or _claimed(each, listed)
        why = BY_STATE if each.has_state(stated) else kept or unknown
        verdicts.append(Verdict(account.name, each, KEPT if why else EXPIRED, why))
    return verdicts


def _claimed(remains: Remains, listed: ls.Inventory) -> str:
    """Return which resource of a cluster is in the state of another; empty if none is.

    Whoever may set tags could give a resource of a running cluster the tags of an expired one.
    """
    for facts in listed.clusters:
        for thing in remains.things:
            if not facts.ids.isdisjoint(names_of(thing.id)):
                return f"{thing.kind} {thing.id} is in the state of {facts.name}; its tags name another cluster"
    return ""


def _limited(
    verdicts: list[Verdict], asked: Asked, found: dict[str, Account], listed: ls.Inventory, now: datetime
) -> list[Verdict]:
    """Remove expired clusters within the limits, as `reap` does; a dry run counts them as removed."""
    late = sorted(
        (each for each in verdicts if each.result == EXPIRED), key=lambda each: reap.in_turn(each.remains.expires, now)
    )
    done = list[Verdict]()
    for each in late:
        ago = f"expired {span(now - each.remains.expires)} ago" if each.remains.expires else ""
        verdict = replace(each, why=ago)
        if later := asked.limits.why_later([one.result for one in done], [one.code for one in done]):
            done.append(replace(verdict, result=LATER, why=f"{ago}; {later}"))
        else:
            done.append(_removed(found[each.account], verdict, asked, listed) if asked.yes else verdict)
    return done + [each for each in verdicts if each.result == KEPT]


def _removed(account: Account, verdict: Verdict, asked: Asked, listed: ls.Inventory) -> Verdict:
    """Remove a cluster, and return the verdict. Its progress is printed to standard error."""
    cluster = verdict.remains.cluster
    print(f"\n{plain(cluster)}: {verdict.why}", file=sys.stderr, flush=True)
    try:
        still = _still(verdict.remains, asked, listed)
        outcome = sweep.removed(account, cluster, still, snapshots=asked.snapshots, tell=_tell)
    except (Exception, KeyboardInterrupt) as error:  # one cluster must not stop the removal of the others
        code, message = ending(error)
        return replace(verdict, result=FAILED, why=plain(message, keep="\n"), code=code)
    count = f"{len(outcome.deleted)} deleted"
    if outcome.kept:
        why = f"{cluster} has changed meanwhile and is kept: {outcome.kept}; {count}"
        return replace(verdict, result=FAILED, why=why, code=Exit.REFUSED)
    if outcome.left:
        why = f"{verdict.why}; {count}, {len(outcome.left)} left"
        return replace(verdict, result=FAILED, why=why, left=tuple(outcome.left), code=Exit.FAILED)
    retained: dict[str, list[str]] = {}
    for each in verdict.remains.things:
        retained.setdefault(each.retained, []).append(each.id)
    stays = "".join(f"; kept {why}: {', '.join(ids)}" for why, ids in retained.items() if why)
    return replace(verdict, result=REMOVED, why=f"{verdict.why}; {count}{stays}")


def _still(judged: Remains, asked: Asked, listed: ls.Inventory) -> Callable[[Remains], str]:
    """Return a function that returns why a cluster must stay, by its present tags and resources.

    A cluster that is being removed may have lost the resource that says when it was created. Then the first verdict
    holds, as long as no resource has a new expiry or protection.
    """
    texts = {each.expires for each in judged.things}

    def why(present: Remains) -> str:
        found = present.kept(expiry.now(), snapshots=asked.snapshots)
        same = {each.expires for each in present.things} <= texts and not any(each.protected for each in present.things)
        return _claimed(present, listed) or ("" if same else found)

    return why


def _tell(line: str) -> None:
    print(plain(line), file=sys.stderr, flush=True)


def report(verdicts: list[Verdict], asked: Asked, now: datetime) -> str:
    """Return the report: text, JSON or Markdown."""
    if asked.form == "json":
        rows = [_row(each, now) for each in verdicts]
        return json.dumps({"dry_run": not asked.yes, "cloud": asked.cloud, "clusters": rows}, indent=2)
    headers = ("cluster", "account", "owner", "expires", "resources", "result", "reason")
    lines = [
        (
            *(each.remains.cluster, each.account, each.remains.owner, utc(each.remains.expires)),
            *(len(each.remains.things), each.result, each.why),
        )
        for each in verdicts
    ]
    parts = [reap.listing(headers, lines, asked.form) if lines else "no clusters with Mullion's tags"]
    left = [(each.remains.cluster, one.thing.kind, one.thing.id, one.why) for each in verdicts for one in each.left]
    if left:
        parts += ["Not deleted:", reap.listing(("cluster", "kind", "id", "reason"), left, asked.form)]
    if not asked.yes and any(each.result == EXPIRED for each in verdicts):
        parts.append("Nothing was changed. To remove the expired clusters: the same command with --yes")
    return "\n\n".join(parts)


def _row(verdict: Verdict, now: datetime) -> dict[str, object]:
    remains = verdict.remains
    return {
        "name": remains.cluster,
        "account": verdict.account,
        "owner": remains.owner or None,
        "expires": utc(remains.expires) or None,
        "expired": remains.expires is not None and remains.expires <= now,
        "result": verdict.result,
        "reason": verdict.why,
        "resources": [{"kind": each.kind, "id": each.id, "region": each.region} for each in remains.things],
        "left": [{"kind": each.thing.kind, "id": each.thing.id, "reason": each.why} for each in verdict.left],
    }
