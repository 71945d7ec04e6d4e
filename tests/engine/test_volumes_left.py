"""Volumes and snapshots of a storage driver: `mullion down` leaves and names them, unless their cluster expires."""

import time

import pytest

from components.naming import KEEP_TAG, volume_prefix
from operations.engine.locate import Engine
from sandbox.aws.cloud import AWS
from sandbox.aws.volumes import SNAPSHOT, VOLUME
from sandbox.cloud_state import CloudState
from sandbox.gcp.cloud import GCP
from sandbox.gcp.names import DISK
from sandbox.gcp.names import SNAPSHOT as OF_DISK
from sandbox.provider import Provider

from .clone import Clone
from .test_reap_by_tags import tomorrow

pytestmark = pytest.mark.engine


def make(cloud_state: CloudState, cluster: str, **tags: str) -> tuple[str, str]:
    """Make what the driver makes of a claim and of a snapshot of it; return their ids."""
    provider = Provider(AWS, cloud_state)
    assert provider.configure({"region": "eu-west-1"}) == []
    driver = {f"kubernetes.io/cluster/{cluster}": "owned", "ebs.csi.aws.com/cluster": "true", **tags}
    given = {"availabilityZone": "eu-west-1a", "size": 20, "type": "gp3", "encrypted": True, "tags": driver}
    volume, _ = provider.create(f"urn:pulumi:x::x::{VOLUME}::pvc", given, preview=False)
    given = {"volumeId": volume, "tags": driver}
    snapshot, _ = provider.create(f"urn:pulumi:x::x::{SNAPSHOT}::snapcontent", given, preview=False)
    return volume, snapshot


def make_disk(cloud_state: CloudState, cluster: str, uid: str, **labels: str) -> tuple[str, str]:
    """Make what the driver of persistent disks makes of a claim and of a snapshot of it; return their ids."""
    provider = Provider(GCP, cloud_state)
    assert provider.configure({"region": "europe-west1"}) == []
    name, zone = f"{volume_prefix(cluster)}-{uid * 16}", "europe-west1-b"
    given = {"name": name, "zone": zone, "size": 20, "type": "pd-balanced", "labels": labels}
    disk, _ = provider.create(f"urn:pulumi:x::x::{DISK}::pvc", given, preview=False)
    given = {"name": name, "sourceDisk": disk, "labels": labels}
    snapshot, _ = provider.create(f"urn:pulumi:x::x::{OF_DISK}::snapcontent", given, preview=False)
    return disk, snapshot


def left(cloud_state: CloudState) -> set[str]:
    return {each.id for type in (VOLUME, SNAPSHOT, DISK, OF_DISK) for each in cloud_state.resources(type)}


def built(clone: Clone, expires: str | None, driver: str = "ebs") -> Clone:
    others = {key: value for key, value in clone.document().items() if key != "expires"}
    pools = {**others["pools"], "linux": {"os": "ubuntu-24.04", "count": 1}}  # the driver of Google Cloud needs one
    clone.write({**others, "pools": pools, "csi": [driver], **({"expires": expires} if expires else {})})
    return clone.built()


def test_down_keeps_the_volumes_and_snapshots_of_its_cluster_and_names_them(
    tmp_path_factory: pytest.TempPathFactory, engine: Engine
) -> None:
    clone = built(Clone(tmp_path_factory.mktemp("clone"), engine), None)
    with clone.cloud_state() as cloud_state:
        (one, snapshot), (two, other) = make(cloud_state, clone.stack), make(cloud_state, clone.stack)
        make(cloud_state, "other")
        before = left(cloud_state)
    down = clone.run("down", clone.stack, "--sandbox", "--yes")
    assert down.returncode == 0, down.stderr
    for kind, ids in (("volume", (one, two)), ("snapshot", (snapshot, other))):
        names = ", ".join(sorted(ids))
        assert f"Kept: 2 {kind}s that the storage driver made, with their data: {names}." in down.stdout
    assert "aws ec2 delete-volume --volume-id ID" in down.stdout
    with clone.cloud_state() as cloud_state:
        assert left(cloud_state) == before


def test_those_of_a_cluster_that_expires_go_with_it_unless_a_tag_keeps_them(
    tmp_path_factory: pytest.TempPathFactory, engine: Engine
) -> None:
    clone = built(Clone(tmp_path_factory.mktemp("clone"), engine), "8h")
    with clone.cloud_state() as cloud_state:
        make(cloud_state, clone.stack)
        kept = make(cloud_state, clone.stack, **{KEEP_TAG: "true"})
        others = make(cloud_state, "other")
    reaped = tomorrow(clone, "reap", "--sandbox", "--yes")
    assert reaped.returncode == 0, reaped.stderr
    assert f"Kept: 1 volume that the storage driver made, with the tag {KEEP_TAG}: {kept[0]}." in reaped.stdout
    assert f"Kept: 1 snapshot that the storage driver made, with the tag {KEEP_TAG}: {kept[1]}." in reaped.stdout
    with clone.cloud_state() as cloud_state:
        assert left(cloud_state) == {*kept, *others}
        assert {each.type for each in cloud_state.resources()} == {VOLUME, SNAPSHOT}


def test_disks_of_google_cloud_stay_and_are_named_or_go_with_a_cluster_that_expires(
    tmp_path_factory: pytest.TempPathFactory, engine: Engine
) -> None:
    clone = built(Clone(tmp_path_factory.mktemp("clone"), engine, "gcp-ci"), None, "pd")
    with clone.cloud_state() as cloud_state:
        disk, snapshot = make_disk(cloud_state, clone.stack, "01")
        others = make_disk(cloud_state, "other", "02")
    down = clone.run("down", clone.stack, "--sandbox", "--yes")
    assert down.returncode == 0, down.stderr
    assert f"Kept: 1 disk that the storage driver made, with their data: {disk}." in down.stdout
    assert f"Kept: 1 snapshot that the storage driver made, with their data: {snapshot}." in down.stdout
    with clone.cloud_state() as cloud_state:
        assert left(cloud_state) == {disk, snapshot, *others}
    time.sleep(1.1)  # times of creation are in whole seconds
    built(clone, "8h", "pd")
    with clone.cloud_state() as cloud_state:
        kept = make_disk(cloud_state, clone.stack, "03", **{KEEP_TAG: "true"})
        make_disk(cloud_state, clone.stack, "04")
    reaped = tomorrow(clone, "reap", "--sandbox", "--yes")
    assert reaped.returncode == 0, reaped.stderr
    assert f"Kept: 1 disk that the storage driver made, with the tag {KEEP_TAG}: {kept[0]}." in reaped.stdout
    assert f"older than this cluster, so of an earlier one of its name: {disk}." in reaped.stdout
    with clone.cloud_state() as cloud_state:
        assert left(cloud_state) == {*kept, *others, disk, snapshot}, "those of the earlier cluster stay"
