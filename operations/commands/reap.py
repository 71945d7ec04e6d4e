"""`mullion reap`: remove the clusters that are past their expiry, by their states."""

import fcntl
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from components.rollout.plain_text import plain
from components.spec import expiry
from operations.clouds import cloud_tables
from operations.clouds.identity import of_provider
from operations.commands import extend, ls, removal
from operations.commands.ls import Inventory
from operations.console.exits import Exit, Stop, ending
from operations.console.table import table
from operations.engine import clusters, failures, workspace
from operations.engine.clusters import SANDBOX, ClusterFacts, span, utc
from operations.stacks import account, ephemeral, stack_files, target
from operations.stacks.target import Target

FORMATS = ("text", "json", "markdown")

KEPT, EXPIRED, LATER, REMOVED, FAILED = "kept", "expired", "later", "removed", "not removed"
"""Results. expired: a run with --yes would remove the cluster. later: not begun, because --max is reached, the time of
--within is over, or a signal came."""
TRIED = timedelta(days=1)
"""Clusters that expired longer ago come last: earlier reapers could not remove them, and each try takes minutes."""


@dataclass(frozen=True)
class Verdict:
    """Result for one cluster, and the reason. code: exit code of a failed removal."""

    facts: ClusterFacts
    result: str
    why: str
    code: Exit = Exit.OK


@dataclass(frozen=True)
class Limits:
    """Limits of one reaper. most: clusters that it removes. within: time in which it begins removals. since: moment at
    which it began, of `time.monotonic`.
    """

    most: int
    within: str
    since: float = field(default_factory=lambda: time.monotonic())  # noqa: PLW0108 - tests replace the clock

    def __post_init__(self) -> None:
        extend.seconds("--within", self.within)

    def why_later(self, results: Sequence[str], codes: Sequence[Exit]) -> str:
        """Return why no further removal begins, by the results and codes so far; empty if one may begin."""
        if Exit.INTERRUPTED in codes:
            return "interrupted"
        if sum(each in (EXPIRED, REMOVED) for each in results) >= self.most:
            return f"--max {self.most} is reached"
        over = time.monotonic() - self.since >= extend.seconds("--within", self.within)
        return f"--within {self.within} is over" if over else ""


def reap(*, sandbox: bool, yes: bool, limits: Limits, form: str) -> None:
    """Print the expired clusters; with yes remove them within the limits, the longest expired first.

    Raises Stop if a cluster could not be removed, or a state could not be read.
    """
    if form not in FORMATS:
        raise Stop(Exit.USAGE, f"--format {form} is unknown; write {', '.join(FORMATS)}")
    if not sandbox and not workspace.has_backend():
        raise Stop(
            Exit.USAGE, "no backend for real accounts is set, so there is no state to read: pulumi login, or --sandbox"
        )
    with alone() if yes else nullcontext(), failures.interruptible():
        found, now = ls.of_sandboxes() if sandbox else ls.of_backend(), expiry.now()
        verdicts = _limited(judged(found.clusters, now), limits, _removed if yes else None)
        if yes:
            _forget_unbuilt(found, now)
    print(report(verdicts, found, form, now, dry=not yes, sandbox=sandbox))
    for line in found.unread:
        print(f"mullion: {line}", file=sys.stderr)
    code = max([each.code for each in verdicts] + [Exit.FAILED] * bool(found.unread), default=Exit.OK)
    if code:
        left = [each.facts.name for each in verdicts if each.result == FAILED]
        parts = [f"not removed: {', '.join(left)}"] * bool(left) + ["a state cannot be read"] * bool(found.unread)
        raise Stop(Exit(code), "; ".join(parts))


@contextmanager
def alone() -> Iterator[None]:
    """Run only one reaper of this clone at a time. The backend's lock does the same for reapers of other clones."""
    target.root().mkdir(parents=True, exist_ok=True)
    with (target.root() / "reap.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def judged(found: list[ClusterFacts], now: datetime) -> list[Verdict]:
    """Return a verdict for each cluster, KEPT or EXPIRED, the longest expired first, but those of TRIED last."""
    verdicts = [Verdict(each, KEPT if (why := kept(each, now)) else EXPIRED, why) for each in found]
    order = sorted(
        (each for each in verdicts if each.result == EXPIRED), key=lambda each: in_turn(each.facts.expires, now)
    )
    late = [
        replace(verdict, why=f"expired {span(now - verdict.facts.expires)} ago" if verdict.facts.expires else "")
        for verdict in order
    ]
    return late + [each for each in verdicts if each.result == KEPT]


def in_turn(expires: datetime | None, now: datetime) -> tuple[bool, datetime]:
    """Return the key by which expired clusters are sorted."""
    ends = expires or now
    return now - ends > TRIED, ends


def _limited(verdicts: list[Verdict], limits: Limits, remove: Callable[[Verdict], Verdict] | None) -> list[Verdict]:
    """Remove the expired clusters within the limits. A failed removal does not count.

    remove: removes a cluster and returns the verdict; None in a dry run, which counts every removal as done.
    """
    done = list[Verdict]()
    for verdict in verdicts:
        if verdict.result != EXPIRED:
            done.append(verdict)
        elif later := limits.why_later([one.result for one in done], [one.code for one in done]):
            done.append(replace(verdict, result=LATER, why=f"{verdict.why}; {later}"))
        else:
            done.append(remove(verdict) if remove else verdict)
    return done


def kept(facts: ClusterFacts, now: datetime) -> str:
    """Return why a cluster must stay; empty if it is past its expiry."""
    if facts.protected:
        return "protected"
    if facts.unreadable:
        return f"its expiry is unknown: {facts.unreadable}"
    if facts.expires is None:
        return "it does not expire"
    return f"expires in {span(facts.expires - now)}" if facts.expires > now else ""


def _removed(verdict: Verdict) -> Verdict:
    """Remove a cluster, and return the verdict. Its progress is printed to standard error."""
    facts = verdict.facts
    print(f"\n{facts.name}: {verdict.why}, owner {plain(facts.owner) or 'unknown'}", file=sys.stderr, flush=True)
    place = Target(target.SANDBOX if facts.place == SANDBOX else facts.cloud)
    try:
        with redirect_stdout(sys.stderr):
            summary = removal.by_state(facts.name, place, refuse=_still(facts))
    except (Exception, KeyboardInterrupt) as error:  # a malformed state of one cluster must not stop the others
        code, message = ending(error)
        return replace(verdict, result=FAILED, why=plain(message, keep="\n"), code=code)
    first, *others = summary.splitlines()
    kept = [each for each in others if each.startswith("Kept")]
    return replace(verdict, result=REMOVED, why="; ".join([verdict.why, first, *kept]))


def _still(facts: ClusterFacts) -> Callable[[dict[str, Any]], None]:
    """Return a function that raises Stop if, by the newest state, the cluster must stay, or if this environment uses
    another account.
    """

    def refuse(deployment: dict[str, Any]) -> None:
        newest = clusters.read(facts.name, facts.place, deployment)
        if newest and (why := kept(newest, expiry.now())):
            raise Stop(Exit.REFUSED, f"{facts.name} has changed meanwhile and is kept: {why}")
        resources = deployment.get("resources") or []
        cloud = cloud_tables.of(resources)
        accounts = cloud.accounts(resources)
        if facts.place == SANDBOX or not accounts:
            return
        used = of_provider(cloud.name, _provider(cloud.name, resources))
        if not used.certain:
            print(f"warning: {facts.name} has credentials of its own, so its account is not compared", file=sys.stderr)
        elif (here := account.account(cloud, used)) not in accounts:
            raise Stop(
                Exit.REFUSED,
                f"{facts.name} is in account {', '.join(sorted(accounts))}, but this environment uses "
                f"{here or cloud.unknown}; nothing was changed",
            )

    return refuse


def _provider(package: str, resources: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings of the provider in a state, which the engine deletes with; empty if it has none."""
    found = [each for each in resources if each["type"] == f"pulumi:providers:{package}"]
    return found[0].get("inputs") or {} if found else {}


def _forget_unbuilt(found: Inventory, now: datetime) -> None:
    """Delete expired stack files of runs that were killed before they created anything."""
    listed = {each.name for each in found.clusters}
    for name in ephemeral.names():
        if name in listed or target.recall(name) is not None:
            continue
        ends = ephemeral.ends(name)
        if name not in stack_files.names() or (ends and ends <= now):
            ephemeral.forget(name)


def report(verdicts: list[Verdict], found: Inventory, form: str, now: datetime, *, dry: bool, sandbox: bool) -> str:
    """Return the report: text, JSON or Markdown. found: for resources without a state."""
    if form == "json":
        rows = [{**ls.document(each.facts, now), "result": each.result, "reason": each.why} for each in verdicts]
        return json.dumps({"dry_run": dry, "clusters": rows, **ls.stateless_document(found)}, indent=2)
    headers = ("cluster", "owner", "expires", "machines", "result", "reason")
    lines = [
        (
            verdict.facts.name,
            verdict.facts.owner,
            utc(verdict.facts.expires),
            verdict.facts.machines,
            verdict.result,
            verdict.why,
        )
        for verdict in verdicts
    ]
    parts = [listing(headers, lines, form) if lines else "no clusters", *ls.without_state(found.stateless)]
    if dry and any(each.result == EXPIRED for each in verdicts):
        parts.append("Nothing was changed. To remove the expired clusters: the same command with --yes")
    if not sandbox:
        searches = [f"\n  {each}" for each in ls.searches(found.clusters)]
        parts.append(
            "Resources without a state are not removed here, but by their tags: mullion reap --by-tags CLOUD. "
            f"To list all with Mullion's tags:{''.join(searches)}"
        )
    return "\n\n".join(parts)


def listing(headers: Sequence[str], lines: Sequence[Sequence[Any]], form: str) -> str:
    """Return a table as text or as Markdown."""
    if form != "markdown":
        return table(headers, lines)
    return "\n".join([_row(headers), "|".join(["", *["---"] * len(headers), ""]), *map(_row, lines)])


def _row(cells: Any) -> str:
    return "| " + " | ".join(plain(each).replace("|", "\\|").replace("\n", " ") for each in cells) + " |"
