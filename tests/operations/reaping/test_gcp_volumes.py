"""Disks and snapshots of a storage driver on Google Cloud, of clusters without a state: which go, which stay."""

from collections.abc import Mapping
from typing import Any

import pytest

from operations.clouds.api import ApiError
from tests.operations.reaping.test_gcp import LINK, Answers, inventory, row

UID, OTHER = "0123456789abcdef" * 2, "fedcba9876543210" * 2
BEFORE, AFTER = "2025-12-31T23:59:59.9Z", "2026-01-01T00:00:01.000-08:00"
ROLE = {"name": "projects/p/roles/ci_volumes_bcdfgh", "title": "Volumes of ci"}


def made(kind: str, name: str, created: str = AFTER, **more: Any) -> dict[str, Any]:
    return row(kind, name, creationTimestamp=created, **more)


def of_driver(regions: tuple[str, ...] = (), **lists: Any) -> dict[str, str]:
    """Return the names of the clusters' disks and snapshots, and why each stays."""
    things = inventory(regions, **lists)
    return {each.id.rpartition("/")[2]: each.retained for each in things if each.kind in ("disks", "snapshots")}


def test_disks_and_snapshots_of_its_storage_driver_belong_to_a_cluster_by_their_names() -> None:
    names = (f"pv-ci--{UID}", f"pv-ci-2--{UID}", f"pv-cia--{UID}", "ci-web-0", f"pvc-{UID}", "pv-ci--data")
    disks = [made("disks", name) for name in names]
    disks += [made("disks", f"pv-ci--{OTHER}", labels={"mullion-keep": "true"})]
    snapshots = [made("snapshots", f"pv-ci--{UID[::-1]}"), made("snapshots", "nightly")]
    assert of_driver(disks=disks, snapshots=snapshots) == {
        f"pv-ci--{UID}": "",
        f"pv-ci--{OTHER}": "by their tag",
        f"pv-ci--{UID[::-1]}": "",
    }


def test_a_disk_of_etcd_belongs_to_a_cluster_by_its_label() -> None:
    labels = {"mullion_cluster": "ci"}
    disks = [made("disks", "ci-control-plane-0-etcd", labels=labels), made("disks", "ci-control-plane-1-etcd")]
    disks.append(made("disks", "other-control-plane-0-etcd", labels={"mullion_cluster": "of-nobody"}))
    assert of_driver(disks=disks) == {"ci-control-plane-0-etcd": ""}


def test_a_disk_that_is_older_than_the_clusters_oldest_resource_stays() -> None:
    disks = [made("disks", f"pv-ci--{UID}", BEFORE), made("disks", f"pv-ci--{OTHER}")]
    assert of_driver(disks=disks) == {f"pv-ci--{UID}": "as older than the cluster", f"pv-ci--{OTHER}": ""}


@pytest.mark.parametrize("labels", [{}, {"mullion-keep": ""}])
def test_a_disk_in_a_region_that_is_not_asked_for_neither_goes_nor_keeps_its_cluster(labels: dict[str, str]) -> None:
    there = {"selfLink": f"{LINK}zones/us-east1-b/disks/pv-ci--{UID}", "labels": labels}
    disks = [made("disks", f"pv-ci--{UID}", **there)]
    assert {each.kind for each in inventory(("europe-west1",), disks=disks)} == {"secret", "instances"}
    assert of_driver(disks=disks) == {f"pv-ci--{UID}": "by their tag" if labels else ""}


class Closed(Answers):
    """A project that does not let disks be listed."""

    def pages(self, host: str, path: str, query: Mapping[str, str]) -> list[Any]:
        if path.endswith("/disks"):
            raise ApiError(403, "forbidden", "Required 'compute.disks.list' permission")
        return super().pages(host, path, query)


def test_without_the_right_to_list_disks_clusters_without_a_driver_are_still_found() -> None:
    assert {each.kind for each in inventory(answers=Closed)} == {"secret", "instances"}
    named = [{**ROLE, "name": "projects/p/roles/a_volumes_machines_bcdfgh", "title": "Machines of ci"}]
    assert inventory(answers=Closed, roles=named), "a role of another key"


def test_without_the_right_to_list_disks_a_cluster_with_a_driver_is_an_error() -> None:
    with pytest.raises(ApiError, match=r"compute\.disks\.list"):
        inventory(answers=Closed, roles=[ROLE])
