"""Network rules of the stores, by `api.allow`."""

from ipaddress import IPv4Network

import pytest

from components.azure.storage import addresses


@pytest.mark.parametrize(
    ("allow", "rules"),
    [
        pytest.param(["198.51.100.4/31"], ["198.51.100.4", "198.51.100.5"], id="single addresses instead of a /31"),
        pytest.param(["10.0.0.0/8"], [], id="no private range"),
        pytest.param(["198.51.100.4/31", "198.51.100.5/32"], ["198.51.100.4", "198.51.100.5"], id="an address once"),
        pytest.param(["203.0.113.0/25", "203.0.113.0/24"], ["203.0.113.0/24"], id="a range once"),
    ],
)
def test_a_stores_rules_are_as_azure_takes_them(allow: list[str], rules: list[str]) -> None:
    assert addresses(map(IPv4Network, allow)) == rules
