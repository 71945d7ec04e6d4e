"""Requests of the executor to each cloud with the machine's identity, against that cloud's services."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.error import HTTPError

import pytest

from tests.cloud_init.cloud import EACH_CLOUD, FakeCloud

pytestmark = EACH_CLOUD


@pytest.fixture
def run(node: ModuleType, cloud: FakeCloud, root: Path) -> Any:
    """Return a run of the executor on the cloud's machine."""
    made = importlib.import_module("run").Run(root, {"machine": {"name": "web-0"}, "facts": cloud.facts}, {})
    made.try_for(60)
    return made


def status(call: Any) -> int:
    """Return the status with which a request is refused."""
    with pytest.raises(HTTPError) as caught:
        call()
    return caught.value.code


def test_a_machine_finds_out_its_id_and_provider_id(run: Any, cloud: FakeCloud) -> None:
    assert run.cloud.instance() == cloud.account.instance
    assert run.value("node.provider_id") == cloud.account.provider_id
    assert not cloud.refused()


def test_secrets_are_read_and_changed(run: Any, cloud: FakeCloud) -> None:
    cloud.secrets["join"] = "abcdef.0123456789abcdef"
    assert run.secret("join") == "abcdef.0123456789abcdef"
    for text in ("ghijkl.0123456789abcdef", "grüße"):
        run.put_secret("join", text)
        run.forget()
        assert run.secret("join") == text == cloud.secrets["join"]
    assert not cloud.refused()


def test_a_missing_or_forbidden_secret_raises_secret_unavailable_with_its_name(run: Any, cloud: FakeCloud) -> None:
    failure = importlib.import_module("failure").Failure
    with pytest.raises(failure, match="secret nobodys at http") as missing:
        run.secret("nobodys")
    assert missing.value.name == "secret-unavailable"
    cloud.secrets["pki"] = "ca.key"
    cloud.services.faults.plan("* *pki*", "refuse", "denied")
    cloud.services.faults.plan("secretsmanager *", "refuse", "denied")
    with pytest.raises(failure, match=r"AccessDenied|PERMISSION_DENIED|Forbidden"):
        run.secret("pki")


def test_objects_are_written_conditionally_overwritten_read_listed_and_deleted(run: Any, cloud: FakeCloud) -> None:
    store = run.value("facts.snapshot_store")
    write = [f"{store}/founding/0", "PUT", b"claimed"]
    run.ask("store", *write, if_none_match="*", content_type="application/json")
    taken = status(lambda: run.ask("store", *write, if_none_match="*", content_type="application/json"))
    assert taken in importlib.import_module("kinds.founding").TAKEN
    run.ask("store", f"{store}/founding/0", "PUT", memoryview(b"again"), content_type="application/json")
    assert run.ask("store", f"{store}/founding/0") == b"again" == cloud.objects["/snapshots/founding/0"]
    run.ask("store", f"{store}/etcd/AROA%3Ai-1.db", "PUT", b"x")
    assert importlib.import_module("objects").names(run, store, "etcd/") == ["etcd/AROA:i-1.db"]
    run.ask("store", f"{store}/founding/0", "DELETE")
    assert status(lambda: run.ask("store", f"{store}/founding/0")) == 404
    assert list(cloud.objects) == ["/snapshots/etcd/AROA:i-1.db"]


def test_a_machine_is_gone_once_the_cloud_has_deleted_it_but_not_if_the_request_fails(
    run: Any, cloud: FakeCloud
) -> None:
    compute, failure = importlib.import_module("compute"), importlib.import_module("failure").Failure
    named = [run.cloud.MACHINE.fullmatch(each)[1] for each in (cloud.account.provider_id, cloud.account.other)]
    assert [compute.gone(run, each) for each in (cloud.account.instance, *named)] == [False, False, True]
    cloud.services.faults.plan("ec2 *", "refuse", "denied")
    cloud.services.faults.plan("compute *", "refuse", "denied")
    cloud.services.faults.plan("management *", "refuse", "denied")
    with pytest.raises(failure, match=r"UnauthorizedOperation|PERMISSION_DENIED|AuthorizationFailed") as refused:
        compute.gone(run, named[1])
    assert refused.value.name == "store-failed"


def test_the_status_record_is_at_the_url_in_the_facts(run: Any, cloud: FakeCloud) -> None:
    report = importlib.import_module("report")
    result = {"bundle": "0" * 64, "state": "done", "code": 0, "seconds": 1.0}
    for _ in range(2):  # the second one replaces the first
        report.record(run, result)
    record = json.loads(cloud.objects[f"/status/AROAEXAMPLE:{cloud.account.instance}.json"])
    assert (record["instance"], record["state"]) == (cloud.account.instance, "ready")
    assert not cloud.refused()
