"""`mullion replace-control-plane` and `mullion restore`, on a protected cluster of three, through the command line."""

import hashlib
import hmac
import json
from typing import Any

import pytest

from components.rollout.signed_documents import FOUNDED, founding_record
from operations.engine.locate import Engine
from sandbox.boot.cloud_services import services_of

from . import sampling
from .clone import Clone

pytestmark = [pytest.mark.sampled, pytest.mark.engine]

NAMES = {"control-plane-0", "control-plane-1", "control-plane-2"}
OLDER, NEWER = (f"etcd/20261121T{hour}0000Z-timer.{'ab' * 32}" for hour in ("09", "10"))
"""Names of snapshots before their MAC."""
PLANTED = f"etcd/20261121T110000Z-timer.{'ab' * 32}.{'cd' * 32}.db"


@pytest.fixture(scope="module", params=sampling.each("prod"))
def clone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    """The production cluster without its workers, built and founded, with two snapshots.

    The log has lost its record 1, with which the cluster was founded.
    """
    made = Clone(tmp_path_factory.mktemp("clone"), engine, sampling.stack(request.param, "control planes"))
    cluster = made.document()
    cluster["control_plane"]["etcd_disk"] = {}
    for pool in cluster["pools"].values():
        pool["count"] = 1 if pool["os"].startswith("ubuntu") else 0
    made.write(cluster)
    done(made.up())
    record = {"cluster": "sha256:a", "epoch": 0, "owner": "i-0", "machine": "control-plane-0", "state": "founded"}
    store, bundles, key = made.store("snapshots"), made.store("bundles"), signing_key(made)
    objects = {signed(key, OLDER): "x", signed(key, NEWER): "y", PLANTED: "z", "founding/0": json.dumps(record)}
    founded = founding_record(key, {"cluster": "sha256:a", "epoch": 1})
    with made.cloud_state() as cloud_state, cloud_state.transaction():
        for name, content in objects.items():
            cloud_state.put_object(store, name, content.encode(), "application/json", versioned=True)
        cloud_state.put_object(bundles, FOUNDED, founded.encode(), "application/json", versioned=False)
    return made


def signing_key(clone: Clone) -> str:
    """Return the key of the MAC in names of snapshots, as the control plane reads it."""
    with clone.cloud_state() as cloud_state:
        machines = services_of(cloud_state).machines
        documents = (machines.document(each.inputs) or {} for each in cloud_state.resources(machines.type))
        names = {each["facts"].get("desired_state_secret") for each in documents} - {None}
        (values,) = (cloud_state.secret_values(machines.key(cloud_state, name)) for name in names)
        return list(values.values())[-1]


def signed(key: str, name: str) -> str:
    """Return the key of a snapshot with this name."""
    return f"{name}.{hmac.new(key.encode(), name.encode(), hashlib.sha256).hexdigest()}.db"


def done(run: Any) -> str:
    """Return the output of a run that must succeed."""
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    return run.stdout


def changed(clone: Clone, before: dict[str, str]) -> set[str]:
    """Return the names of machines whose instances have changed."""
    now = clone.machines()
    assert now.keys() == before.keys()
    return {name for name in now if now[name] != before[name]}


def protected(clone: Clone) -> set[str]:
    """Return the names of machines that are protected in the state."""
    found = [each["urn"] for each in clone.resources() if clone.cloud.is_machine(each) and each.get("protect")]
    return {each.rpartition("::")[2].removeprefix(f"{clone.stack}-") for each in found}


def disks(clone: Clone) -> dict[str, str]:
    """Return when the engine made each disk that is a resource of its own, by machine; only GCP has some."""
    found = [each for each in clone.resources() if clone.cloud.is_disk(each)]
    return {each["urn"].rpartition("::")[2].removeprefix(f"{clone.stack}-"): each["created"] for each in found}


def test_one_control_plane_machine_is_replaced_with_its_disk_and_all_stay_protected(clone: Clone) -> None:
    before, old = clone.machines(), disks(clone)
    assert old.keys() == (NAMES if clone.cloud.disk else set())
    said = done(clone.run("replace-control-plane", clone.stack, "control-plane-1", "--sandbox", "--yes"))
    assert changed(clone, before) == {"control-plane-1"}
    assert protected(clone) == NAMES
    assert {name for name, made in disks(clone).items() if made != old[name]} == {"control-plane-1"} & old.keys()
    assert "control-plane-1  ready" in said
    assert done(clone.up()).startswith("no changes"), "nothing is left to do"


def test_a_control_plane_machine_is_not_replaced_while_another_is_unhealthy(clone: Clone) -> None:
    before, store = clone.machines(), clone.store("bundles")
    with clone.cloud_state() as cloud_state, cloud_state.transaction():
        key = next(key for key in cloud_state.objects(store) if before["control-plane-2"] in key)
        record = json.loads(cloud_state.objects(store)[key].content)
        kept = cloud_state.objects(store)[key].content
        ill = json.dumps({**record, "state": "failed", "code": 404, "name": "wait-timeout", "message": "no API"})
        cloud_state.put_object(store, key, ill.encode(), "application/json", versioned=False)
    refused = clone.run("replace-control-plane", clone.stack, "control-plane-1", "--sandbox", "--yes")
    with clone.cloud_state() as cloud_state, cloud_state.transaction():
        cloud_state.put_object(store, key, kept, "application/json", versioned=False)
    assert refused.returncode == 3
    assert "control-plane-2: failed, E404 wait-timeout: no API" in refused.stderr
    assert changed(clone, before) == set()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("replace-control-plane", "STACK", "linux-0", "--yes"), 2, "it has control-plane-0, control-plane-1"),
        (("restore", "STACK"), 3, "Without a terminal: --confirm STACK"),
        (("restore", "STACK", "--confirm", "other"), 3, "does not name the cluster STACK; nothing was changed"),
        (("restore", "STACK", "--snapshot", "etcd/x.db", "--confirm", "STACK"), 2, "restore STACK --list"),
    ],
)
def test_unconfirmed_or_unknown_replacements_are_refused(
    clone: Clone, words: tuple[str, ...], code: int, says: str
) -> None:
    before = clone.machines()
    refused = clone.run(*(each.replace("STACK", clone.stack) for each in words), "--sandbox")
    assert refused.returncode == code
    assert says.replace("STACK", clone.stack) in refused.stderr
    assert changed(clone, before) == set()


def test_restore_replaces_the_control_plane_and_its_founder_gets_the_newest_snapshot(
    clone: Clone,
) -> None:
    run = clone.run("restore", clone.stack, "--sandbox", "--list")
    listed = done(run)
    assert listed.index(NEWER) < listed.index(OLDER)
    assert PLANTED not in listed
    assert "1 objects below etcd/" in run.stderr and PLANTED in run.stderr

    before = clone.machines()
    said = done(clone.run("restore", clone.stack, "--sandbox", "--confirm", clone.stack))
    assert changed(clone, before) == NAMES, "and no worker"
    assert protected(clone) == NAMES
    assert "Changes of the cluster since then are lost" in said
    store = clone.store("snapshots")
    with clone.cloud_state() as cloud_state:
        written = {number: cloud_state.objects(store)[f"founding/{number}"].content.decode() for number in (1, 2)}
        assert "founding/3" not in cloud_state.objects(store)
    key = signing_key(clone)
    record = {"cluster": "sha256:a", "owner": "", "machine": "", "state": "restore", "snapshot": signed(key, NEWER)}
    assert written == {number: founding_record(key, {**record, "epoch": number}) for number in written}
