"""Resources that tests need, created with their dependencies at first use."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.sandbox.account import Account, Thing

Scene = Callable[[str], Thing]
"""Returns the resource of a name, created at the first call."""
Scenes = Mapping[str, tuple[str, dict[str, Any]]]
"""Type and inputs by name; `$name` stands for the id of another resource."""
Row = tuple[str, dict[str, Any], str, str]
"""A refused call: type, inputs, code and text of the refusal."""


def maker(
    account: Account,
    scenes: Scenes,
    needs: Mapping[str, str] | None = None,
) -> Scene:
    """Return a Scene. needs: further resources to create before."""
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
    """Return inputs with ids instead of `$name`."""
    if isinstance(value, dict):
        return {key: filled(item, scene) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, scene) for item in value]
    return scene(value[1:]).id if isinstance(value, str) and value.startswith("$") else value


def changed(scenes: Scenes, kind: str, changes: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return type and inputs of a scene, or of a type without one, with changes; None removes a property."""
    short, plain = scenes.get(kind, (kind, {}))
    return short, {key: value for key, value in (plain | changes).items() if value is not None}


def stopped(account: Account, scenes: Scenes, kind: str, changes: dict[str, Any]) -> list[str]:
    """Return the properties with failures in a preview."""
    short, given = changed(scenes, kind, changes)
    return list(account.failures(short, **given))


def refusal_of(account: Account, scene: Scene, scenes: Scenes, row: Row) -> str:
    """Return code and message of the refusal of a row's inputs."""
    kind, changes, _, _ = row
    short, given = changed(scenes, kind, changes)
    whole = filled(given, scene)
    refusal = account.refused(lambda: account.create(short, "refused", **whole))
    return f"{refusal.code}: {refusal.message}"
