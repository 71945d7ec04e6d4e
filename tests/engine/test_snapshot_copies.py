"""`mullion restore` from copies of snapshots in a bucket of another region, through the command line."""

import re
from pathlib import Path

import pytest

from components.rollout.signed_documents import FOUNDED, founding_record
from operations.engine.locate import Engine
from sandbox.aws.s3 import BUCKET
from sandbox.records import Record

from .clone import Clone
from .test_control_planes import NEWER, OLDER, done, signed, signing_key

pytestmark = [pytest.mark.sampled, pytest.mark.engine]

AUTHORITY = re.compile(r"sha256:[0-9a-f]{64}")
"""Hash of the cluster's authority in user-data."""
OWNERS, REGION = "example-etcd-copies", "us-east-1"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    """A control plane that copies its snapshots; both snapshots have copies, and the store lacks the newer one."""
    made = Clone(tmp_path_factory.mktemp("clone"), engine, "aws-ci")
    cluster = made.document()
    cluster["snapshots"] = {"copy_to": {"bucket": OWNERS, "region": REGION}}
    for pool in cluster["pools"].values():
        pool["count"] = 0
    made.write(cluster)
    done(made.up())
    return made


def test_a_bucket_that_does_not_exist_is_named_and_hides_no_snapshot_of_the_store(clone: Clone) -> None:
    key, store = signing_key(clone), clone.store("snapshots")
    with clone.cloud_state() as cloud_state, cloud_state.transaction():
        cloud_state.put_object(store, signed(key, OLDER), b"x", "application/json", versioned=True)
    run = clone.run("restore", clone.stack, "--sandbox", "--list")
    assert OLDER in done(run)
    assert f"warning: copies in bucket {OWNERS} cannot be read" in run.stderr
    assert "The specified bucket does not exist" in run.stderr
    refused = clone.run("restore", clone.stack, "--sandbox", "--from", "copy", "--confirm", clone.stack)
    assert refused.returncode == 1
    assert "The specified bucket does not exist" in refused.stderr


def test_a_control_plane_whose_store_was_lost_is_restored_from_the_newest_copy(clone: Clone, tmp_path: Path) -> None:
    """The store has neither the snapshot nor a founding record, as after `up --refresh` has made it again."""
    key, store, folder = signing_key(clone), clone.store("snapshots"), f"{clone.stack}/"
    planted = f"{NEWER.replace('T10', 'T11')}.{'cd' * 32}.db"
    with clone.cloud_state() as cloud_state, cloud_state.transaction():
        inputs = {"bucket": OWNERS}
        sequence = cloud_state.next_sequence()
        urn = f"urn:pulumi:owner::owner::{BUCKET}::{OWNERS}"
        cloud_state.put(Record(sequence, BUCKET, OWNERS, OWNERS, urn, REGION, inputs, inputs, "2026-01-01T00:00:00Z"))
        for name in (signed(key, OLDER), signed(key, NEWER), planted):
            cloud_state.put_object(OWNERS, f"{folder}{name}", b"x", "application/json", versioned=True)
        cloud_state.put_object(OWNERS, f"other/{signed(key, NEWER)}", b"x", "application/json", versioned=True)
        assert not [each for each in cloud_state.objects(store) if each.startswith("founding/")]
    listed = [line.split()[-3:] for line in done(clone.run("restore", clone.stack, "--sandbox", "--list")).splitlines()]
    assert listed[-2][-1] == "copy", listed
    assert listed[-1] == ["store", "and", "copy"], listed
    before = clone.machines()
    bundles = clone.store("bundles")
    machines = [each for each in clone.resources() if clone.cloud.is_machine(each)]
    (cluster,) = {each for machine in machines for each in AUTHORITY.findall(machine["inputs"]["userData"])}
    with clone.cloud_state() as cloud_state, cloud_state.transaction():
        founded = founding_record(key, {"cluster": cluster, "epoch": 1}).encode()
        cloud_state.put_object(bundles, FOUNDED, founded, "application/json", versioned=False)
    run = clone.run("restore", clone.stack, "--sandbox", "--from", "copy", "--confirm", clone.stack)
    done(run)
    assert f"1 objects below etcd/ of bucket {OWNERS} are ignored ({planted})" in run.stderr
    assert "has lost the records 0 to 1 of founding/" in run.stderr
    assert clone.machines() != before
    with clone.cloud_state() as cloud_state:
        written = [cloud_state.objects(store)[f"founding/{number}"].content.decode() for number in (0, 1, 2)]
        assert "founding/3" not in cloud_state.objects(store)
    record = {"cluster": cluster, "owner": "", "machine": "", "state": "restore", "snapshot": signed(key, NEWER)}
    assert written == [founding_record(key, {**record, "epoch": number}) for number in (0, 1, 2)]
