"""What people want of booted machines, and what these are at: kept in the world, where command and keeper both look."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from sandbox.cloud_state import CloudState

WISHES, MACHINES, SITE = "booted/wishes", "booted/machines", "booted/site"
"""Settings of a world: {name: Wish}; {name: Standing}, and {net, api, gateway} of the site, while there is one."""


@dataclass(frozen=True)
class Wish:
    """How a machine shall be. boots: how often it was asked to boot anew; rate: of its network, empty for all of it."""

    on: bool = True
    boots: int = 0
    connected: bool = True
    rate: str = ""


@dataclass(frozen=True)
class Standing:
    """How a machine is: on, off, boots, failed, or not booted, and why; and the wish that this answers.

    since: when it was put on last, in UTC as status records have it; a record that is not younger tells of before.
    """

    instance: str
    address: str
    state: str
    why: str
    wish: Wish
    since: str = ""


def wishes(cloud_state: CloudState) -> dict[str, Wish]:
    """By the machine's name; who is not named has the common wish."""
    return {name: Wish(**each) for name, each in _read(cloud_state, WISHES).items()}


def wish(cloud_state: CloudState, name: str, **changes: Any) -> Wish:
    """Change what is wanted of a machine; boots=1 asks for one boot more."""
    with cloud_state.transaction():
        known = wishes(cloud_state)
        before = known.get(name, Wish())
        known[name] = replace(before, **{**changes, "boots": before.boots + changes.get("boots", 0)})
        _write(cloud_state, WISHES, {one: asdict(each) for one, each in known.items()})
    return known[name]


def forget(cloud_state: CloudState, name: str) -> None:
    """Take back what was wanted of a machine that is gone: the next of its name has the common wish."""
    with cloud_state.transaction():
        _write(cloud_state, WISHES, {one: asdict(each) for one, each in wishes(cloud_state).items() if one != name})


def standing(cloud_state: CloudState) -> dict[str, Standing]:
    """By the machine's name."""
    found = _read(cloud_state, MACHINES).items()
    return {name: Standing(**{**each, "wish": Wish(**each["wish"])}) for name, each in found}


def tell(cloud_state: CloudState, machines: dict[str, Standing]) -> None:
    """Say how machines are."""
    with cloud_state.transaction():
        _write(cloud_state, MACHINES, {name: asdict(each) for name, each in machines.items()})


def site(cloud_state: CloudState) -> dict[str, str]:
    """Name of the network, the API's URL on this host, and where the mirror is; empty where nothing is booted."""
    return _read(cloud_state, SITE)


def open_site(cloud_state: CloudState, **about: str) -> None:
    """Say that there is a site now, with nothing wished for yet."""
    with cloud_state.transaction():
        _write(cloud_state, SITE, about)
        _write(cloud_state, WISHES, {})


def close_site(cloud_state: CloudState) -> None:
    """Say that there is none any more."""
    with cloud_state.transaction():
        for each in (SITE, MACHINES, WISHES):
            cloud_state.set_setting(each, "{}")


def _read(cloud_state: CloudState, name: str) -> dict[str, Any]:
    return json.loads(cloud_state.setting(name) or "{}")


def _write(cloud_state: CloudState, name: str, content: Any) -> None:
    cloud_state.set_setting(name, json.dumps(content))
