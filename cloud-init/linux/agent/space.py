"""Space in etcd: each agent compacts, defragments and disarms the member of its own machine, without the Lease.

An etcd above its quota refuses every write (alarm NOSPACE), also those of the Lease, so no election decides who acts.
All agents see the same members: the first one that wastes space is next, the leader last. A member that defragments
does not answer, and then nobody else begins.
"""

import json
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from report import say
from run import Run

from agent.configuration import Configuration
from agent.etcd import etcdctl

NOSPACE = 1
"""Number of the alarm (etcd, AlarmType in api/etcdserverpb/rpc.proto)."""
LEAST = 100 << 20
"""Bytes of a database below which free pages do not matter."""
CROWDED = 0.8
"""Share of the quota that the file takes, above which little free space is worth a defragmentation. etcd compares the
quota with the file, free pages included (etcd, server/storage/quota.go).
"""
ANSWER, DEFRAGMENT = "--command-timeout=10s", "--command-timeout=280s"


class Member(NamedTuple):
    """An etcd member that answers. Sizes in bytes: of the file, and of the pages in use."""

    id: int
    address: str
    size: int
    used: int
    leader: bool


def members(run: Run, told: Configuration) -> tuple[list[Member], int, bool]:
    """Return the members that answer, the newest revision, and whether all answer and none is a learner."""
    ended = etcdctl(run, told, ANSWER, "endpoint", "status", "--cluster", "--write-out", "json", check=False)
    found, revision, whole = list[Member](), 0, not ended.returncode
    for each in json.loads(ended.stdout or "[]"):
        status, head = each["Status"], each["Status"]["header"]
        revision, whole = max(revision, head["revision"]), whole and not status.get("isLearner")
        address = urlsplit(each["Endpoint"]).hostname or ""
        leader = status["leader"] == head["member_id"]
        found.append(Member(head["member_id"], address, status["dbSize"], status["dbSizeInUse"], leader))
    return sorted(found, key=lambda each: (each.leader, each.id)), revision, whole


def wastes(member: Member, quota: int, *, full: bool, alone: bool) -> bool:
    """Return whether to defragment. It stops the member for seconds, so a lone one has to be half full first."""
    free = member.size - member.used
    if full or member.size > quota * CROWDED:
        return free > member.size / 10
    return free > member.size / 2 and member.size > (max(LEAST, quota / 2) if alone else LEAST)


def reconcile(run: Run, told: Configuration) -> dict[str, Any]:
    """Act if this machine is next; return values for the status record. Raise RuntimeError if etcd is full.

    percent: of the quota in use, in steps of 5.
    """
    quota: int = told["etcd"]["quota"]
    full = alarmed(run, told)
    found, revision, whole = members(run, told)
    mine = next((each for each in found if each.address == run.told["machine"]["address"]), None)
    if mine and full and mine.leader:
        # the API server's own compaction needs a write; it keeps the newest version of each object
        etcdctl(run, told, ANSWER, "compaction", "--physical", f"{revision}", check=False)
        found, _, whole = members(run, told)
    if mine and (full or whole):
        wasteful = [each for each in found if wastes(each, quota, full=full, alone=len(found) == 1)]
        if wasteful and wasteful[0].id == mine.id:
            etcdctl(run, told, DEFRAGMENT, "defrag")
            found, _, whole = members(run, told)
            say(f"etcd is defragmented: {wasteful[0].size >> 20} MiB became {largest(found) >> 20} MiB at most")
        elif full and mine.leader and not wasteful and largest(found) < quota * CROWDED:
            etcdctl(run, told, ANSWER, "alarm", "disarm")
            full = False
            say("etcd has space again: the alarm NOSPACE is disarmed")
    percent = max((each.used * 100 // quota for each in found), default=0)
    if full or percent >= CROWDED * 100:
        raise RuntimeError(
            f"etcd uses {percent} % of its quota of {quota >> 20} MiB"
            + (" and refuses writes (alarm NOSPACE)" if full else "")
            + ": delete objects, or raise quota-backend-bytes"
        )
    return {"percent": percent // 5 * 5}


def largest(found: list[Member]) -> int:
    """Return the bytes of the largest file."""
    return max((each.size for each in found), default=0)


def alarmed(run: Run, told: Configuration) -> bool:
    """Return whether a member has raised the alarm NOSPACE."""
    said = etcdctl(run, told, ANSWER, "alarm", "list", "--write-out", "json").stdout
    return any(each["alarm"] == NOSPACE for each in json.loads(said).get("alarms") or ())
