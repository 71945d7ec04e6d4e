"""The JSON schema of plans and Mullion's own check agree on every golden plan and on every mutation."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import jsonschema
import pytest
from hypothesis import given, settings

from components.node.kinds import KINDS, Step
from components.node.plan import NodePlan, Phase, Scope
from components.node.plan_schema import schema
from tools.golden.samples import SYSTEMS, plan

VALIDATOR = jsonschema.Draft202012Validator(schema())
PLANS = {str(os): plan(os).document() for os in (*SYSTEMS, None)}
PLANS |= {f"{os} routed": plan(os, network={"mode": "l2bridge"}).document() for os in ("windows-2022", None)}
VALUES = st.sampled_from(
    [
        *("", "a", "/a", "C:\\a", "private", "tcp", "auto", "http://h/x", "sha256:" + "0" * 64, "4789", "DWord"),
        *(0, 1, -1, 70000, True, False, None, 1.5, [], ["a"], [1], ["a", 1], {}, {"a": "b"}, {"a": 1}),
        *({"file": "/a"}, {"tcp": ["h", 1]}, {"boot": True}, [{"ref": "machine.name"}], {"x": {"ref": "nothing"}}),
        *(
            {"ref": "machine.name"},
            {"ref": "registration.taints"},
            {"ref": "nothing"},
            {"ref": None},
            {"ref": "a", "b": 1},
        ),
    ]
)


def _accepts_itself(document: dict[str, Any]) -> bool:
    """Return whether Mullion's own check accepts the plan."""
    try:
        phases = [
            Phase(
                phase["name"],
                Scope(phase["scope"]),
                tuple(
                    Step(one["kind"], one["name"], {k: v for k, v in one.items() if k not in ("kind", "name")})
                    for one in phase["steps"]
                ),
            )
            for phase in document["phases"]
        ]
        NodePlan("worker", "pool", document["os"], tuple(phases), egress=document.get("egress", {}))
    except ValueError:
        return False
    return True


def _accepts_by_schema(document: dict[str, Any]) -> bool:
    return VALIDATOR.is_valid(json.loads(json.dumps(document)))


def test_the_schema_is_valid_and_uses_only_keywords_that_mullions_check_implements() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    implemented = {"type", "enum", "pattern", "minLength", "minimum", "maximum", "items", "prefixItems", "minItems"}
    implemented |= {"properties", "additionalProperties", "minProperties", "maxProperties"}
    types = [each.type for kind in KINDS.values() for each in kind.fields.values()]
    types += [each for kind in KINDS.values() for when in kind.whens for each in when.types.values()]
    assert {key for each in types for key in _keywords(each)} <= implemented


def _keywords(type_: Any) -> Iterator[str]:
    if isinstance(type_, dict):
        yield from type_
        for inner in (type_.get("items"), type_.get("additionalProperties"), *type_.get("prefixItems", [])):
            yield from _keywords(inner)
        for inner in type_.get("properties", {}).values():
            yield from _keywords(inner)


@pytest.mark.parametrize("document", PLANS.values(), ids=PLANS)
def test_plans_pass_both_checks(document: dict[str, Any]) -> None:
    assert list(VALIDATOR.iter_errors(json.loads(json.dumps(document)))) == []
    assert _accepts_itself(document)


def _minimal(name: str) -> dict[str, Any]:
    """Return a valid step of a kind with all fields that may be combined."""
    examples: dict[str, Any] = {
        "condition": {"file": "/a"},
        "schedule": {"every_minutes": 5},
        "url": "http://h/a",
        "store": "http://h",
        "digest": "sha512:" + "a" * 128,
        "hash": "sha256:" + "a" * 64,
        "key": r"HKLM\A",
        "build": "10.0.17763",
        "type": "DWord",
        "data": 1,
        "protocol": "tcp",
        "ports": ["1-2"],
        "start": 1,
        "count": 2,
        "argv": ["a"],
        "command": ["a"],
        "processes": [],
        "paths": [],
        **{key: ["/a"] for key in ("authorities", "certificates", "kubeconfigs")},
        "renew": ["a"],
        "resources": ["secrets"],
        "lifetime_hours": 24,
        "initial_mb": 4096,
        "free_mb": 4096,
        "maximum_mb": 4096,
        "address": "169.254.169.254",
        "addresses": ["169.254.169.254"],
        "access": "private",
        "content": "a",
        "subnet": "10.0.0.0/24",
        "pods": "10.0.0.0/16",
        "user": "a",
        "variable": "A",
        "peers": ["10.20.0.4"],
        "files": ["/a"],
        "version": "1.32.13",
        "service": "a",
        "drive": "C",
    }
    special = {
        "stale-network": {"services": ["a"]},
        "etcd-restored": {"data": "/a"},
        "sysctl": {"key": "net.ipv4.ip_forward"},
        "port-range": {"start": 1},
        "system-service": {"start": "auto"},
        "node-object": {"state": "ready"},
        "container-image": {"client": "crictl"},
    }
    fields = {each: examples.get(each, "/a") for each, field in KINDS[name].fields.items() if field.required}
    return {"kind": name, "name": "one", **fields, **special.get(name, {})}


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """Return a plan with one step of any kind, valid or with one mutation."""
    name = draw(st.sampled_from(sorted(KINDS)))
    one = _minimal(name)
    changed = draw(st.sampled_from([*KINDS[name].fields, "timeout_seconds", "retries", "unknown"]))
    if draw(st.booleans()):
        one[changed] = draw(VALUES)
    elif changed in one and draw(st.booleans()):
        del one[changed]
    os = draw(st.sampled_from(["ubuntu-22.04", "windows-2019"]))
    scope = draw(st.sampled_from(["image", "node"]))
    registration = PLANS["None"]["registration"]
    phase = {"name": "all", "scope": scope, "steps": [one]}
    return {"format": 1, "role": "worker", "pool": "a", "os": os, "registration": registration, "phases": [phase]}


@settings(max_examples=500)
@given(mutated())
def test_mullions_check_and_the_schema_agree_on_mutations_of_steps(document: dict[str, Any]) -> None:
    assert _accepts_itself(document) == _accepts_by_schema(document), document["phases"]


@settings(max_examples=60)
@given(st.sampled_from(sorted(PLANS)), st.data())
def test_mullions_check_and_the_schema_agree_on_mutations_of_golden_plans(name: str, data: st.DataObject) -> None:
    document = copy.deepcopy(PLANS[name])
    phase = data.draw(st.sampled_from(document["phases"]))
    one = data.draw(st.sampled_from(phase["steps"]))
    one[data.draw(st.sampled_from([*(each for each in one if each not in ("kind", "name")), "retries"]))] = data.draw(
        VALUES
    )
    document["phases"] = [phase]
    assert _accepts_itself(document) == _accepts_by_schema(document), one


@pytest.mark.parametrize("name", KINDS)
def test_the_minimal_step_of_each_kind_is_valid_only_on_its_systems(name: str) -> None:
    one = _minimal(name)
    for system, os in {"linux": "ubuntu-22.04", "windows": "windows-2019"}.items():
        registration = PLANS["None"]["registration"]
        document = {"format": 1, "role": "worker", "pool": "a", "os": os, "registration": registration}
        document["phases"] = [{"name": "all", "scope": "node", "steps": [one]}]
        assert _accepts_itself(document) == _accepts_by_schema(document) == (system in KINDS[name].systems), system
