"""Things that a test needs first, made when they are named, each with what it needs itself."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.sandbox.account import Account, Thing

Scene = Callable[[str], Thing]
"""From the name of a thing to the thing; made once."""
Scenes = Mapping[str, tuple[str, dict[str, Any]]]
"""Type and inputs by name, `$name` for the id of another."""
Row = tuple[str, dict[str, Any], str, str]
"""A call that a cloud refuses: type, inputs, code and words of the refusal."""


def maker(
    account: Account,
    scenes: Scenes,
    needs: Mapping[str, str] | None = None,
) -> Scene:
    """needs: what else must be there before."""
    made: dict[str, Thing] = {}

    def make(name: str) -> Thing:
        if name not in made:
            if needs and name in needs:
                make(needs[name])
            short, inputs = scenes[name]
            made[name] = account.create(short, name.replace(" ", "-"), **filled(inputs, make))
        return made[name]

    return make


def filled(value: Any, scene: Scene) -> Any:
    """Inputs with ids in the place of `$name`."""
    if isinstance(value, dict):
        return {key: filled(item, scene) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, scene) for item in value]
    return scene(value[1:]).id if isinstance(value, str) and value.startswith("$") else value


def changed(scenes: Scenes, kind: str, changes: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Type and inputs of a scene with changes, or of a type that has none; None takes a property away."""
    short, plain = scenes.get(kind, (kind, {}))
    return short, {key: value for key, value in (plain | changes).items() if value is not None}


def stopped(account: Account, scenes: Scenes, kind: str, changes: dict[str, Any]) -> list[str]:
    """The properties for which a preview stops."""
    short, given = changed(scenes, kind, changes)
    return list(account.failures(short, **given))


def refusal_of(account: Account, scene: Scene, scenes: Scenes, row: Row) -> str:
    """What a cloud says to a row's inputs: code and message."""
    kind, changes, _, _ = row
    short, given = changed(scenes, kind, changes)
    whole = filled(given, scene)
    refusal = account.refused(lambda: account.create(short, "refused", **whole))
    return f"{refusal.code}: {refusal.message}"
