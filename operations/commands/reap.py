"""`mullion reap`: remove the clusters that are past their expiry, by their states."""

import fcntl
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from components.rollout.plain_text import plain
from components.spec import expiry
from operations.clouds import cloud_tables
from operations.clouds.identity import of_provider
from operations.commands import ls, removal
from operations.commands.ls import Inventory
from operations.console.exits import Exit, Stop, ending
from operations.console.table import table
from operations.engine import clusters, workspace
from operations.engine.clusters import SANDBOX, ClusterFacts, span, utc
from operations.stacks import account, ephemeral, stack_files, target
from operations.stacks.target import Target

FORMATS = ("text", "json", "markdown")

KEPT, EXPIRED, LATER, REMOVED, FAILED = "kept", "expired", "later", "removed", "not removed"
"""Results. expired: a run with --yes would remove the cluster. later: not removed, because --max is reached."""


@dataclass(frozen=True)
class Verdict:
    """Result for one cluster, and the reason. code: exit code of a failed removal."""

    facts: ClusterFacts
    result: str
    why: str
    code: Exit = Exit.OK


def reap(*, sandbox: bool, yes: bool, most: int, form: str) -> None:
    """Print the expired clusters; with yes remove them, at most `most`, the longest expired first.

    Raises Stop if a cluster could not be removed, or a state could not be read.
    """
    if form not in FORMATS:
        raise Stop(Exit.USAGE, f"--format {form} is unknown; write {', '.join(FORMATS)}")
    if not sandbox and not workspace.has_backend():
        raise Stop(
            Exit.USAGE, "no backend for real accounts is set, so there is no state to read: pulumi login, or --sandbox"
        )
    with alone() if yes else nullcontext():
        found, now = ls.of_sandboxes() if sandbox else ls.of_backend(), expiry.now()
        verdicts = _limited(judged(found.clusters, now), most, _removed if yes else None)
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
    """Return a verdict for each cluster, KEPT or EXPIRED, the longest expired first."""
    verdicts = [Verdict(each, KEPT if (why := kept(each, now)) else EXPIRED, why) for each in found]
    order = sorted((each for each in verdicts if each.result == EXPIRED), key=lambda each: each.facts.expires or now)
    late = [
        replace(verdict, why=f"expired {span(now - verdict.facts.expires)} ago" if verdict.facts.expires else "")
        for verdict in order
    ]
    return late + [each for each in verdicts if each.result == KEPT]


def _limited(verdicts: list[Verdict], most: int, remove: Callable[[Verdict], Verdict] | None) -> list[Verdict]:
    """Remove the expired clusters until `most` are removed. A failed removal does not count.

    remove: removes a cluster and returns the verdict; None in a dry run, which counts every removal as done.
    """
    done = list[Verdict]()
    for verdict in verdicts:
        if verdict.result != EXPIRED:
            done.append(verdict)
        elif sum(one.result in (EXPIRED, REMOVED) for one in done) >= most:
            done.append(replace(verdict, result=LATER, why=f"{verdict.why}; --max {most} is reached"))
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
    except Exception as error:  # a malformed state of one cluster must not stop the removal of the others
        code, message = ending(error)
        if code is Exit.INTERRUPTED:
            raise
        return replace(verdict, result=FAILED, why=plain(message, keep="\n"), code=code)
    return replace(verdict, result=REMOVED, why=f"{verdict.why}; {summary.splitlines()[0]}")


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
