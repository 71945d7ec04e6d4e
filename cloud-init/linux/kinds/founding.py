"""The founding log in the snapshot store: decides which control plane founds the cluster.

Objects <log>/0, <log>/1, ... hold {cluster, epoch, owner, machine, state, mac}. Each is created by a conditional write
(fails if the object exists), so exactly one machine writes it. The last record is valid:

    claimed     the machine `owner` is founding the cluster; the others wait
    founded     the cluster exists; the others join
    restore     written by `mullion restore`: the next founder starts from the snapshot with key `snapshot`

If the cloud has deleted the machine of a claim for good, another machine takes over with the next record. The end of
the founding is also the next record, so the two exclude each other, and no machine joins before that record exists. So
a take-over loses at most a cluster of one machine, which is deleted.

The store is not trusted. Records that let a machine found a cluster (claimed, restore) must have the MAC of the secret
desired-state; `founded` needs none, because it only lets machines join. Whoever deletes records cannot bring an older
one back: the agent publishes the number of the last founding in the bundle store (agent/epochs.py).
"""

import hashlib
import hmac
import json
import time
from typing import Any
from urllib.error import HTTPError

from compute import gone
from failure import Failure
from run import Run, Step
from writing import write_whole

from kinds.files import MODES

POLL_SECONDS = 2
LOOKS = 3
"""Answers in a row in which the cloud must report the founder's machine as deleted."""
LARGEST = 65536
"""Maximum bytes of a record."""
TAKEN = (409, 412)
"""Statuses of a refused conditional write: another write is in progress; the object exists."""
ABSENT = (403, 404)
"""Statuses for a missing object; stores answer 403 to clients that may not list."""
PUBLISHED = "founded.json"
"""Object of the bundle store: {"cluster", "epoch": number of the last `founded` record, "mac"}."""

Record = dict[str, Any]


def place(step: Step, epoch: int) -> str:
    """Return the URL of one record."""
    return f"{step['store'].rstrip('/')}/{step['log']}/{epoch}"


def read(run: Run, step: Step, epoch: int) -> Record | None:
    """Return one record or None. Raise Failure store-failed or founding-refused."""
    url = place(step, epoch)
    try:
        record: Any = json.loads(run.ask("store", url, most=LARGEST))
    except HTTPError as error:
        if error.code == 404:
            return None
        raise Failure("store-failed", f"{url}: {error}") from None
    except OSError as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or record.get("cluster") != step["cluster"]:
        raise Failure("founding-refused", f"{url} is no record of this cluster, whose CA has {step['cluster']}")
    return record


def last(run: Run, step: Step) -> Record | None:
    """Return the last record, which is the valid one, or None. Raise Failure founding-refused if it is forged."""
    found, epoch = None, 0
    while record := read(run, step, epoch):
        found, epoch = record, epoch + 1
    if found and found.get("state") != "founded" and not is_signed(run, found):
        raise Failure("founding-refused", f"{place(step, epoch - 1)} lacks the MAC of this cluster's desired-state key")
    if found and found.get("epoch") != epoch - 1:
        raise Failure("founding-refused", f"{place(step, epoch - 1)} has the number {found.get('epoch')!r}")
    return found


def own_claim(run: Run, step: Step) -> Record:
    """Return the last record, which must be this machine's claim. Raise Failure founding-refused or store-failed."""
    record = last(run, step)
    if not record:
        raise Failure("store-failed", f"{place(step, 0)}: the store does not return the claim that this machine wrote")
    # `last` checked the MAC of a claim
    if (record.get("owner"), record.get("state")) != (run.cloud.instance(), "claimed"):
        text = f"the last record, {record}, is no claim of this machine: another machine or person wrote it"
        raise Failure("founding-refused", text)
    return record


def mac(run: Run, record: Record) -> str:
    """Return the HMAC-SHA-256 of a record; components/rollout/signed_documents.py computes the same."""
    key = run.secret(run.value("facts.desired_state_secret"))
    body = {name: value for name, value in record.items() if name != "mac"}
    message = "founding " + json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hmac.new(key.encode(), message.encode(), hashlib.sha256).hexdigest()


def is_signed(run: Run, record: Record) -> bool:
    """Return whether the record has the MAC of this cluster's control plane."""
    return hmac.compare_digest(mac(run, record).encode(), f"{record.get('mac')}".encode())


def published_place(run: Run) -> str:
    """Return the URL of PUBLISHED."""
    return f"{run.value('facts.bundle_store').rstrip('/')}/{PUBLISHED}"


def published(run: Run, step: Step) -> int:
    """Return the number of the last founding; -1 if none is published or it is not signed. Raise store-failed."""
    url = published_place(run)
    try:
        said: Any = json.loads(run.ask("store", url, most=LARGEST))
        good = said["cluster"] == step["cluster"] and is_signed(run, said)
        return said["epoch"] if good and isinstance(said["epoch"], int) else -1
    except HTTPError as error:
        if error.code in ABSENT:
            return -1
        raise Failure("store-failed", f"{url}: {error}") from None
    except OSError as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return -1


def append(run: Run, step: Step, after: Record | None, state: str) -> bool:
    """Write the next record; return False if another machine wrote it first."""
    epoch = after["epoch"] + 1 if after else 0
    machine = run.value("machine.name")
    record = {
        "cluster": step["cluster"],
        "epoch": epoch,
        "owner": run.cloud.instance(),
        "machine": machine,
        "state": state,
    }
    if after and "snapshot" in after:
        record["snapshot"] = after["snapshot"]
    record["mac"] = mac(run, record)
    url = place(step, epoch)
    try:
        run.ask("store", url, "PUT", json.dumps(record).encode(), if_none_match="*", content_type="application/json")
    except HTTPError as error:
        if error.code in TAKEN:
            return False
        raise Failure("store-failed", f"{url}: {error}") from None
    except OSError as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
    return True


def claim_holds(run: Run, step: Step) -> bool:
    """Return whether the machine has one of the files `founder` and `member`."""
    return run.path(step["founder"]).exists() or run.path(step["member"]).exists()


def make_claim(run: Run, step: Step) -> None:
    """Claim the founding, or wait until another machine has founded the cluster. May be interrupted at any point."""
    seen: list[Record] = []
    while (role := settled(run, record := last(run, step))) is None:
        free = record is None or record["state"] == "restore"
        # the answers count for one record: a new owner starts at zero
        left = not free and record is not None and gone(run, record["owner"])
        seen = [*(each for each in seen if each == record), record] if record and left else []
        if free or len(seen) >= LOOKS:
            refuse_older(run, step, record)
        if (free or len(seen) >= LOOKS) and append(run, step, record, "claimed"):
            role = "founder"
            break
        wait(run, record)
    write_whole(run.path(step[role]), f"{run.cloud.instance()}\n".encode(), MODES["public"])


def refuse_older(run: Run, step: Step, record: Record | None) -> None:
    """Raise Failure founding-refused if the log lacks records: the cluster was founded at a later number."""
    after, known = record["epoch"] if record else -1, published(run, step)
    if after < known:
        text = (
            f"the log ends before record {known}, with which the cluster was founded: records were deleted or changed"
        )
        remedy = "restore them from the store's older versions; if you deleted them to found the cluster anew, delete"
        raise Failure("founding-refused", f"{text}; {remedy} {published_place(run)} too")


def wait(run: Run, record: Record | None) -> None:
    """Sleep POLL_SECONDS. Raise Failure wait-timeout after the step's timeout."""
    if run.left() < POLL_SECONDS:
        about = f"{record['machine']} ({record['owner']})" if record else "another machine"
        raise Failure("wait-timeout", f"{about} has claimed the founding of the cluster and not finished it")
    time.sleep(POLL_SECONDS)


def settled(run: Run, record: Record | None) -> str | None:
    """Return "founder" or "member" by the last record, or None while that is undecided."""
    if record is None or record["state"] == "restore":
        return None
    mine, state = record["owner"] == run.cloud.instance(), record["state"]
    if state not in ("claimed", "founded"):
        raise Failure("founding-refused", f"record {record['epoch']} has the state {state}")
    if mine and state == "founded":
        # a founded cluster is never founded again: it may have members
        raise Failure("founding-refused", "this machine founded the cluster but has lost the record of it on its disk")
    if mine:
        return "founder"
    return "member" if state == "founded" else None


def founded_holds(run: Run, step: Step) -> bool:
    """Return whether the founder has recorded the founding; other machines have nothing to record."""
    return not run.path(step["founder"]).exists() or run.path(step["path"]).exists()


def make_founded(run: Run, step: Step) -> None:
    """Record that the cluster is founded. Raise Failure founding-refused if another machine took over."""
    me, record = run.cloud.instance(), last(run, step)
    if record and (record["owner"], record["state"]) == (me, "claimed"):
        append(run, step, record, "founded")
        record = last(run, step)
    if record and record["owner"] != me:
        raise Failure("founding-refused", f"the last record, {record}, has another owner; the cluster is not valid")
    if record and record["state"] == "founded" and not is_signed(run, record):
        raise Failure("founding-refused", f"{place(step, record['epoch'])} lacks the MAC of this machine")
    if not record or record["state"] != "founded":
        raise Failure("store-failed", f"{place(step, 0)}: the store does not return the record that this machine wrote")
    write_whole(run.path(step["path"]), b"", MODES["public"])
