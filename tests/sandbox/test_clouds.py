"""Behaviour of all clouds of the sandbox: region, tags, faults, changes behind the engine's back."""

from collections.abc import Callable
from typing import Any

import pytest

from operations.engine import reserved
from sandbox import faults, tamper
from sandbox.cloud_state import CloudState
from sandbox.clouds import CLOUDS, of, of_type, seconds
from sandbox.gcp.storage import crc32c
from tests.sandbox.account import Account

PLACES = {
    "aws": ("eu-west-1", "Vpc", {"cidrBlock": "10.0.0.0/16", "tags": {"owner": "us"}}),
    "azure": ("westeurope", "ResourceGroup", {"tags": {"owner": "us"}}),
    "gcp": ("europe-west1", "Bucket", {"location": "EU", "labels": {"owner": "us"}}),
}
CODES = {
    "aws": ("InternalFailure", "RequestLimitExceeded", "InvalidParameterValue"),
    "azure": ("InternalServerError", "TooManyRequests", "PrincipalNotFound"),
    "gcp": ("backendError", "rateLimitExceeded", "badRequest"),
}


@pytest.fixture(params=CLOUDS)
def cloud(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def make(cloud_state: CloudState, cloud: str) -> Callable[..., Any]:
    region, short, inputs = PLACES[cloud]
    account = Account(cloud_state, of(cloud), region)
    return lambda name, **more: (account, account.create(short, name, **(inputs | more)))


def test_a_cloud_is_found_by_its_types(cloud: str) -> None:
    for token in of(cloud).types:
        assert of_type(token) is of(cloud)
        assert seconds(token, "create") > 0
    assert seconds("pulumi:index:Stash", "create") == 0


def test_an_unknown_region_is_refused_with_the_name_of_the_setting(cloud_state: CloudState, cloud: str) -> None:
    region, _, _ = PLACES[cloud]
    provider = Account(cloud_state, of(cloud), region).provider
    setting = of(cloud).region
    [failure] = provider.configure({setting: "mars"})
    assert (failure.property, "'mars'" in failure.reason) == (setting, True)


@pytest.mark.parametrize("kind", ["fail", "throttle"])
def test_a_planned_fault_returns_the_error_of_the_cloud(
    cloud: str, make: Callable[..., Any], cloud_state: CloudState, kind: str
) -> None:
    account, _ = make("first")
    faults.plan(cloud_state, kind, 1, amount=10000 if kind == "throttle" else 0)
    assert account.refused(lambda: make("second")).code == CODES[cloud][kind == "throttle"]
    make("third")


def test_an_unseen_identity_fails_calls_of_one_type_alone(
    cloud: str, make: Callable[..., Any], cloud_state: CloudState
) -> None:
    faults.plan(cloud_state, "unseen", 1, amount=10000)
    make("first")
    assert len(faults.planned(cloud_state)) == 1, "it waits for the type that meets it"
    failures = of(cloud).failures
    assert failures.unseen.code == CODES[cloud][2]
    assert failures.unseen_by in {token.rsplit(":", 1)[-1] for token in of(cloud).types}


def test_a_cloud_without_capacity_refuses_a_machine_with_its_code(cloud: str) -> None:
    """Azure's and Google's providers do not retry it; AWS's does."""
    failures = of(cloud).failures
    codes = {"azure": "ZonalAllocationFailed", "gcp": "ZONE_RESOURCE_POOL_EXHAUSTED"}
    assert failures.capacity.code == codes.get(cloud, "InsufficientInstanceCapacity")
    assert bool(list(failures.capacity.waits())) is (cloud == "aws")
    if cloud == "azure":
        assert failures.answer("reserved").code == reserved.CODE
    else:
        with pytest.raises(ValueError, match="no error 'reserved'"):
            failures.answer("reserved")


def test_tags_are_read_and_can_be_changed_behind_the_engines_back(
    cloud: str, make: Callable[..., Any], cloud_state: CloudState
) -> None:
    account, thing = make("first")
    [record] = cloud_state.resources()
    assert record.tags["owner"] == "us"
    name = of(cloud).tagging.input
    tamper.change(cloud_state, record, {f"{name}.owner": "them"})
    [after] = cloud_state.resources()
    assert after.tags["owner"] == "them"
    assert {key: value for key, value in after.outputs.items() if isinstance(value, str)} == {
        key: value for key, value in record.outputs.items() if isinstance(value, str)
    }
    read = account.provider.read(thing.urn, thing.id, thing.outputs, thing.inputs)
    assert read is not None
    assert read[0][name] == {"owner": "them"}


def test_a_checksum_equals_the_example_of_the_rfc() -> None:
    """RFC 3720, appendix B.4: 32 bytes of zeroes."""
    assert crc32c(bytes(32)) == 0x8A9136AA
