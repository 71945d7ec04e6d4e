"""Rotation of keys that API servers share: no machine uses a key before every API server can read it.

There are two rings: encryption keys (data at rest) and keys that sign service-account tokens. The secret has all keys;
the newest one is to be used. One machine after the other, in its turn, gets the newest key beside the one it uses, and
restarts its API server; once every machine has it, each switches to it. Older keys remain for reading: snapshots are
encrypted with them, and pods have tokens signed with the previous one. When all machines encrypt with the newest key,
the active agent rewrites every object once.

Keys are numbered by age, from 1. The agents' memory has:
key.<machine>      "2 1": the newest encryption key that its API server can read, and the one it encrypts with
signer.<machine>   the same for service-account keys: the newest one accepted, and the one that signs
rewritten          the key with which all objects were last written
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import static_pods
from kinds import keys as key_files
from kinds.files import MODES
from run import Run
from writing import write_whole

from agent.api import Api, Refused
from agent.configuration import Configuration
from agent.memory import Memory, keep

PAGE = 200
"""Objects per page."""


class Keys(NamedTuple):
    """Keys of one API server."""

    reads: int
    """Newest key it can read."""
    writes: int
    """Key it uses; 0 if unknown."""


class Held(NamedTuple):
    """Keys of one ring on this machine."""

    newest: int
    """Newest key in the secret."""
    keys: Keys
    """Keys in the files."""
    loaded: bool
    """True if every process reading these files started after they were written, or is not running."""


class Ring(NamedTuple):
    """Keys of one purpose."""

    section: str
    """Section of the agent's configuration with the step's fields."""
    memory: str
    """Prefix in the agents' memory."""
    held: Callable[[Run, dict[str, Any]], tuple[int, Keys]]
    """Function that returns the secret's newest key and the keys in the files."""
    files: Callable[[Run, dict[str, Any], int], dict[str, bytes]]
    """Function that returns the files' content by path, in the order of writing, with this key in use."""
    places: tuple[str, ...]
    """Fields of the step with the files' paths."""
    readers: tuple[str, ...]
    """Static pods that read the files at their start."""


def _encryption(run: Run, step: dict[str, Any]) -> tuple[int, Keys]:
    present = key_files.numbers(run.path(step["path"]))
    return len(key_files.encryption_keys(run, step)), Keys(max(present, default=0), present[0] if present else 0)


def _signers(run: Run, step: dict[str, Any]) -> tuple[int, Keys]:
    known = key_files.signers(run, step)
    # signing with a key that the secret no longer has: switch to the oldest one, which all other machines accept
    writes = key_files.signing(run, step) or min(known)
    return max(known), Keys(max(key_files.verifying(run, step), default=0), writes)


RINGS = (
    Ring(
        "encryption",
        "key",
        _encryption,
        lambda run, step, first: {step["path"]: key_files.encryption(run, step, first)},
        ("path",),
        ("kube-apiserver",),
    ),
    Ring(
        "service_account",
        "signer",
        _signers,
        key_files.signer_files,
        ("public", "private"),
        ("kube-apiserver", "kube-controller-manager"),
    ),
)


def look(run: Run, config: Configuration) -> dict[str, Held]:
    """Return the state of each ring: secret, files, starts of their readers. Raise Failure secret-unavailable."""
    for secret in {config[ring.section]["secret"] for ring in RINGS}:
        run.stored.pop(secret, None)  # `mullion` may have written a newer key
    return {ring.section: Held(*ring.held(run, config[ring.section]), _loaded(run, config, ring)) for ring in RINGS}


def _loaded(run: Run, config: Configuration, ring: Ring) -> bool:
    files = [run.path(config[ring.section][place]) for place in ring.places]
    began = [at for each in ring.readers if (at := static_pods.started(run, config, each)) is not None]
    return not began or all(each.exists() and min(began) > each.stat().st_mtime for each in files)


def due(held: dict[str, Held], memory: Memory, others: Iterable[str]) -> dict[str, int]:
    """Return the rings that this machine has to change, with the key to use from the readers' next start."""
    names = list(others)
    wanted = {ring.section: decide(held[ring.section], known(memory, ring.memory, names).values()) for ring in RINGS}
    return {name: number for name, number in wanted.items() if number is not None}


def decide(held: Held, others: Iterable[Keys]) -> int | None:
    """Return the key to use from the API server's next start; None if nothing has to change.

    others: keys of all other control-plane machines.
    """
    everywhere = all(each.reads >= held.newest for each in others)
    wanted = held.newest if everywhere else held.keys.writes or held.newest
    return None if held.loaded and held.keys == (held.newest, wanted) else wanted


def known(memory: Memory, ring: str, names: Iterable[str]) -> dict[str, Keys]:
    """Return the keys that machines have published; 0 for machines that have not."""
    return {each: parsed(memory.values.get(f"{ring}.{each}", "")) for each in names}


def said(held: dict[str, Held], me: str) -> dict[str, str]:
    """Return what this machine publishes: the keys that its running programs have loaded."""
    there = ((ring.memory, held[ring.section]) for ring in RINGS)
    return {f"{name}.{me}": "{} {}".format(*each.keys) for name, each in there if each.loaded}


def parsed(text: str) -> Keys:
    """Return the keys of a value in the memory."""
    reads, _, writes = text.partition(" ")
    return Keys(int(reads or 0), int(writes or 0))


def renew(run: Run, config: Configuration, wanted: dict[str, int]) -> None:
    """Write the files of these rings with these keys in use, and restart the programs that read them."""
    changed = [ring for ring in RINGS if ring.section in wanted]
    for ring in changed:
        for name, text in ring.files(run, config[ring.section], wanted[ring.section]).items():
            write_whole(run.path(name), text, MODES["private"])
    static_pods.stop(run, config, *dict.fromkeys(each for ring in changed for each in ring.readers))


def rewrite(api: Api, config: Configuration, controllers: Iterable[str]) -> None:
    """Rewrite every encrypted object, once all machines encrypt with a newer key than at the last rewrite."""
    memory = Memory(api)
    writing = {each.writes for each in known(memory, "key", controllers).values()}
    if len(writing) != 1 or 0 in writing or int(memory.values.get("rewritten") or 1) >= min(writing):
        return
    for resource in config["encryption"]["resources"]:
        for item in listed(api, resource):
            put(api, resource, item)
    keep(api, rewritten=str(writing.pop()))


def listed(api: Api, resource: str) -> Iterable[dict[str, Any]]:
    """Yield all objects of a core/v1 resource, page by page."""
    onward = ""
    while True:
        page = api.call("GET", f"/api/v1/{resource}?limit={PAGE}{onward}")
        yield from page["items"]
        if not (token := (page.get("metadata") or {}).get("continue")):
            return
        onward = f"&continue={token}"


def put(api: Api, resource: str, item: dict[str, Any]) -> None:
    """Write an object unchanged: the API server encrypts it with its current key."""
    about = item["metadata"]
    try:
        api.call("PUT", f"/api/v1/namespaces/{about['namespace']}/{resource}/{about['name']}", item)
    except Refused as error:
        if error.status not in (404, 409):  # deleted, or written by another client and so with the new key
            raise
