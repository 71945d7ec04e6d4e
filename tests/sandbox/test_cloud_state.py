"""The cloud state on disk: readers, file modes, and where secret values are."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.cloud_state import CloudState
from sandbox.values import Secret

VALUE = "do-not-find-me-0451"


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_every_file_of_the_cloud_state_has_mode_0600(account, network, tmp_path) -> None:
    files = list(tmp_path.iterdir())
    assert {file.name for file in files} >= {"world", "world.secrets"}
    assert {_mode(file) for file in files} == {0o600}


def test_a_readable_file_gets_mode_0600_when_it_is_opened(tmp_path) -> None:
    (tmp_path / "world").touch(mode=0o666)
    CloudState(tmp_path / "world").close()
    assert _mode(tmp_path / "world") == 0o600


def test_secret_values_are_in_the_secrets_file_alone_and_erased_when_deleted(account, machine, tmp_path) -> None:
    secret = account.create("Secret", "s", name="pki", recoveryWindowInDays=0)
    version = account.create("SecretVersion", "v", secretId=secret.id, secretString=Secret(VALUE))
    machine(userData=Secret(f"#!/bin/sh {VALUE}"), tags={"note": Secret(VALUE)})
    assert list(account.cloud_state.secret_values(secret.id).values()) == [VALUE]
    account.cloud_state.connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)")
    found = {file.name for file in tmp_path.iterdir() if VALUE.encode() in file.read_bytes()}
    assert found == {"world.secrets"}
    account.delete(version)
    assert account.cloud_state.secret_values(secret.id) == {}
    assert not [file for file in tmp_path.iterdir() if VALUE.encode() in file.read_bytes()], "overwritten, not unlinked"


def test_another_process_reads_while_this_one_writes(account, tmp_path) -> None:
    reader = CloudState(tmp_path / "world")
    with account.cloud_state.transaction():
        account.cloud_state.next_sequence()
        assert reader.resources() == []
    account.create("Vpc", "v", cidrBlock="10.0.0.0/16", tags={"owner": "us"})
    [record] = reader.resources("aws:ec2/vpc:Vpc")
    assert (record.name, record.tags) == ("v", {"owner": "us"})
    assert record.inputs["cidrBlock"] == record.outputs["cidrBlock"] == "10.0.0.0/16"
    assert record.created.endswith("Z")
    assert reader.resources("aws:ec2/subnet:Subnet") == []
    reader.close()


def test_a_cloud_state_keeps_seed_sequence_and_contents_when_it_is_reopened(tmp_path) -> None:
    first = CloudState(tmp_path / "world")
    with first.transaction():
        given = first.next_sequence()
    first.close()
    second = CloudState(tmp_path / "world")
    assert second.seed == first.seed
    with second.transaction():
        assert second.next_sequence() == given + 1


def test_a_failed_transaction_changes_nothing(cloud_state) -> None:
    def fail() -> None:
        with cloud_state.transaction():
            cloud_state.put_object("b", "k", b"x", "text/plain", versioned=False)
            cloud_state.put_secret("s", "v", "x")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert cloud_state.objects("b") == {}
    assert cloud_state.secret_values("s") == {}


@pytest.mark.parametrize(("versioned", "versions"), [(False, 1), (True, 2)])
def test_the_newest_version_of_an_object_is_read(cloud_state, versioned, versions) -> None:
    with cloud_state.transaction():
        cloud_state.put_object("b", "k", b"one", "text/plain", versioned=versioned)
        cloud_state.put_object("b", "k", b"two", "text/plain", versioned=versioned)
        cloud_state.put_object("b", "l", b"", "text/plain", versioned=versioned)
    objects = cloud_state.objects("b")
    assert list(objects) == ["k", "l"]
    assert (objects["k"].content, objects["k"].versions) == (b"two", versions)


def test_an_object_stays_in_its_bucket_when_the_engine_forgets_its_resource(account, tmp_path) -> None:
    """retainOnDelete: the engine forgets the resource without a call of the provider."""
    bucket = account.create("Bucket", "b", bucket="bundles", forceDestroy=True)
    file = tmp_path / "bundle.tgz"
    file.write_bytes(b"archive")
    account.create("BucketObjectv2", "old", bucket=bucket.id, key="old", contentBase64="b2xk")
    account.create("BucketObjectv2", "new", bucket=bucket.id, key="new", content="new")
    assert {key: one.content for key, one in account.cloud_state.objects("bundles").items()} == {
        "old": b"old",
        "new": b"new",
    }
    account.delete(bucket)
    assert account.cloud_state.resources() == []
    assert account.cloud_state.objects("bundles") == {}


OTHERS = """
import sys
from pathlib import Path
from sandbox.cloud_state import CloudState
first = CloudState(Path(sys.argv[1]))
first.close()
second = CloudState(Path(sys.argv[1]))
second.set_setting("one", "1")
print("wrote", flush=True)
sys.stdin.readline()
second.set_setting("two", "2")
second.close()
"""


@pytest.mark.subprocess
def test_a_second_connection_of_a_process_does_not_break_another_process(tmp_path: Path) -> None:
    """Closing the file would drop the locks of the first connection, and the other process's log would be deleted."""
    mine = CloudState(tmp_path / "world")
    CloudState(tmp_path / "world").close()
    words = [sys.executable, "-c", OTHERS, str(tmp_path / "world")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as others:
        assert others.stdout is not None
        assert others.stdout.readline() == "wrote\n"
        mine.set_setting("three", "3")
        others.communicate("\n", timeout=60)
    mine.close()
    cloud_state = CloudState(tmp_path / "world")
    assert [cloud_state.setting(name) for name in ("one", "two", "three")] == ["1", "2", "3"]
    assert cloud_state.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    cloud_state.close()
