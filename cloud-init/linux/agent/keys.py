"""Keys that the API servers share, renewed: nobody uses one that another API server does not know yet.

There are two rings of them: keys of encryption at rest, and keys that sign service-account tokens. The secret has the
keys; the newest is to be used. One machine after the other, in its turn, gets it beside the key that it uses, and its
API server starts anew; once every machine knows the new one, each uses it. Older keys stay for reading: snapshots have
what was encrypted with them, pods have tokens that the one before signed. When all machines encrypt with the newest,
the active agent writes every object once.

Keys are numbered by age, from 1. The agents' memory has, for this:
key.<machine>      "2 1": the newest key of encryption that its API server reads, and the one that it writes with
signer.<machine>   the same of service-account tokens: the newest key that it takes, and the one that signs
rewritten          the key that all objects were written with
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kinds import keys as key_files
from kinds.files import MODES
from run import Run
from writing import write_whole

from agent import pods
from agent.api import Api, Refused
from agent.configuration import Configuration
from agent.memory import Memory, keep

PAGE = 200
"""Objects read at once."""


class Keys(NamedTuple):
    """What an API server has."""

    reads: int
    """The newest key that it knows."""
    writes: int
    """The key that it uses; 0: none that is known."""


class Held(NamedTuple):
    """What there is on this machine."""

    newest: int
    """The newest key of the secret."""
    keys: Keys
    """Of the files."""
    loaded: bool
    """Whoever reads the files began after they were written; also who does not run."""


class Ring(NamedTuple):
    """Keys of one kind."""

    told: str
    """The agent's configuration has the step of this name, whose fields these are."""
    memory: str
    """What it is called in the agents' memory."""
    held: Callable[[Run, dict[str, Any]], tuple[int, Keys]]
    """The newest key of the secret, and what the files have."""
    files: Callable[[Run, dict[str, Any], int], dict[str, bytes]]
    """The files by their place, in the order of writing, with this key in use."""
    places: tuple[str, ...]
    """Fields of the step that name the files."""
    readers: tuple[str, ...]
    """Static pods that read the files when they start."""


def _encryption(run: Run, step: dict[str, Any]) -> tuple[int, Keys]:
    present = key_files.numbers(run.path(step["path"]))
    return len(key_files.encryption_keys(run, step)), Keys(max(present, default=0), present[0] if present else 0)


def _signers(run: Run, step: dict[str, Any]) -> tuple[int, Keys]:
    known = key_files.signers(run, step)
    # who signs with a key that is in the secret no more shall not go on to one that others may not know yet
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


def look(run: Run, told: Configuration) -> dict[str, Held]:
    """Read secret, files and starts, ring by ring. Failure secret-unavailable."""
    for secret in {told[ring.told]["secret"] for ring in RINGS}:
        run.stored.pop(secret, None)  # the program may have written a newer one
    return {ring.told: Held(*ring.held(run, told[ring.told]), _loaded(run, told, ring)) for ring in RINGS}


def _loaded(run: Run, told: Configuration, ring: Ring) -> bool:
    files = [run.path(told[ring.told][place]) for place in ring.places]
    began = [at for each in ring.readers if (at := pods.started(run, told, each)) is not None]
    return not began or all(each.exists() and min(began) > each.stat().st_mtime for each in files)


def due(held: dict[str, Held], memory: Memory, others: Iterable[str]) -> dict[str, int]:
    """Rings of which this machine needs other keys, and the key to use from the next start of what reads them on."""
    names = list(others)
    wanted = {ring.told: decide(held[ring.told], known(memory, ring.memory, names).values()) for ring in RINGS}
    return {name: number for name, number in wanted.items() if number is not None}


def decide(held: Held, others: Iterable[Keys]) -> int | None:
    """The key that this machine shall use from its API server's next start on; None: all is as it shall be.

    others: of all other machines of the control plane.
    """
    everywhere = all(each.reads >= held.newest for each in others)
    wanted = held.newest if everywhere else held.keys.writes or held.newest
    return None if held.loaded and held.keys == (held.newest, wanted) else wanted


def known(memory: Memory, ring: str, names: Iterable[str]) -> dict[str, Keys]:
    """What machines have said of theirs; 0 for who has not."""
    return {each: parsed(memory.values.get(f"{ring}.{each}", "")) for each in names}


def said(held: dict[str, Held], me: str) -> dict[str, str]:
    """What this machine tells the others: the keys of what runs."""
    there = ((ring.memory, held[ring.told]) for ring in RINGS)
    return {f"{name}.{me}": "{} {}".format(*each.keys) for name, each in there if each.loaded}


def parsed(text: str) -> Keys:
    """A value of the memory."""
    reads, _, writes = text.partition(" ")
    return Keys(int(reads or 0), int(writes or 0))


def renew(run: Run, told: Configuration, wanted: dict[str, int]) -> None:
    """Write the files of these rings, each with this key in use, and start anew what reads them."""
    changed = [ring for ring in RINGS if ring.told in wanted]
    for ring in changed:
        for name, text in ring.files(run, told[ring.told], wanted[ring.told]).items():
            write_whole(run.path(name), text, MODES["private"])
    pods.stop(run, told, *dict.fromkeys(each for ring in changed for each in ring.readers))


def rewrite(api: Api, told: Configuration, controllers: Iterable[str]) -> None:
    """Write every object that is encrypted, once the whole control plane writes with a newer key than they have."""
    memory = Memory(api)
    writing = {each.writes for each in known(memory, "key", controllers).values()}
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
