"""A document is accepted if `mullion` signed it and it is not older than the last accepted one."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from components.plan import plan_cluster
from components.rollout import signed_documents
from tests.agent.conftest import KEY
from tools.golden.samples import spec

BUNDLE = ("https://store/bundles/control-plane/1.zip", "1" * 64, "1.37.1")


def pointer(serial: int = 5, key: str = KEY) -> str:
    return signed_documents.pointer_document(key, *BUNDLE, serial, "1.36.3")


def listed(serial: int = 5) -> str:
    plan = plan_cluster("dev", spec("windows-2019", {"labels": {"team": "b"}}))
    members = signed_documents.members(plan, {"control-plane-0": "a:", "pool-0": "b:"}, "eu-west-1", ["eu-west-1a"])
    return signed_documents.members_document(KEY, members, serial)


def changed(text: str, **fields: Any) -> str:
    return json.dumps(json.loads(text) | fields)


def test_a_signed_document_is_accepted_also_a_second_time(module: Callable[[str], ModuleType]) -> None:
    documents = module("documents")
    for last in (0, 5):
        assert documents.verified(pointer().encode(), KEY, last, documents.POINTER)["pools"] == "1.36.3"
        found = documents.verified(listed().encode(), KEY, last, documents.MEMBERS)["members"]
    assert [each["name"] for each in found] == ["control-plane-0", "pool-0"]
    assert {"mullion.dev/pool": "pool", "team": "b"}.items() <= found[1]["labels"].items()
    assert found[1]["taints"] == [{"key": "os", "value": "windows", "effect": "NoSchedule"}]
    assert set(found[1]) == {"name", "pool", "address", "pods", "labels", "taints", "records"}


REFUSED = {
    "an older serial": (pointer(), 6, "serial 5 is older than 6"),
    "another key": (pointer(key="b3RoZXI"), 0, "MAC"),
    "another bundle": (changed(pointer(), bundle="https://evil/x.zip"), 0, "MAC"),
    "a raised serial": (changed(pointer(), serial=9), 0, "MAC"),
    "a field more": (changed(pointer(), more=1), 0, "MAC"),
    "the other document": (listed(), 0, "exactly the fields"),
    "a field of another type": (
        *(signed_documents.signed(KEY, {"bundle": "", "sha256": "", "kubernetes": "", "pools": True}, 5), 0, "exactly"),
    ),
    "no MAC": (json.dumps({"serial": 5}), 0, "not a signed document"),
    "a list": ("[1]", 0, "not a signed document"),
    "no JSON": ("{", 0, "not a signed document"),
    "a MAC that is no text": (changed(pointer(), mac=["ä"]), 0, "MAC"),
}


@pytest.mark.parametrize(("text", "last", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_changed_replayed_or_foreign_document_is_refused(
    module: Callable[[str], ModuleType], text: str, last: int, reason: str
) -> None:
    documents = module("documents")
    with pytest.raises(documents.Untrusted, match=reason):
        documents.verified(text.encode(), KEY, last, documents.POINTER)
