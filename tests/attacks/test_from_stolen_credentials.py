"""From outside the cluster's network, with a machine's credentials: root copied them, and they are valid for hours.

Clusters on AWS in a network of their own; the rights are those that the program assigns, and the sandbox's S3 judges.

Seen in: the cloud's audit log, as AccessDenied of the machine's role, with an address outside the cluster's network.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.attacks.account import COPIES, Account, opened
from tests.cloud_init.accounts import AWS_REGION

WORKER, CONTROL_PLANE = "web-0", "control-plane-0"
COPY = "shop/etcd/1.db"
Ask = Callable[..., int]


@pytest.fixture
def account(tmp_path: Path, loader: ModuleType) -> Iterator[Account]:
    """Yield an account with a control plane and a worker, and an object in each store."""
    with opened(tmp_path, loader) as found:
        found.launch(CONTROL_PLANE, "10.20.64.10")
        found.launch(WORKER, "10.20.0.10")
        with found.cloud_state.transaction():
            for bucket, key in (("bundles", "bundles/a.zip"), ("bundles", "ca.crt"), ("snapshots", "etcd/1.db")):
                found.cloud_state.put_object(bucket, key, b"content", "application/octet-stream", versioned=False)
            for bucket in COPIES:
                found.cloud_state.put_object(bucket, COPY, b"copy", "application/octet-stream", versioned=False)
        yield found


@pytest.fixture
def ask(account: Account, loader: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return `ask(machine, path, body, inside)`: the status of a request with the machine's credentials.

    inside: sent by the machine itself; otherwise by somebody else, whose address no machine of the network has.
    """
    elsewhere, metadata = account.services.listen("127.0.0.1"), loader.aws_metadata

    def asked(name: str, path: str, body: bytes = b"", *, inside: bool = False) -> int:
        url = account.urls[name] if inside else elsewhere
        region = COPIES.get(re.split(r"[/?]", path)[0], AWS_REGION)  # a bucket's host name would have it
        monkeypatch.setattr(loader, "aws_metadata", lambda name: region if name.endswith("/region") else metadata(name))
        with account.on(name) as facts:  # the metadata service signs for its machine, wherever the request goes
            request: Request = loader.aws(facts, f"{url}/{path}", "store", "PUT" if body else "GET", body, {})
        try:
            with urlopen(request) as answer:
                return answer.status
        except HTTPError as error:
            with error:
                return error.code if b"<Code>AccessDenied</Code>" in error.read() else 0

    return asked


def own(account: Account, name: str) -> str:
    """Return the path of a machine's own object, without the folder."""
    return f"{account.members()[name]['records']}{account.instances[name]}.json".replace(":", "%3A")


def reach(account: Account, name: str) -> list[tuple[Any, ...]]:
    """Return requests that the machine's role is for: path, and body of a write."""
    record = (f"bundles/status/{own(account, name)}", json.dumps({"state": "ready"}).encode())
    return [("bundles/bundles/a.zip",), ("bundles/ca.crt",), record]


def test_machines_reach_the_stores_from_the_clusters_network(account: Account, ask: Ask) -> None:
    """Not an attack: what machines do."""
    for name in (WORKER, CONTROL_PLANE):
        assert {ask(name, *each, inside=True) for each in reach(account, name)} == {200}
    assert ask(CONTROL_PLANE, "snapshots/etcd/1.db", inside=True) == 200
    assert {ask(CONTROL_PLANE, f"{bucket}/{COPY}", inside=True) for bucket in COPIES} == {200}


def test_a_workers_credentials_read_and_write_no_store_from_elsewhere(account: Account, ask: Ask) -> None:
    """Use a worker's credentials elsewhere, after you lost the worker: read bundles, and write its status record.

    Refused by: the cloud, by the condition aws:SourceVpc of the role's rights.
    """
    assert {ask(WORKER, *each) for each in reach(account, WORKER)} == {403}


def test_a_control_planes_credentials_read_no_snapshot_from_elsewhere(account: Account, ask: Ask) -> None:
    """Use a control plane's credentials elsewhere: read, write and list snapshots, and write the founding log.

    Refused by: the cloud, by the condition aws:SourceVpc of the role's rights.
    """
    assert {ask(CONTROL_PLANE, *each) for each in reach(account, CONTROL_PLANE)} == {403}
    assert ask(CONTROL_PLANE, "snapshots/etcd/1.db") == 403
    assert ask(CONTROL_PLANE, "snapshots?list-type=2") == 403
    assert ask(CONTROL_PLANE, "snapshots/founding/1", b"{}") == 403


@pytest.mark.parametrize("bucket", COPIES)
def test_a_control_planes_credentials_read_no_copy_of_a_snapshot_from_elsewhere(ask: Ask, bucket: str) -> None:
    """Use a control plane's credentials elsewhere: read, list and add copies of snapshots, in a bucket of the cluster's
    region or of another one.

    Refused by: the cloud, by the condition aws:SourceVpc of the role's rights, or in another region by aws:SourceIp,
    which has the addresses of the cluster's NAT gateways.
    """
    assert ask(CONTROL_PLANE, f"{bucket}/{COPY}") == 403
    assert ask(CONTROL_PLANE, f"{bucket}?list-type=2&prefix=shop%2Fetcd%2F") == 403
    assert ask(CONTROL_PLANE, f"{bucket}/shop/etcd/2.db", b"mine") == 403
