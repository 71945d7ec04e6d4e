"""Snapshots are copied into a bucket of the owner's, with the rights of a control plane's role and no others."""

import hashlib
import importlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError
from moto.server import ThreadedMotoServer

from components.aws.snapshot_copies import statements
from components.spec.snapshots import SnapshotCopy
from sandbox.aws.iam import ROLE_POLICY
from tests.agent.cluster import Cluster
from tests.agent.conftest import KEY
from tests.cloud_init.accounts import AWS_ROLE
from tests.cloud_init.cloud import FakeCloud
from tools.golden.samples import content, plan

HOUR = 3600
OWNERS = "status"
"""Bucket of the test's account that stands for the owner's."""
PART = 5 << 20
LARGE = bytes(range(256)) * (PART // 256) * 2 + b"the last part"


@pytest.fixture
def config(cloud: FakeCloud) -> dict[str, Any]:
    """Return the agent's configuration with the owner's bucket; the role has its planned rights there alone."""
    copied = {"bucket": OWNERS, "region": "eu-west-1"}
    configuration = content(plan(None, snapshots={"copy_to": copied}), "agent-config")
    assert configuration["snapshots"]["copies"] == f"https://{OWNERS}.s3.eu-west-1.amazonaws.com/dev/"
    configuration["snapshots"]["copies"] = f"{cloud.url}/{OWNERS}/shop/"
    allow(cloud, "arn:aws:s3:::none", *statements("shop", SnapshotCopy(**copied)))
    return configuration


def allow(cloud: FakeCloud, listed: str, *rows: dict[str, Any]) -> None:
    """Give the role rights on the store of snapshots and on secrets, to list a bucket, and those of `rows`."""
    own = ["arn:aws:s3:::snapshots", "arn:aws:s3:::snapshots/*"]
    found = [{"Effect": "Allow", "Action": ["s3:*"], "Resource": own}, *rows]
    found += [{"Effect": "Allow", "Action": ["secretsmanager:*"], "Resource": ["*"]}]
    found += [{"Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": [listed]}]
    state = cloud.objects.cloud_state
    policy = state.find(ROLE_POLICY, "all")
    assert policy
    with state.transaction():
        state.put(replace(policy, inputs={"role": AWS_ROLE, "policy": json.dumps({"Statement": found})}))


@pytest.fixture
def copies(module: Callable[[str], ModuleType], run: Any) -> ModuleType:
    run.path("/var/lib/etcd").mkdir(parents=True)
    run.try_for(300)
    return module("copies")


@pytest.fixture
def add(run: Any, cloud: FakeCloud) -> Callable[[float, bytes], str]:
    """Return a function that stores a snapshot of a time and returns its key."""
    names, snapshots = importlib.import_module("snapshot_names"), importlib.import_module("agent.snapshots")

    def add(at: float, database: bytes = b"pages") -> str:
        stamp = snapshots.time.strftime(snapshots.TIME, snapshots.time.gmtime(at))
        key = names.name(KEY, stamp, "timer", hashlib.sha256(database).hexdigest())
        cloud.objects[f"/snapshots/{key}"] = database
        return key

    return add


Reconcile = Callable[[float], Any]
"""Copies what is to copy at a moment, and returns what the status record says of it."""


@pytest.fixture
def reconcile(copies: ModuleType, run: Any, config: dict[str, Any], cluster: Cluster) -> Reconcile:
    said, work = dict[str, Any](), copies.Copies()

    def reconciled(now: float) -> Any:
        work.reconcile(run, config, cluster, now, said)
        return said["copies"]

    return reconciled


def copied(cloud: FakeCloud) -> dict[str, bytes]:
    begin = f"/{OWNERS}/"
    return {path.removeprefix(begin): value for path, value in cloud.objects.items() if path.startswith(begin)}


def test_new_snapshots_are_copied_once_below_the_clusters_name(
    reconcile: Reconcile, run: Any, cloud: FakeCloud, add: Callable[..., str]
) -> None:
    old, new = add(HOUR), add(2 * HOUR, b"newer pages")
    said = reconcile(3 * HOUR)
    assert copied(cloud) == {f"shop/{new}": b"newer pages"}, "older ones than the first copy are not copied"
    assert said == {"count": 1, "newest": new}
    later = [add(hours * HOUR, f"{hours}".encode()) for hours in (3, 4)]
    said = reconcile(5 * HOUR)
    assert said == {"count": 3, "newest": later[-1]}
    assert set(copied(cloud)) == {f"shop/{key}" for key in (new, *later)}
    before = len(cloud.asked)
    assert reconcile(5 * HOUR) == said
    assert not [each for each in cloud.asked[before:] if each.startswith(f"PUT /{OWNERS}")]
    assert not list(run.path("/var/lib/etcd").iterdir())
    assert not cloud.refused()
    del cloud.objects[f"/snapshots/{old}"], cloud.objects[f"/{OWNERS}/shop/{new}"]
    reconcile(5 * HOUR)
    assert f"shop/{new}" not in copied(cloud), "the owner's rules have deleted it"


def test_a_snapshot_that_another_machine_stored_late_is_copied_too(
    reconcile: Reconcile, cloud: FakeCloud, add: Callable[..., str]
) -> None:
    """Its name has the time at which it began, which is before the newest copy's."""
    newest = add(2 * HOUR)
    reconcile(2 * HOUR)
    late, earlier = add(2 * HOUR - 899, b"late"), add(2 * HOUR - 900, b"earlier")
    assert reconcile(2 * HOUR) == {"count": 2, "newest": newest}
    assert set(copied(cloud)) == {f"shop/{newest}", f"shop/{late}"}
    assert earlier not in (newest, late)


@pytest.mark.parametrize("size", [len(LARGE), 2 * PART, PART + 1, PART, 0])
def test_a_large_snapshot_is_copied_in_parts_and_without_the_disk(
    reconcile: Reconcile,
    run: Any,
    cloud: FakeCloud,
    add: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    size: int,
) -> None:
    """Files in etcd's folder would make kubeadm's copy of it fail, and would slow etcd down."""
    monkeypatch.setattr(importlib.import_module("objects"), "PART", PART)
    monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("no file is opened"))
    key = add(HOUR, LARGE[:size])
    reconcile(2 * HOUR)
    assert copied(cloud) == {f"shop/{key}": LARGE[:size]}
    assert not list(run.path("/var/lib/etcd").iterdir())
    assert not cloud.refused()


def test_a_bucket_that_refuses_a_large_snapshot_costs_no_read_of_it(
    reconcile: Reconcile,
    cloud: FakeCloud,
    config: dict[str, Any],
    add: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.import_module("objects"), "PART", PART)
    config["snapshots"]["copies"] = config["snapshots"]["copies"].replace("/shop/", "/other/")
    allow(cloud, f"arn:aws:s3:::{OWNERS}")
    add(HOUR, LARGE)
    with pytest.raises(Exception, match=r"other/etcd/.*403.*AccessDenied"):
        reconcile(2 * HOUR)
    assert len([each for each in cloud.asked if each.startswith("GET /snapshots/etcd/")]) == 1, "one byte, for the size"
    assert not copied(cloud)


@pytest.mark.parametrize("content", [b"pages", LARGE])
def test_a_changed_snapshot_is_not_copied_and_a_missing_bucket_is_named(
    reconcile: Reconcile,
    cloud: FakeCloud,
    config: dict[str, Any],
    add: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
) -> None:
    monkeypatch.setattr(importlib.import_module("objects"), "PART", PART)
    key = add(HOUR, content)
    cloud.objects[f"/snapshots/{key}"] = content[:-1] + b"x"
    with pytest.raises(Exception, match="another digest than in its name"):
        reconcile(2 * HOUR)
    assert not copied(cloud)
    assert not cloud.objects.cloud_state.objects(f"{cloud.account.bucket(OWNERS)} uploads"), "parts cost money"
    config["snapshots"]["copies"] = f"{cloud.url}/nowhere/shop/"
    with pytest.raises(Exception, match=r"nowhere/shop/etcd/: HTTPError: .*404.*NoSuchBucket"):
        reconcile(2 * HOUR)


@pytest.mark.parametrize(
    ("method", "key", "headers"),
    [
        ("DELETE", "shop/etcd/KEY", {}),
        ("PUT", "shop/etcd/KEY", {}),
        ("PUT", "shop/etcd/new.db", {}),
        ("PUT", "other/etcd/new.db", {"if_none_match": "*"}),
        ("PUT", "shop/new.db", {"if_none_match": "*"}),
        ("GET", "other/etcd/KEY", {}),
        ("GET", "?list-type=2&prefix=other%2Fetcd%2F", {}),
    ],
)
def test_the_role_cannot_change_delete_or_read_anything_else_there(
    copies: ModuleType,
    reconcile: Reconcile,
    run: Any,
    cloud: FakeCloud,
    config: dict[str, Any],
    add: Callable[..., str],
    method: str,
    key: str,
    headers: dict[str, str],
) -> None:
    """A control plane that somebody has taken over tries to spoil its copies, and those of another cluster."""
    reconcile(2 * HOUR)
    made = add(HOUR)
    copies.copy(run, config, made)
    cloud.objects[f"/{OWNERS}/other/etcd/KEY"] = b"another cluster's"
    before = copied(cloud)
    place = f"{cloud.url}/{OWNERS}/{key.replace('etcd/KEY', made) if key.startswith('shop') else key}"
    with pytest.raises(OSError, match=r"403: .*AccessDenied"):
        run.ask("store", place, method, b"spoiled" if method == "PUT" else b"", **headers)
    assert copied(cloud) == before


def test_a_founder_takes_the_copy_if_the_store_lacks_the_snapshot_or_has_another(
    reconcile: Reconcile, run: Any, cloud: FakeCloud, config: dict[str, Any], add: Callable[..., str], tmp_path: Path
) -> None:
    key, restoring = add(HOUR), importlib.import_module("kinds.restoring")
    reconcile(2 * HOUR)
    step = {"store": f"{cloud.url}/snapshots"}
    file = tmp_path / "snapshot.db"
    for spoil in (lambda: cloud.objects.update({f"/snapshots/{key}": b"spoiled"}), lambda: _remove(cloud, key)):
        spoil()
        with pytest.raises(Exception, match=r"another digest|404"):
            restoring.fetch(run, step, key, file)
        restoring.fetch(run, {**step, "copies": config["snapshots"]["copies"]}, key, file)
        assert file.read_bytes() == b"pages"
    cloud.objects[f"/{OWNERS}/shop/{key}"] = b"spoiled too"
    with pytest.raises(Exception, match=rf"{OWNERS}/shop/{re.escape(key)} has sha256:.*, another digest"):
        restoring.fetch(run, {**step, "copies": config["snapshots"]["copies"]}, key, file)


def _remove(cloud: FakeCloud, key: str) -> None:
    del cloud.objects[f"/snapshots/{key}"]


@pytest.fixture
def locked() -> Iterator[tuple[Any, str, str]]:
    """A bucket under object lock in moto, which is not ours: its client, name and URL."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        owner = botocore.session.get_session().create_client(
            "s3", "us-east-1", endpoint_url=url, aws_access_key_id="a", aws_secret_access_key="b"
        )
        bucket = f"locked-{port}"  # moto's buckets outlive its server
        owner.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=True)
        rule = {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 14}}
        owner.put_object_lock_configuration(
            Bucket=bucket, ObjectLockConfiguration={"ObjectLockEnabled": "Enabled", "Rule": rule}
        )
        yield owner, bucket, f"{url}/{bucket}/shop/"
    finally:
        server.stop()


def test_a_copy_in_a_locked_bucket_cannot_be_deleted_by_its_owner(
    reconcile: Reconcile,
    config: dict[str, Any],
    add: Callable[..., str],
    locked: tuple[Any, str, str],
) -> None:
    """Moto gives no default retention to uploads in parts, so this snapshot takes one request."""
    owner, bucket, config["snapshots"]["copies"] = locked
    key = add(HOUR)
    assert reconcile(2 * HOUR) == {"count": 1, "newest": key}
    (version,) = owner.list_object_versions(Bucket=bucket)["Versions"]
    named = {"Bucket": bucket, "Key": f"shop/{key}", "VersionId": version["VersionId"]}
    assert owner.head_object(**named)["ObjectLockMode"] == "COMPLIANCE"
    with pytest.raises(ClientError, match="AccessDenied"):
        owner.delete_object(**named)
    assert owner.get_object(**named)["Body"].read() == b"pages"
