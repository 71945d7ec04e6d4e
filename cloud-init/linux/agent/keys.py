"""Keys of encryption at rest, renewed: nobody writes with a key that another API server cannot read yet.

The secret has all keys; the newest is to be written with. One machine after the other, in its turn, gets it into its
API server's configuration and starts that anew: behind the key that it writes with, until every machine reads the new
one; then before it. When all write with it, the active agent writes every object once. Older keys stay for reading:
snapshots have what was written with them.

Keys are numbered by age, from 1. The agents' memory has, for this:
key.<machine>   "2 1": the newest key that its API server reads, and the one that it writes with
rewritten       the key that all objects were written with
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from kinds import secrets
from kinds.files import MODES
from run import Run
from writing import write_whole

from agent import pods
from agent.api import Api, Refused
from agent.configuration import Configuration
from agent.memory import Memory, keep

API_SERVER = "kube-apiserver"
PAGE = 200
"""Objects read at once."""


class Keys(NamedTuple):
    """What an API server's configuration has."""

    reads: int
    """The newest key in it."""
    writes: int
    """The key that it writes with."""


class Held(NamedTuple):
    """What there is on this machine."""

    newest: int
    """The newest key of the secret."""
    keys: Keys
    """Of the configuration's file."""
    loaded: bool
    """The API server that runs began after the file was written; also where none runs."""


def look(run: Run, told: Configuration) -> Held:
    """Read secret, file and start. Failure secret-unavailable."""
    step = told["encryption"]
    run.stored.pop(step["secret"], None)  # the program may have written a newer one
    newest, file = len(secrets.keys(run, step)), run.path(step["path"])
    present = secrets.numbers(file)
    began = pods.started(run, told, API_SERVER)
    loaded = began is None or (file.exists() and began > file.stat().st_mtime)
    return Held(newest, Keys(max(present, default=0), present[0] if present else 0), loaded)


def decide(held: Held, others: Iterable[Keys]) -> int | None:
    """The key that this machine shall write with from its API server's next start on; None: it needs none.

    others: of all other machines of the control plane.
    """
    everywhere = all(each.reads >= held.newest for each in others)
    wanted = held.newest if everywhere else held.keys.writes or held.newest
    return None if held.loaded and held.keys == (held.newest, wanted) else wanted


def known(memory: Memory, names: Iterable[str]) -> dict[str, Keys]:
    """What machines have said of theirs; 0 for who has not."""
    return {each: parsed(memory.values.get(f"key.{each}", "")) for each in names}


def parsed(text: str) -> Keys:
    """A value of the memory."""
    reads, _, writes = text.partition(" ")
    return Keys(int(reads or 0), int(writes or 0))


def renew(run: Run, told: Configuration, writes: int) -> None:
    """Write the configuration with all keys, this one first, and start the API server anew."""
    step = told["encryption"]
    write_whole(run.path(step["path"]), secrets.encryption(run, step, writes), MODES["private"])
    pods.stop(run, told, API_SERVER)


def rewrite(api: Api, told: Configuration, controllers: Iterable[str]) -> None:
    """Write every object that is encrypted, once the whole control plane writes with a newer key than they have."""
    memory = Memory(api)
    writing = {each.writes for each in known(memory, controllers).values()}
    if len(writing) != 1 or 0 in writing or int(memory.values.get("rewritten") or 1) >= min(writing):
        return
    for resource in told["encryption"]["resources"]:
        for item in listed(api, resource):
            put(api, resource, item)
    keep(api, rewritten=str(writing.pop()))


def listed(api: Api, resource: str) -> Iterable[dict[str, Any]]:
    """All objects of a resource of the core group, page by page."""
    onward = ""
    while True:
        page = api.call("GET", f"/api/v1/{resource}?limit={PAGE}{onward}")
        yield from page["items"]
        if not (token := (page.get("metadata") or {}).get("continue")):
            return
        onward = f"&continue={token}"


def put(api: Api, resource: str, item: dict[str, Any]) -> None:
    """Write an object as it is: the API server encrypts it with the key that it writes with."""
    about = item["metadata"]
    try:
        api.call("PUT", f"/api/v1/namespaces/{about['namespace']}/{resource}/{about['name']}", item)
    except Refused as error:
        if error.status not in (404, 409):  # it went, or somebody wrote it, and so with the new key
            raise
