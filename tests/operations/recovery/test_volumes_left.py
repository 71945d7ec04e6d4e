"""Volumes and snapshots that go with their cluster join the state before a removal, and are deleted last."""

from datetime import datetime, timezone
from typing import Any

import pytest

from operations.clouds.driver_made import Made
from operations.recovery import tag_search, volumes_left
from operations.recovery.volumes_left import KINDS
from tests.operations.recovery.test_controller_made import after, state

VOLUME, SNAPSHOT, *_ = KINDS
GOES, STAYS = Made(keeps=False), Made(keeps=True)
NAMES = ("vpc", "edge-0", "workers", "control-plane-0")


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Made]]:
    """Return what a search finds: by type each id, and whether a tag keeps it. Tests change it."""
    made = {VOLUME: {"vol-1": GOES, "vol-2": STAYS}, SNAPSHOT: {"snap-1": GOES}}

    def run(_: str, cluster: str, __: Any, look: Any, *, sandbox: bool) -> None:
        class Account:
            @staticmethod
            async def made_by_driver(parent: Any, name: str, keep: str) -> dict[str, dict[str, Made]]:
                assert (name, keep) == (cluster, "mullion-keep")
                return made

        coroutine = look(Account, None, f"kubernetes.io/cluster/{cluster}")
        with pytest.raises(StopIteration):
            coroutine.send(None)

    monkeypatch.setattr(tag_search, "run", run)
    return made


def stated(**spec: Any) -> list[dict[str, Any]]:
    [root, *others] = state(*NAMES)
    return [{**root, "inputs": {"csi": ["ebs"], **spec}}, *({**each, "custom": True} for each in others)]


@pytest.mark.usefixtures("found")
def test_a_volume_is_deleted_after_everything_else_and_one_with_the_tag_stays() -> None:
    resources = stated(expires="8h")
    changed, text = volumes_left.adopt("dev", resources, sandbox=True)
    assert changed
    assert text.splitlines()[0].startswith("Kept: 1 volume that the storage driver made, with the tag mullion-keep")
    assert [each["id"] for each in resources if each["type"] in KINDS] == ["vol-1", "snap-1"]
    assert all(after(resources, name) >= {"vol-1", "snap-1"} for name in NAMES)
    places = {each["urn"]: place for place, each in enumerate(resources)}
    for each in resources:
        assert all(places[urn] < places[each["urn"]] for urn in each.get("dependencies") or []), "the engine's order"


def test_a_removal_that_was_cut_off_forgets_what_is_gone_or_kept_since(found: dict[str, dict[str, Made]]) -> None:
    resources = stated(expires="8h")
    volumes_left.adopt("dev", resources, sandbox=True)
    assert volumes_left.adopt("dev", resources, sandbox=True)[0] is False, "the state has them now"
    found[VOLUME], found[SNAPSHOT] = {"vol-1": STAYS, "vol-3": GOES}, {}
    changed, _ = volumes_left.adopt("dev", resources, sandbox=True)
    assert changed
    assert [each["id"] for each in resources if each["type"] in KINDS] == ["vol-3"]
    assert after(resources, "vpc") == {"vol-3"}
    urns = {each["urn"] for each in resources}
    assert all(urn in urns for each in resources for urn in each.get("dependencies") or [])


@pytest.mark.usefixtures("found")
def test_without_an_expiry_all_stay() -> None:
    resources = stated()
    changed, text = volumes_left.adopt("dev", resources, sandbox=True)
    assert (changed, len(text.splitlines())) == (False, 2)
    assert "2 volumes that the storage driver made, with their data: vol-1, vol-2." in text
    assert not any(each["type"] in KINDS for each in resources)


GOOGLE = "pulumi:providers:gcp"
PATHS = ("projects/p/zones/europe-west1-b/disks/pv-dev--01", "projects/p/global/snapshots/pv-dev--02")


def on_google(**spec: Any) -> list[dict[str, Any]]:
    types = {"pulumi:providers:aws": GOOGLE, "aws:ec2/instance:Instance": "gcp:compute/instance:Instance"}
    resources = [{**each, "type": types.get(each["type"], each["type"])} for each in stated(**spec)]
    for each in resources:
        each["urn"] = each["urn"].replace("pulumi:providers:aws", GOOGLE)
    return [
        {**each, "inputs": {**each["inputs"], "csi": ["pd"]}} if "csi" in each.get("inputs", {}) else each
        for each in resources
    ]


def test_disks_of_google_cloud_join_the_state_with_what_their_provider_deletes_by(
    found: dict[str, dict[str, Made]],
) -> None:
    found.clear()
    disk, snapshot = list(KINDS)[2:]
    found.update({disk: {PATHS[0]: GOES}, snapshot: {PATHS[1]: GOES}})
    resources = on_google(expires="8h")
    assert volumes_left.adopt("dev", resources, sandbox=False) == (True, "")
    made = {each["type"]: each for each in resources if each["type"] in KINDS}
    place = {"project": "p", "name": "pv-dev--01", "zone": "europe-west1-b"}
    assert made[disk]["id"] == PATHS[0] and made[disk]["outputs"] == {"id": PATHS[0], **place}
    assert made[snapshot]["outputs"] == {"id": PATHS[1], "project": "p", "name": "pv-dev--02"}
    assert all(GOOGLE in each["provider"] for each in made.values())


def test_disks_of_google_cloud_stay_without_an_expiry_and_are_named_with_the_command_that_deletes_one(
    found: dict[str, dict[str, Made]],
) -> None:
    found.clear()
    found.update({list(KINDS)[2]: {PATHS[0]: GOES}})
    changed, text = volumes_left.adopt("dev", on_google(), sandbox=False)
    assert not changed
    assert f"Kept: 1 disk that the storage driver made, with their data: {PATHS[0]}." in text
    assert text.endswith("gcloud compute disks delete NAME --zone ZONE --project PROJECT")


def test_a_disk_that_an_earlier_cluster_of_this_name_left_stays_and_is_named(found: dict[str, dict[str, Made]]) -> None:
    found.clear()
    at_five, at_seven = (datetime(2026, 1, 1, hour, tzinfo=timezone.utc) for hour in (5, 7))
    found.update({list(KINDS)[2]: {PATHS[0]: Made(False, at_five), f"{PATHS[0]}2": Made(False, at_seven)}})
    resources = on_google(expires="8h")
    resources[0]["created"] = "2026-01-01T06:00:00.123456Z"
    changed, text = volumes_left.adopt("dev", resources, sandbox=False)
    assert changed and [each["id"] for each in resources if each["type"] in KINDS] == [f"{PATHS[0]}2"]
    why = "older than this cluster, so of an earlier one of its name"
    assert text.startswith(f"Kept: 1 disk that the storage driver made, {why}: {PATHS[0]}.")
