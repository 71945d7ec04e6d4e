"""Identities of workers: Azure's system-assigned ones in a cluster from before they had one, and after a roll; GCP's
service accounts after a change of `worker_identity`.
"""

from itertools import product
from pathlib import Path

import pytest

from operations.engine.locate import Engine
from sandbox.boot.cloud_services import services_of
from sandbox.gcp.firewalls import ACCOUNT
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


def accounts(clone: Clone) -> set[str]:
    """Return the names of the project's service accounts, without the cluster's name and letters."""
    with clone.cloud_state() as cloud_state:
        names = [str(each.inputs["accountId"]) for each in cloud_state.resources(ACCOUNT)]
    return {name.removeprefix(f"{clone.stack}-").rpartition("-")[0] for name in names}


def writable(clone: Clone) -> set[tuple[str, str]]:
    """Return each worker with each worker whose status record, logs and announcement it may all write, and refuse that
    it may write only some of them.
    """
    with clone.cloud_state() as cloud_state:
        known, records = services_of(cloud_state).machines, services_of(cloud_state).records(cloud_state)
        workers = {
            each.name.removeprefix(f"{clone.stack}-"): each for each in records if "control-plane" not in each.name
        }
        found = set[tuple[str, str]]()
        for (name, worker), (other, owner) in product(workers.items(), repeat=2):
            url = known.status_url(known.document(owner.inputs) or {}, known.instance(owner))
            urls = [url.replace("/status/", f"/{folder}/") for folder in ("status", "logs", "join")]
            may = {not known.not_allowed(cloud_state, worker, known.write, each) for each in urls}
            assert len(may) == 1
            found |= {(name, other)} if True in may else set()
    return found


def test_a_change_of_worker_identity_rolls_the_workers_into_accounts_of_their_own(
    tmp_path: Path, engine: Engine
) -> None:
    clone = Clone(tmp_path / "clone", engine, "gcp-ci")
    document = clone.document()
    document["pools"]["windows"]["count"] = 3
    workers = {f"windows-{index}" for index in range(3)}
    clone.write({**document, "worker_identity": "pool"})
    before = clone.built().machines()
    assert accounts(clone) == {"control-plane", "windows"}
    assert writable(clone) == set(product(workers, repeat=2))

    clone.write(document)
    up = clone.up()
    assert up.returncode == 0, up.stderr
    changed = {name for name, instance in clone.machines().items() if before[name] != instance}
    assert changed == workers, "the gates found the records of workers with the pool's account"
    assert accounts(clone) == {"control-plane", *workers}
    assert writable(clone) == {(worker, worker) for worker in workers}
    assert clone.run("wait", clone.stack).returncode == 0
    assert not clone.differences().missing

    document["pools"]["windows"]["count"] = 2
    clone.write(document)
    seen = clone.machines()
    up = clone.up()
    assert up.returncode == 0, up.stderr
    assert clone.machines() == {name: instance for name, instance in seen.items() if name != "windows-2"}
    assert accounts(clone) == {"control-plane", "windows-0", "windows-1"}
    assert not clone.differences().missing
