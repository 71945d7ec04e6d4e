"""Space in etcd: each agent compacts, defragments and disarms the member of its own machine, without the Lease.

An etcd above its quota refuses every write (alarm NOSPACE), also those of the Lease, so no election decides who acts.
All agents see the same members: the first one that wastes space is next, the leader last. A member that defragments
does not answer, and then no other begins. Under the alarm the others wait at most SILENT seconds for a silent member,
longer than a defragmentation takes: a dead machine must not keep the cluster without writes.
"""

import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from failure import Failure
from report import say
from run import Run

from agent.configuration import Configuration
from agent.etcd import etcdctl

NOSPACE = 1
ALARMS = {NOSPACE: "NOSPACE", 2: "CORRUPT"}
"""Names of the alarms by number (etcd, AlarmType in api/etcdserverpb/rpc.proto)."""
LEAST = 100 << 20
"""Bytes of a database below which free pages do not matter."""
CROWDED = 0.8
"""Share of the quota: once the file is larger, little free space is worth a defragmentation. etcd compares the quota
with the file, free pages included (etcd, server/storage/quota.go).
"""
DISARMED = 0.95
"""Share of the quota: once the largest file is smaller, the alarm is disarmed. Under the alarm only deletions work, but
Nodes, Leases and a higher quota need writes, so writes are allowed again as soon as some fit.
"""
ANSWER, DEFRAGMENT = "--command-timeout=10s", "--command-timeout=280s"
SILENT = 300.0
"""Seconds, longer than DEFRAGMENT."""
COUNTED = 90.0
"""Maximum seconds that one pause between two rounds adds to a silence; a round runs each minute."""
PAUSE = 3600.0
"""Seconds between two defragmentations of one member that has space left, and after a failed one. The kubelet kills an
etcd that does not answer its liveness probe for 80 to 120 s (kubeadm, LivenessProbe in util/staticpod/utils.go), so a
defragmentation that takes longer never ends.
"""
DOUBTFUL = 600.0
"""Seconds between two defragmentations of a member without free pages, under the alarm. etcd counts pages that
a compaction freed as used until a later write (storage/backend, begin), and the alarm refuses writes.
"""
UNLIMITED = 8 << 30
"""Bytes that stand for the quota of a lone member without one: etcd's suggested maximum."""


class Member(NamedTuple):
    """An etcd member that answers. Sizes in bytes: of the file, and of the pages in use."""

    id: int
    address: str
    size: int
    used: int
    leader: bool


def members(run: Run, config: Configuration) -> tuple[list[Member], int, bool]:
    """Return the members that answer, the newest revision, and whether all answer, with a leader and no learner."""
    ended = etcdctl(run, config, ANSWER, "endpoint", "status", "--cluster", "--write-out", "json", check=False)
    found, revision, whole = list[Member](), 0, not ended.returncode
    for answer in json.loads(ended.stdout or "[]"):
        status, head = answer["Status"], answer["Status"]["header"]  # JSON without the fields that are 0
        leader = status.get("leader", 0)
        revision = max(revision, head.get("revision", 0))
        whole = whole and bool(leader) and not status.get("isLearner")
        address, sizes = urlsplit(answer["Endpoint"]).hostname or "", (status["dbSize"], status.get("dbSizeInUse", 0))
        found.append(Member(head["member_id"], address, *sizes, leader == head["member_id"]))
    return sorted(found, key=lambda each: (each.leader, each.id)), revision, whole


def wastes(member: Member, quota: int, *, full: bool, alone: bool) -> bool:
    """Return whether to defragment. It stops the member for seconds, so a lone one has to be half full first.

    quota: bytes; 0 if there is none.
    """
    free = member.size - member.used
    if full or crowded(member, quota):
        return free > member.size / 10
    return free > member.size / 2 and member.size > (max(LEAST, (quota or UNLIMITED) / 2) if alone else LEAST)


def crowded(member: Member, quota: int) -> bool:
    """Return whether the member's file is near the quota."""
    return bool(quota) and member.size > quota * CROWDED


def next_member(found: list[Member], quota: int, *, full: bool) -> tuple[Member | None, float]:
    """Return the member to defragment next, if any, and the minimum seconds since its last defragmentation.

    quota: bytes; 0 if there is none.
    """
    for member in found:
        if wastes(member, quota, full=full, alone=len(found) == 1):
            return member, 0 if full or crowded(member, quota) else PAUSE
    if full and quota:
        return next((member for member in found if member.size >= quota * DISARMED), None), DOUBTFUL
    return None, PAUSE


class Space:
    """The agent's work on its own member. A restarted agent remembers nothing and counts from 0."""

    def __init__(self) -> None:
        self.clock = time.monotonic
        self.began: float | None = None
        """Moment of this member's last defragmentation."""
        self.failed = False
        """Whether that defragmentation failed."""
        self.used: float | None = None
        """Share of the quota in use by the largest member; None without a quota, or while etcd does not answer."""
        self.answering: tuple[frozenset[int], float, float] = (frozenset(), 0.0, 0.0)
        """Members that answer, seconds for which others have not, and when they were read."""

    def reconcile(self, run: Run, config: Configuration, *, copying: bool = False) -> dict[str, Any]:
        """Act if this machine is next; return values for the status record.

        copying: kubeadm may copy etcd's folder, which fails at a file that vanishes; so only a full etcd is
        defragmented.

        percent: of the quota in use, in steps of 5; 0 without a quota. Empty while etcd does not answer. Raise
        RuntimeError if etcd is nearly full, has another alarm, or cannot be defragmented.
        """
        quota: int = config["etcd"]["quota"]
        self.used = None
        try:
            raised = alarms(run, config)
        except Failure:
            return {}  # it starts, or is dead: then this machine's API server is not ready and says so
        if others := sorted(raised - {NOSPACE}):
            names = ", ".join(ALARMS.get(each, str(each)) for each in others)
            raise RuntimeError(
                f"etcd has the alarm {names}: see docs/control-plane.md. It is not compacted until the alarm ends"
            )
        full = bool(raised)
        found, revision, whole = members(run, config)
        self.used = max(each.used for each in found) / quota if quota and found else None
        mine = next((each for each in found if each.address == run.told["machine"]["address"]), None)
        if mine and full and mine.leader:
            # the API server's own compaction needs a write; it keeps the newest version of each object
            etcdctl(run, config, ANSWER, "compaction", "--physical", f"{revision}", check=False)
            found, _, whole = members(run, config)
        silence, hindered = self.silence(found, whole), ""
        member, pause = next_member(found, quota, full=full)
        if mine and member and member.id == mine.id and (whole or (full and silence > SILENT)):
            hindered = self.hindrance(member, Path(config["snapshots"]["file"]).parent, run)
            if not hindered and self.since() >= pause and (full or not copying):
                found = self.defragment(run, config, member)
        if mine and full and mine.leader and (not quota or largest(found) < quota * DISARMED):
            etcdctl(run, config, ANSWER, "alarm", "disarm")
            full = False
            say("etcd has space again: the alarm NOSPACE is disarmed")
        return {"percent": judged(found, quota, full, hindered)}

    def silence(self, found: list[Member], whole: bool) -> float:
        """Return for how many seconds the same members have not answered; 0 if all do."""
        now, ids = self.clock(), frozenset(each.id for each in found)
        before, seconds, read = self.answering
        seconds = seconds + min(now - read, COUNTED) if ids == before and not whole else 0.0
        self.answering = (ids, seconds, now)
        return seconds

    def since(self) -> float:
        """Return the seconds since the last defragmentation began."""
        return PAUSE if self.began is None else self.clock() - self.began

    def hindrance(self, member: Member, data: Path, run: Run) -> str:
        """Return why this member must not be defragmented; empty if it may be.

        data: etcd's folder. A defragmentation writes all pages in use into a second file.
        """
        if self.failed and self.since() < PAUSE:
            return "the last defragmentation failed; the next one begins an hour after it"
        disk = os.statvfs(run.path(str(data)))
        free, needed = disk.f_bavail * disk.f_frsize, int(member.used * 1.2) + (1 << 30)
        if free <= needed:
            return f"a defragmentation needs {needed >> 20} MiB in {data}, and {free >> 20} MiB are free"
        return ""

    def defragment(self, run: Run, config: Configuration, member: Member) -> list[Member]:
        """Defragment this machine's member; return the members. Raise Failure if it does not end well."""
        self.began, self.failed = self.clock(), True
        etcdctl(run, config, DEFRAGMENT, "defrag")
        self.failed = False
        found = members(run, config)[0]
        say(f"etcd is defragmented: {member.size >> 20} MiB became {largest(found) >> 20} MiB at most")
        return found


def judged(found: list[Member], quota: int, full: bool, hindered: str) -> int:
    """Return the percentage of the quota in use, in steps of 5. Raise RuntimeError if a person has to act."""
    percent = max((each.used * 100 // quota for each in found), default=0) if quota else 0
    used = f"etcd uses {percent} % of its quota of {quota >> 20} MiB" if quota else "etcd has no quota"
    problem = ""
    if full:
        problem = (
            f"{used} and refuses writes (alarm NOSPACE): 1. delete objects without finalizers, which is allowed; "
            f"2. wait until the agents end the alarm, below {DISARMED:.0%} of the quota; 3. raise quota-backend-bytes"
        )
    elif percent >= CROWDED * 100:
        problem = f"{used}: delete objects, or raise quota-backend-bytes"
    if problem or hindered:
        raise RuntimeError("; ".join(filter(None, (problem, hindered))))
    return percent // 5 * 5


def largest(found: list[Member]) -> int:
    """Return the bytes of the largest file."""
    return max((each.size for each in found), default=0)


def alarms(run: Run, config: Configuration) -> set[int]:
    """Return the numbers of the alarms that members have raised."""
    said = etcdctl(run, config, ANSWER, "alarm", "list", "--write-out", "json").stdout
    return {each["alarm"] for each in json.loads(said).get("alarms") or ()}
