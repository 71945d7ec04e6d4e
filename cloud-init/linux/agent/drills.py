"""Drills of `mullion restore STACK --drill`: a snapshot is restored beside the running etcd, read, and removed.

Nothing else runs on the restored data, so nothing acts on it: an API server with its controllers would delete volumes,
load balancers and Nodes of the running cluster. The throw-away etcd listens on loopback and demands the certificates of
etcd's clients.
"""

import base64
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

import snapshot_names
from failure import Failure
from kinds import keys, restoring
from report import say
from run import Run

from agent import configmap_requests, copies, etcd, room, snapshots
from agent.api import Api
from agent.configuration import Configuration

REQUEST = "mullion-drill"
"""Name of the ConfigMap; its values `from` (store or copy) and `snapshot` (a key; empty: the newest) choose."""
CONTAINER = "mullion-drill"
KINDS = {"namespaces": "namespaces", "nodes": "minions", "pods": "pods", "secrets": "secrets"}
"""Name below /registry by the kind of object that is counted (kubernetes, pkg/registry/core/rest/storage_core.go)."""
SECRETS = "/registry/secrets/"
ENCRYPTED = re.compile(rb"k8s:enc:secretbox:v1:key(\d+):")
"""Begin of an encrypted value, with the number of its key (kubernetes, "Encrypting Confidential Data at Rest")."""
COUNT = re.compile(r'"Count" : (\d+)')
PAGE = 50
"""Secrets in one answer; each has at most 1 MiB."""
ROOM = 3
"""Times the snapshot's size that disk and memory need free: the file, the data, and what etcd adds."""
CLEAR_SECONDS = 20
"""Timeout of each command that removes something: of its own, as a drill may end because its time is over."""


class Database(NamedTuple):
    """An etcd that answers: the running one, or the throw-away one."""

    run: Run
    argv: list[str]

    def ask(self, *words: str) -> str:
        """Return etcdctl's answer. Raise Failure command-failed without its output, which may be a Secret."""
        ended = self.run.command(*self.argv, *words, check=False)
        if ended.returncode:
            raise Failure("command-failed", f"etcdctl {words[0]} ended with {ended.returncode}")
        return ended.stdout

    def count(self, prefix: str) -> int:
        """Return the number of keys below a prefix. etcdctl counts in the format `fields` alone."""
        said = self.ask("get", prefix, "--prefix", "--count-only", "--write-out", "fields")
        found = COUNT.search(said)
        if not found:
            raise Failure("command-failed", "etcdctl get --count-only returned no count")
        return int(found[1])

    def page(self, begin: str) -> list[tuple[str, bytes]]:
        """Return names and values from a name on, at most PAGE + 1."""
        limit = ("--limit", f"{PAGE + 1}", "--write-out", "json")
        rows = json.loads(self.ask("get", begin, "--from-key", *limit)).get("kvs") or []
        return [(base64.b64decode(each["key"]).decode(), base64.b64decode(each["value"])) for each in rows]


def answer(run: Run, configuration: Configuration, api: Api, now: float) -> None:
    """Hold the requested drill, if any. Raise its error."""
    configmap_requests.answer(run, api, REQUEST, lambda values: hold(run, configuration, values, now))


def hold(run: Run, configuration: Configuration, values: dict[str, str], now: float) -> dict[str, Any]:
    """Restore a snapshot, read it, and remove it; return what was found. Raise Failure."""
    began = time.monotonic()
    bucket, folder = place(run, configuration, values.get("from", ""))
    key = chosen(snapshots.stored(run, now, bucket, folder)[0], values.get("snapshot", ""))
    section = configuration["drill"]
    work = run.path(section["folder"])
    clear_leftovers(run, configuration)
    try:
        work.mkdir(mode=0o700, parents=True)
        fetch(run, f"{bucket}/{folder}", key, work / "snapshot.db")
        start(run, section, work)
        found = read(run, configuration)
    finally:
        clear(run, work)
    return {"snapshot": key, **found, "machine": run.value("machine.name"), "seconds": int(time.monotonic() - began)}


def place(run: Run, configuration: Configuration, name: str) -> tuple[str, str]:
    """Return URL and folder of the snapshots or of their copies. Raise Failure store-failed."""
    if name != "copy":
        return snapshots.store(run), ""
    if "copies" not in configuration["snapshots"]:
        raise Failure("store-failed", "this control plane copies no snapshots: snapshots.copy_to names no bucket")
    return copies.place(configuration)


def chosen(found: list[snapshots.Snapshot], key: str) -> str:
    """Return the key to restore, the newest one by default. Raise Failure store-failed."""
    if key and key not in {each.key for each in found}:
        raise Failure("store-failed", f"there is no snapshot {key[:200]} that this cluster's control plane has signed")
    if not found:
        raise Failure("store-failed", "there is no snapshot")
    return key or found[0].key


def fetch(run: Run, url: str, key: str, file: Path) -> None:
    """Write the snapshot into a file if disk and memory can hold a second etcd beside the first.

    Raise Failure disk-full, command-failed, store-failed or digest-mismatch; no copy is taken instead.
    """
    room.refuse_on_disk(run, f"{url.rstrip('/')}/{key}", file.parent, ROOM)
    room.refuse_in_memory(run, f"{url.rstrip('/')}/{key}", ROOM)
    named = snapshot_names.KEY.fullmatch(key)
    restoring.whole(run, url, key, named["sha256"] if named else "", file)


def start(run: Run, section: dict[str, Any], work: Path) -> None:
    """Restore the snapshot as `mullion restore` does, and start etcd on the data."""
    image = restoring.etcd_image(run, section)
    words = restoring.restoring(section["argv"], work, CONTAINER, section["peer"], CONTAINER)
    run.command(*restoring.contained(image, CONTAINER, work, "--rm"), *words)
    certificates = f"type=bind,src={section['certificates']},dst={section['certificates']},options=rbind:ro"
    memory = room.SPARE + ROOM * (work / "snapshot.db").stat().st_size
    options = ("--detach", "--null-io", "--net-host", "--memory-limit", f"{memory}", "--mount", certificates)
    own = ["--name", CONTAINER, "--data-dir", f"{work}/data", "--initial-cluster", f"{CONTAINER}={section['peer']}"]
    run.command(*restoring.contained(image, CONTAINER, work, *options), *section["etcd"], *own)


def read(run: Run, configuration: Configuration) -> dict[str, Any]:
    """Return what the restored etcd has, beside what the running one has. Raise Failure."""
    restored, running = (
        Database(run, etcd.client(run, configuration, section))
        for section in (configuration["drill"]["client"], configuration["etcd"]["etcdctl"])
    )
    while True:
        try:
            restored.ask("endpoint", "health")
            break
        except Failure:
            if run.left() < restoring.POLL_SECONDS:
                raise
            time.sleep(restoring.POLL_SECONDS)
    counts = {kind: [each.count(f"/registry/{name}/") for each in (restored, running)] for kind, name in KINDS.items()}
    held = set(keys.numbers(run.path(configuration["encryption"]["path"])))
    return {"counts": counts, "keys": restored.count(""), "readable": readable(restored, held)}


def readable(database: Database, held: set[int]) -> int:
    """Return the number of Secrets that are encrypted with a key which this machine has, or not encrypted at all."""
    count, last = 0, SECRETS
    while True:
        rows = database.page(last)
        for name, value in rows:
            if not name.startswith(SECRETS):
                return count
            encrypted = ENCRYPTED.match(value)
            if name != last and (int(encrypted[1]) in held if encrypted else value.startswith(b"k8s\0")):
                count += 1
        if len(rows) <= PAGE:
            return count
        last = rows[-1][0]


def clear(run: Run, work: Path) -> None:
    """Stop the throw-away etcd and remove its data.

    If a command takes too long, leave the empty folder, so that `clear_leftovers` tries again.
    """
    failed = False
    for words in ((*restoring.CTR, "tasks", "delete", "--force", CONTAINER), *restoring.removing(CONTAINER)):
        try:
            with run.own_time(CLEAR_SECONDS):
                run.command(*words, check=False)
        except Failure as failure:
            failed = True
            say(f"{' '.join(words)}: {failure}", "failed")
    shutil.rmtree(work, ignore_errors=True)
    if failed:
        work.mkdir(mode=0o700, parents=True, exist_ok=True)


def clear_leftovers(run: Run, configuration: Configuration) -> None:
    """Remove what an agent that was killed during a drill has left. Call it before another one begins.

    Raise Failure command-failed if something stays.
    """
    work = run.path(configuration["drill"]["folder"])
    if work.exists():
        clear(run, work)
    if work.exists():
        raise Failure("command-failed", f"a drill that was interrupted is not removed: {CONTAINER}, {work}")
