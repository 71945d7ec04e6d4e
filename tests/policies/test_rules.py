"""The repository's stacks pass every rule, and each change of one resource breaks exactly one rule."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from policies.rules import RULES, exposure, leaks, machines
from policies.rules.rule import INSTANCE, UNKNOWN, Resource, StackRule

from .cases import CASES as OF_AWS
from .cases import INGRESS, Case, given
from .cases_gcp import CASES as OF_GCP
from .recorded import STACKS, broken, resources

CASES = (*OF_AWS, *OF_GCP)
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "up"])
@pytest.mark.parametrize("stack", STACKS)
def test_the_repositorys_stacks_break_no_rule(stack: str, preview: bool) -> None:
    assert broken(resources(stack, preview=preview)) == {}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_change_breaks_exactly_one_rule(case: Case) -> None:
    changed = [
        case.change(resource) if (resource.type, resource.name) == (case.type, case.name) else resource
        for resource in resources(case.stack)
    ]
    assert changed != list(resources(case.stack)), f"{case.stack} has no {case.type} {case.name}"
    violations = broken(tuple(each for each in changed if each is not None))
    assert violations.keys() == {case.rule}
    assert any(case.says in wrong for wrong in violations[case.rule]), violations


def test_every_rule_has_a_case_that_breaks_it_and_resources_that_pass_it() -> None:
    apart = {"volumes-encrypted"}
    """Rules without a case: the program creates no separate volume."""
    assert {each.name for each in RULES} == {each.rule for each in CASES} | apart
    types = {each.type for stack in ("aws-prod", "gcp-prod") for each in resources(stack)}
    for rule in RULES:
        assert isinstance(rule, StackRule) or rule.name in apart or rule.types & types, rule.name


def test_a_volume_must_be_encrypted() -> None:
    rule = next(each for each in machines.RULES if each.name == "volumes-encrypted")
    volume = Resource("urn:pulumi:s::p::aws:ebs/volume:Volume::data", "aws:ebs/volume:Volume", {"size": 8})
    assert [wrong for _, wrong in rule.violations([volume])] == ["the volume is not encrypted; set encrypted: true"]
    assert not list(rule.violations([given(encrypted=True)(volume) or volume]))


@pytest.mark.parametrize("stack", ["aws-prod", "gcp-prod"])
def test_unknown_values_break_no_rule_because_up_runs_the_rules_again(stack: str) -> None:
    unknown = tuple(
        replace(each, properties=dict.fromkeys(each.properties, UNKNOWN)) for each in resources(stack, preview=True)
    )
    assert broken(unknown) == {}


def test_only_the_apis_security_group_admits_the_allow_list() -> None:
    ports = {
        resource.properties["fromPort"]
        for resource in resources("aws-ci")
        if resource.properties.get("cidrIpv4") == "203.0.113.0/24"
    }
    assert ports == {6443}
    closed = tuple(replace(each, inputs_from={}) if each.type == INGRESS else each for each in resources("aws-ci"))
    assert broken(closed).keys() == {"api-by-allow-list"}


def test_an_unprotected_stack_may_use_unpinned_images() -> None:
    loose = tuple(
        given(ami="ami-0")(replace(resource, inputs_from={})) or resource if resource.type == INSTANCE else resource
        for resource in resources("aws-dev")
    )
    assert broken(loose) == {}


@pytest.mark.parametrize("case", [each for each in CASES if each.rule == "images-pinned"], ids=str)
def test_a_control_plane_keeps_its_image_when_the_spec_names_another(case: Case) -> None:
    """A control plane ignores the change, so the engine shows the old image, without the Stash that it came from."""
    kept = tuple(
        case.change(resource) or resource
        if machines.is_control_plane(resource.urn) and resource.type == case.type
        else resource
        for resource in resources(case.stack)
    )
    assert sum(one != other for one, other in zip(kept, resources(case.stack), strict=True)) == 3
    assert broken(kept) == {}


@pytest.mark.parametrize(
    "text",
    [
        "system.collections.generic",
        "10.20.30.4 0123456789abcdef",
        "sha256 " + "0123456789abcdef" * 4,
        "-----BEGIN CERTIFICATE-----",
        "AKIA is a prefix",
        base64.b64encode(bytes(range(256)) * 4).decode(),
        "H4sI" + "A" * 60,
    ],
)
def test_text_that_only_resembles_a_secret_is_accepted(text: str) -> None:
    assert leaks.secrets(text) == set()


def test_the_page_lists_every_rule() -> None:
    page = (ROOT / "docs" / "policies.md").read_text("utf-8")
    for rule in RULES:
        assert f"| `{rule.name}` | {rule.says} |" in page


def test_ports_for_administration_open_to_googles_proxy_alone_are_accepted() -> None:
    rule = next(each for each in exposure.RULES if each.name == "admin-ports-closed")
    allows = [{"protocol": "tcp", "ports": ["22"]}]

    def opened(*sources: str) -> list[str]:
        properties = {"direction": "INGRESS", "allows": allows, "sourceRanges": list(sources)}
        firewall = Resource(f"urn:pulumi:s::p::{exposure.FIREWALL}::ssh", exposure.FIREWALL, properties)
        return [wrong for _, wrong in rule.violations([firewall])]

    assert opened("35.235.240.0/20") == []
    assert "0.0.0.0/0 can reach port 22" in opened("35.235.240.0/20", "0.0.0.0/0")[0]
