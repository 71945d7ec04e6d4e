"""The URN in a resource's tags: in characters that AWS accepts, and sufficient to find the resource."""

import re

import pytest

from components.spec.models import ClusterSpec
from components.wiring.tags import LONGEST, Tags, descendant, label, tag_value, urn_digest
from operations.recorder.recorder import record
from tools.golden import cases

ROOT = "urn:pulumi:prod::mullion::mullion:index:MixedCluster::prod"


def test_descendant_returns_the_engines_urn() -> None:
    types = "mullion:aws:Workers$aws:ec2/instance:Instance"
    expected = f"urn:pulumi:prod::mullion::mullion:index:MixedCluster${types}::prod-web-0"
    assert descendant(ROOT, types, "prod-web-0") == expected


def test_a_tag_value_has_only_characters_that_every_service_allows() -> None:
    value = tag_value(descendant(ROOT, "mullion:aws:Api$aws:lb/listener:Listener", "prod-api-public"))
    assert re.fullmatch(r"[\w .:/=+@-]+", value)


def test_a_long_urn_is_cut_and_ends_in_the_digest_of_the_whole_urn() -> None:
    one, other = (tag_value(f"{ROOT}{'x' * 300}{end}") for end in "ab")
    assert len(one) == len(other) == LONGEST
    assert one[:190] == other[:190]
    assert one != other
    assert re.fullmatch(r"[\w .:/=+@-]+", one)


def test_a_label_is_lower_case_and_has_a_digest_instead_of_the_urn() -> None:
    assert label(("mullion:expires", "2026-12-24T18:00:00Z")) == ("mullion_expires", "2026-12-24t18_00_00z")
    assert len(label(("k", "v" * 100))[1]) == 63
    assert re.fullmatch(r"[0-9a-f]{40}", urn_digest("urn:pulumi:a::b::c::d"))
    assert urn_digest("urn:pulumi:a::b::c::d") != urn_digest("urn:pulumi:a::b::c::e")


@pytest.mark.parametrize("protect", [True, False])
def test_a_protected_cluster_has_a_tag_that_says_so(protect: bool) -> None:
    pools = {"linux": {"os": "ubuntu-24.04", "count": 1}}
    spec = ClusterSpec.model_validate({"cloud": "aws", "kubernetes": "1.36.4", "pools": pools, "protect": protect})
    tags = Tags.of("prod", spec, ROOT)
    assert tags.common.get("mullion:protect") == tags.ours.get("mullion:protect") == ("true" if protect else None)


CASES = ("azure-bastion", *(f"{cloud}-{options}" for cloud in cases.CLOUDS for options in ("key", "many")))
"""Stacks with options, as other tests have those of stacks/."""


@pytest.mark.parametrize("case", CASES)
def test_the_mark_of_every_resource_names_that_resource_whatever_the_options(case: str) -> None:
    recording = record(case, cases.settings()[case])
    assert recording.errors == []
    marks = {
        each.urn: tags.get("mullion:urn", tags.get("mullion-urn", tags.get("mullion_urn")))
        for each in recording.resources.values()
        if each.custom and isinstance(tags := each.inputs.get("tags", each.inputs.get("labels")), dict)
    }
    assert len(marks) > 5
    assert {urn: mark for urn, mark in marks.items() if mark not in (tag_value(urn), urn_digest(urn))} == {}
