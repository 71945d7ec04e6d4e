"""The system-assigned identities of Azure's workers: a cluster from before they had one, and a roll."""

from pathlib import Path

import pytest

from operations.engine.locate import Engine
from sandbox.services.azure.machine import MACHINE, identities, own_identity

from .clone import Clone

pytestmark = pytest.mark.engine

BOTH, SHARED = '"SystemAssigned, UserAssigned"', '"UserAssigned"'


def principals(clone: Clone) -> dict[str, str | None]:
    """Return the principal of each machine's system-assigned identity; None if it has none."""
    with clone.cloud_state() as cloud_state:
        found = {each.name.removeprefix(f"{clone.stack}-"): each for each in cloud_state.resources(MACHINE)}
        assert all(len(identities(cloud_state, each)) == 1 for each in found.values())
        own = {name: own_identity(each) for name, each in found.items()}
    return {name: each.principal if each else None for name, each in own.items()}


def test_a_worker_gets_its_identity_with_its_machine_and_an_existing_machine_none(
    tmp_path: Path, engine: Engine
) -> None:
    clone = Clone(tmp_path / "clone", engine, "azure-ci")
    program = clone.folder / "components" / "azure" / "machines.py"
    now = program.read_text("utf-8")
    before = now.replace(BOTH, SHARED).replace(', "identity"]', "]")
    assert (before.count(SHARED), before.count('"identity"]')) == (2, 0), "the program of before"
    program.write_text(before, "utf-8")
    clone.built()
    machines = clone.machines()
    assert set(principals(clone).values()) == {None}

    program.write_text(now, "utf-8")
    up = clone.up()
    assert up.returncode == 0, up.stderr
    assert clone.machines() == machines, "no machine is replaced"
    assert set(principals(clone).values()) == {None}, "existing machines do not send the proof"
    assert not clone.differences().missing

    [pool] = clone.document()["pools"]
    for _ in range(2):
        earlier, seen = clone.machines(), principals(clone)
        rolled = clone.run("roll", clone.stack, pool, "--sandbox", "--yes")
        assert rolled.returncode == 0, rolled.stderr
        changed = {name for name, instance in clone.machines().items() if earlier[name] != instance}
        found = principals(clone)
        assert (
            changed == {name for name, principal in found.items() if principal} == machines.keys() - {"control-plane-0"}
        )
        assert all(found[name] != seen[name] for name in changed), "the principal is the machine's, not the name's"
    assert not clone.differences().missing
