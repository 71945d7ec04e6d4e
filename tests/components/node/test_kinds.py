"""The kinds table: valid steps and plans, and the effect of a change of a step."""

import re
from typing import Any

import pytest

from components.node.kinds import KINDS, REFERENCES, Cut, OnChange, Step, page, ref, step
from components.node.kinds.references import DOCUMENTS
from components.node.plan import EGRESS, NodePlan, Phase, Scope
from components.node.plan_schema import schema

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("directory", {}, "missing ['path']"),
    ("directory", {"path": "/a", "color": "red"}, "unknown ['color']"),
    ("directory", {"path": "a/b"}, "path is 'a/b'"),
    ("directory", {"path": "/a", "access": "open"}, "not one of ['private', 'public']"),
    ("file", {"path": "/a", "content": {"a": 1}}, "content is {'a': 1}, not of type string"),
    ("file", {"path": "/a", "content": "x", "format": "documents"}, "not of type array"),
    ("file", {"path": "/a", "content": [ref("machine.pool"), {"ref": "me"}], "format": "json"}, "content.1: 'me' is"),
    ("artifact", {"url": "h/x", "digest": "sha256:12", "path": "/a"}, "digest is 'sha256:12'"),
    ("artifact", {"url": "http://h/x", "digest": "sha256:" + 64 * "a", "path": "/a", "size": True}, "size is True"),
    ("registry", {"key": r"HKLM\A", "value": "", "type": "DWord", "data": 2**32}, "data is 4294967296"),
    ("registry", {"key": r"HKCU\A", "value": "", "type": "DWord", "data": 1}, "key is"),
    ("wait", {"condition": {"moon": "full"}}, "condition.moon is unknown"),
    ("wait", {"condition": {}}, "has 0 members"),
    ("wait", {"condition": {"tcp": ["h", 1, 2]}}, "has 3 items"),
    ("wait", {"condition": {"tcp": ["h", 0]}}, "is 0, not from 1 to 65535"),
    ("command", {"argv": []}, "argv has 0 items"),
    ("command", {"argv": ["a"], "retries": -1}, "retries is -1"),
    ("command", {"argv": ["a"], "timeout_seconds": {"ref": "machine.name"}}, "cannot be the reference"),
    ("hostname", {"value": {"ref": "registration.taints"}}, "cannot be the reference registration.taints"),
    ("hns-network", {"network": "n", "subnet": "10.0.0.0", "endpoint": "e"}, "subnet is '10.0.0.0'"),
]  # fmt: skip


LOOKING = {name for name, kind in KINDS.items() if kind.on_change is OnChange.NEW_NODES and name != "reboot"}
"""Kinds that wait or read, and change nothing."""


@pytest.mark.parametrize(("kind", "fields", "message"), REFUSED)
def test_a_wrong_step_is_refused_when_created_with_field_and_reason(
    kind: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"step 'one' of kind {kind}: .*{re.escape(message)}"):
        step(kind, "one", **fields)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="'teleport' is no kind"):
        step("teleport", "one")


def _plan(os: str, scope: Scope, *steps: Step, **others: Any) -> NodePlan:
    return NodePlan("worker", "pool", os, (Phase("all", scope, steps),), **others)


MISPLACED: list[tuple[str, Scope, tuple[Step, ...], str]] = [
    ("ubuntu-22.04", Scope.NODE, (step("swap", "a"), step("reboot", "a")), "the name of step 'a' is not unique"),
    ("windows-2019", Scope.NODE, (step("swap", "a"),), "step 'a': windows has no swap"),
    ("ubuntu-22.04", Scope.NODE, (step("service", "a", service="s", command=["c"], wrapper="/w"),), "service wrapper"),
    (
        "ubuntu-22.04",
        Scope.IMAGE,
        (step("file", "a", path="/a", content=ref("machine.name")),),
        "file ['machine.name']",
    ),
    ("ubuntu-22.04", Scope.IMAGE, (step("secret", "a", secret="s", path="/a"),), "belongs to one machine: secret"),
]


@pytest.mark.parametrize(("os", "scope", "steps", "message"), MISPLACED)
def test_steps_that_do_not_fit_their_plan_are_refused(
    os: str, scope: Scope, steps: tuple[Step, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        _plan(os, scope, *steps)


def test_the_executors_egress_is_part_of_the_plan_and_replaces_no_machine() -> None:
    swap, proxy = step("swap", "swap"), {"proxy": {"https": "http://proxy:3128", "no_proxy": ["10.0.0.0/8"]}}
    direct, through = _plan("ubuntu-22.04", Scope.IMAGE, swap), _plan("ubuntu-22.04", Scope.IMAGE, swap, egress=proxy)
    assert "egress" not in direct.document()
    assert through.document()["egress"] == proxy
    assert direct.replace_digest == through.replace_digest
    with pytest.raises(ValueError, match=r"egress\.proxy\.https is 'proxy'"):
        _plan("ubuntu-22.04", Scope.IMAGE, swap, egress={"proxy": {"https": "proxy"}})
    assert EGRESS in schema()["properties"].values()


SAME: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("artifact", {"url": "http://a/x", "digest": "sha256:" + 64 * "a", "path": "/a"}, {"url": "http://mirror/x"}),
    ("artifact", {"url": "http://a/x", "digest": "sha256:" + 64 * "a", "path": "/a"}, {"size": 5}),
    ("command", {"argv": ["a"]}, {"timeout_seconds": 9, "retries": 9}),
    ("service", {"service": "s", "command": ["c"]}, {"description": "d", "restart_seconds": 3, "restarts_on": ["/a"]}),
    ("wait", {"condition": {"file": "/a"}}, {"condition": {"file": "/b"}}),
    ("probe", {"argv": ["a"], "message": "m"}, {"argv": ["b"], "expect": "x"}),
]


@pytest.mark.parametrize(("kind", "fields", "changed"), SAME)
def test_tuning_fields_and_steps_that_only_read_replace_no_machine(
    kind: str, fields: dict[str, Any], changed: dict[str, Any]
) -> None:
    assert step(kind, "one", **fields).replacing() == step(kind, "renamed", **{**fields, **changed}).replacing()


def test_every_other_field_replaces_machines() -> None:
    steering = {
        (name, field)
        for name, kind in KINDS.items()
        for field, rule in kind.fields.items()
        if (rule.on_change or kind.on_change) is not OnChange.REPLACE
    }
    asking = ("wait", "probe", "api-version", "node-object", "pod-range", "overlay-network")
    looking = {(name, field) for name in (*asking, "stale-network") for field in KINDS[name].fields}
    others = {
        ("artifact", "url"),
        ("artifact", "fallbacks"),
        ("artifact", "size"),
        ("container-image", "until"),
        ("service", "restart_seconds"),
        ("service", "restarts_on"),
    }
    others |= {("service", "description"), ("task", "description")}
    others |= {("addons", field) for field in KINDS["addons"].fields}  # the control-plane agent applies these in place
    assert steering == looking | others


def test_a_step_with_on_change_agent_replaces_no_machine_whatever_its_kind() -> None:
    assert step("file", "one", path="/a", content="x", on_change=OnChange.AGENT).replacing() is None


def test_kinds_that_write_have_cut_points_before_and_after_the_write() -> None:
    quiet = {name for name, kind in KINDS.items() if kind.sets == "nothing"}
    assert quiet == {name for name, kind in KINDS.items() if not kind.cuts} == {"probe", "build"}
    for name, kind in KINDS.items():
        waits = kind.cuts == (Cut.BEFORE_SET,) and kind.on_change is OnChange.NEW_NODES
        assert name in quiet or waits or {Cut.BEFORE_SET, Cut.AFTER_SET} <= set(kind.cuts), name


def test_kinds_with_secrets_or_for_one_machine_are_never_baked() -> None:
    kept = {name for name, kind in KINDS.items() if not kind.image}
    assert {
        "secret",
        "encryption-configuration",
        "authorization-configuration",
        "service-account-keys",
        "bootstrap-token",
        "claim",
        "hostname",
        "source-vip",
    } <= kept


def test_references_are_a_closed_list_with_one_that_is_not_a_string() -> None:
    assert REFERENCES.keys() >= DOCUMENTS
    with pytest.raises(KeyError, match="no reference"):
        ref("machine.color")


def test_the_page_has_every_kind_every_field_every_reference_and_every_cut_point() -> None:
    text = page.render()
    for name, kind in KINDS.items():
        section = text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        assert all(f"`{each}`" in section for each in (*kind.fields, *(cut.value for cut in kind.cuts))), name
    assert all(f"`{each}`" in text for each in REFERENCES)
