"""What the removal of a temporary cluster by its state leaves in the account: resources that are in no state.

A provider or an engine that is killed after the cloud has acted leaves such resources, and they keep networks and
groups from being deleted. They are found by the cluster's tags, as `mullion reap --by-tags` finds resources.
"""

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from components.rollout.plain_text import plain
from components.spec import expiry
from operations.clouds.api import ApiError
from operations.commands import ls
from operations.console.exits import Exit, Stop
from operations.engine.clusters import SANDBOX, ClusterFacts, names_of
from operations.reaping import accounts, sweep
from operations.reaping.things import Account, Remains, Thing
from operations.stacks import target

AZURE = "azure"


class Unremoved(Stop):
    """A cluster is not removed by its state alone. facts: of the cluster before that. accounts: of its resources; empty
    if unknown.
    """

    def __init__(self, message: str, facts: ClusterFacts | None, accounts: Collection[str] = ()) -> None:
        super().__init__(Exit.FAILED, message)
        self.facts = facts
        self.accounts = accounts


def removed(remove: Callable[[bool], str]) -> str:
    """Remove a cluster by its state; if that is not enough, delete what is in no state, and remove it once more.

    remove: raises Unremoved; its argument says whether the account has been searched, so that creations without a
    recorded result count as looked up. Raises Unremoved if the cluster does not expire, or if anything is left.
    """
    try:
        return remove(False)
    except Unremoved as error:
        if error.facts is None or error.facts.expires is None or error.facts.protected:
            raise
        print(f"mullion: {error}\nmullion: searching for resources in no state", file=sys.stderr, flush=True)
        try:
            outcome = _swept(error.facts, error.accounts)
        except (Stop, ApiError) as why:
            raise Unremoved(f"{error}\nThe account cannot be searched by tags: {why}", None) from error
        if outcome.kept or outcome.left:
            listed = [f"\n  {each.thing.kind} {each.thing.id}: {each.why}" for each in outcome.left]
            raise Unremoved(f"{error}\nIn no state and not deleted: {outcome.kept}{''.join(listed)}", None) from error
        summary = f"{len(outcome.deleted)} resources in no state deleted"
    return f"{remove(True)}; {summary}"


def _swept(facts: ClusterFacts, known: Collection[str]) -> sweep.Outcome:
    """Delete what carries a cluster's tags and is in no state of the backend; on Azure its resource group."""
    listed = ls.of_sandboxes() if facts.place == SANDBOX else ls.of_backend()
    if listed.unread:
        raise Stop(Exit.FAILED, f"a state cannot be read, and it may have them: {listed.unread[0]}")
    with _account(facts) as account:
        if known and account.name not in known:
            raise Stop(Exit.REFUSED, f"this environment uses account {account.name}, not {', '.join(sorted(known))}")
        stated = frozenset(name for each in listed.clusters for name in each.ids)
        if facts.cloud == AZURE:  # there a cluster's resource group is deleted as a whole: no list has what is in it
            stated -= facts.ids
        outside, names = _Outside(account, stated), {facts.name, *facts.components}
        found = next((each for each in accounts.clusters_of(outside) if each.has_state(names)), None)
        if found is None:
            return sweep.Outcome()
        return sweep.removed(outside, found.cluster, lambda remains: _other(remains, facts), snapshots=True, tell=_tell)


@contextmanager
def _account(facts: ClusterFacts) -> Iterator[Account]:
    """Yield the account of a cluster: that of this environment's credentials, or of its own sandbox."""
    regions = [facts.region] if facts.region else []
    if facts.place == SANDBOX:
        opened = accounts.in_sandbox(facts.cloud, regions, target.cloud_state_file(facts.name))
    else:
        opened = accounts.opened(facts.cloud, regions, sandbox=False)
    with opened as [account]:
        yield account


def _other(remains: Remains, facts: ClusterFacts) -> str:
    """Return why resources may be of another cluster with this name; empty if they are this one's.

    The moment at which a cluster of `mullion run` expires is its own; a duration may be that of another cluster, too.
    """
    ends = expiry.moment(str(facts.spec.get("expires")))
    texts = {each.expires for each in remains.things if not (each.by_controller or each.untagged)}
    if (
        ends
        and {expiry.moment(each) for each in texts} == {ends}
        and not any(each.protected for each in remains.things)
    ):
        return ""
    return remains.kept(expiry.now(), snapshots=True)


def _tell(line: str) -> None:
    print(f"mullion: {plain(line)}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class _Outside:
    """An account without the resources of states. stated: their names, by `names_of`."""

    account: Account
    stated: frozenset[str]

    @property
    def cloud(self) -> str:
        return self.account.cloud

    @property
    def name(self) -> str:
        return self.account.name

    def inventory(self) -> list[Thing]:
        """Return the resources in no state."""
        return [each for each in self.account.inventory() if self.stated.isdisjoint(names_of(each.id))]

    def delete(self, thing: Thing) -> None:
        self.account.delete(thing)

    def waits(self, code: str) -> bool:
        return self.account.waits(code)

    def close(self) -> None:
        self.account.close()
