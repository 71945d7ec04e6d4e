"""Sizes that run Hyper-V: every size that Mullion knows is decided by a row with a source."""

import pytest

from components.catalogue import instance_sizes
from components.catalogue.nested_virtualisation import AWS_FAMILIES, GCP_REFUSES, OFFERED, refusal
from components.spec import defaults


def test_every_known_size_of_azure_with_an_x86_processor_is_in_the_table() -> None:
    sizes = [each.name for each in instance_sizes.AZURE.values() if each.architecture == "amd64"]
    assert [each for each in sizes if "looked it up" in refusal("azure", each)] == []
    assert not refusal("azure", "Standard_D4s_v5")
    assert "not supported" in refusal("azure", "Standard_D4as_v4")


@pytest.mark.parametrize("size", ["D4s_v3", "D4ds_v4", "E4s_v3", "E16ds_v4", "F8s_v2"])
def test_series_before_version_5_are_refused_because_of_trusted_launch(size: str) -> None:
    assert "Trusted Launch" in refusal("azure", f"Standard_{size}")


@pytest.mark.parametrize("size", ["Standard_DC4s_v3", "Standard_D4s_v9", "Standard_D4ps_v5", "Standard_NC6"])
def test_a_series_that_nobody_looked_up_is_refused_with_these_words(size: str) -> None:
    assert "nobody looked it up" in refusal("azure", size)


def test_on_aws_only_the_eighth_generation_of_intel_is_accepted_and_at_most_192_vcpu() -> None:
    accepted = {each.name for each in instance_sizes.AWS.values() if not refusal("aws", each.name)}
    assert {each.partition(".")[0] for each in accepted} <= AWS_FAMILIES
    assert {"c8i.large", "m8i.xlarge", "r8i.48xlarge"} <= accepted
    assert not refusal("aws", "m8i-flex.xlarge")
    assert all(refusal("aws", each) for each in ("m8i.96xlarge", "m8i.metal-48xl", "m8g.large", "m8i.nano", "m8ix"))


def test_no_size_of_google_cloud_is_accepted() -> None:
    assert {refusal("gcp", each) for each in instance_sizes.GCP} == {GCP_REFUSES}


@pytest.mark.parametrize("cloud", OFFERED)
def test_the_size_that_an_error_proposes_is_accepted(cloud: str) -> None:
    proposed = OFFERED[cloud].partition(",")[0]
    assert not refusal(cloud, proposed)
    assert instance_sizes.cloud_of(proposed) == instance_sizes.cloud_of(defaults.SIZES[cloud]["windows"])
