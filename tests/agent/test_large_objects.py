"""Objects that need several requests: lists of several pages, uploads and downloads in parts.

The sandbox's services judge on all clouds, and moto, which is not ours, on AWS.
"""

import hashlib
import importlib
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType
from typing import Any

import botocore.session
import pytest
from moto.server import ThreadedMotoServer

from tests.agent.conftest import KEY
from tests.cloud_init.cloud import EACH_CLOUD, FakeCloud

PART = 5 << 20
"""The smallest part that S3 takes."""
CONTENT = bytes(range(256)) * (PART // 256) * 2 + b"the last part"


@pytest.fixture
def objects(run: Any, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module of objects with small parts."""
    found = importlib.import_module("objects")
    monkeypatch.setattr(found, "PART", PART)
    return found


@EACH_CLOUD
@pytest.mark.parametrize("size", [len(CONTENT), 2 * PART, PART, 1], ids=["three", "two", "one", "a byte"])
def test_contents_of_any_number_of_parts_are_written_and_read(
    run: Any, cloud: FakeCloud, objects: ModuleType, tmp_path: Path, size: int
) -> None:
    url, content = f"{run.value('facts.snapshot_store')}/etcd/large.db", CONTENT[:size]
    objects.put(run, url, memoryview(content))
    assert dict(cloud.objects) == {"/snapshots/etcd/large.db": content}
    assert objects.fetch(run, url, tmp_path / "large.db") == hashlib.sha256(content).hexdigest()
    assert (tmp_path / "large.db").read_bytes() == content
    assert (tmp_path / "large.db").stat().st_mode & 0o777 == 0o600
    assert not cloud.refused()


@pytest.mark.parametrize(
    ("cloud", "route", "nth"),
    [
        ("aws", "s3 PUT *", 1),
        ("aws", "s3 PUT *", 3),
        ("aws", "s3 GET *", 1),
        ("aws", "s3 POST *", 2),
        ("azure", "blob PUT *", 1),
        ("azure", "blob PUT *", 4),
    ],
    indirect=["cloud"],
)
def test_a_failed_upload_leaves_nothing_and_can_be_repeated(
    run: Any, cloud: FakeCloud, objects: ModuleType, route: str, nth: int
) -> None:
    url = f"{run.value('facts.snapshot_store')}/etcd/large.db"
    cloud.services.faults.plan(route, "status", 500, nth=nth)
    with pytest.raises(OSError, match="500"):
        objects.put(run, url, memoryview(CONTENT))
    assert not cloud.failing()
    assert not dict(cloud.objects)
    assert not cloud.objects.cloud_state.objects(f"{cloud.account.bucket('snapshots')} uploads"), "parts cost money"
    objects.put(run, url, memoryview(CONTENT))
    assert dict(cloud.objects) == {"/snapshots/etcd/large.db": CONTENT}


def test_an_upload_whose_time_is_over_is_aborted(
    run: Any, cloud: FakeCloud, objects: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    md5 = objects.md5

    def slow(part: memoryview) -> str:
        run.until = 0.0
        return md5(part)

    monkeypatch.setattr(objects, "md5", slow)
    url = f"{run.value('facts.snapshot_store')}/etcd/large.db"
    with pytest.raises(Exception, match="the timeout was exceeded"):
        objects.put(run, url, memoryview(CONTENT))
    assert run.until == 0.0
    assert [each for each in cloud.asked if each.startswith("POST /snapshots/etcd/large.db")], "it has begun"
    assert not cloud.objects.cloud_state.objects(f"{cloud.account.bucket('snapshots')} uploads"), "parts cost money"
    assert [each for each in cloud.asked if each.startswith("DELETE /snapshots/etcd/large.db")]


@EACH_CLOUD
def test_an_objects_size_is_compared_without_reading_it(run: Any, cloud: FakeCloud, objects: ModuleType) -> None:
    url = f"{run.value('facts.snapshot_store')}/etcd/x.db"
    cloud.objects |= {"/snapshots/etcd/x.db": b"12345"}
    assert [objects.is_larger(run, url, size) for size in (4, 5, 6)] == [True, False, False]
    with pytest.raises(OSError, match="404"):
        objects.is_larger(run, f"{url}.none", 4)


@EACH_CLOUD
def test_all_pages_of_a_list_are_read(run: Any, cloud: FakeCloud, module: Callable[[str], ModuleType]) -> None:
    """A week with a snapshot each five minutes has 2,016: S3 lists 1,000 in an answer, the oldest first."""
    names, now = importlib.import_module("snapshot_names"), datetime(2026, 11, 28, tzinfo=timezone.utc)
    stamps = [(now - timedelta(minutes=5 * nth)).strftime("%Y%m%dT%H%M%SZ") for nth in range(2016)]
    keys = [names.name(KEY, stamp, "timer", hashlib.sha256(stamp.encode()).hexdigest()) for stamp in stamps]
    cloud.objects |= {f"/snapshots/{key}": b"" for key in keys}
    found, others = module("snapshots").stored(run, now.timestamp())
    assert [each.key for each in found] == keys
    assert others == []


def test_moto_takes_an_upload_in_parts_and_its_pages(run: Any, objects: ModuleType, tmp_path: Path) -> None:
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        server_url = f"http://{host}:{port}"
        moto = botocore.session.get_session().create_client(
            "s3", "us-east-1", endpoint_url=server_url, aws_access_key_id="a", aws_secret_access_key="b"
        )
        moto.create_bucket(Bucket="judged")
        store = f"{server_url}/judged"
        objects.put(run, f"{store}/etcd/large.db", memoryview(CONTENT))
        assert (
            objects.fetch(run, f"{store}/etcd/large.db", tmp_path / "large.db") == hashlib.sha256(CONTENT).hexdigest()
        )
        small = [f"status/{nth:04}" for nth in range(1001)]
        for each in small:
            moto.put_object(Bucket="judged", Key=each, Body=b"x")
        assert objects.names(run, store, "status/") == small
    finally:
        server.stop()
