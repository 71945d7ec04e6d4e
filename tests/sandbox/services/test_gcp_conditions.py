"""Conditions of IAM bindings, as the services of the sandbox judge them."""

import pytest

from sandbox.gcp.rights import holds

CONDITIONS = {
    'resource.name.startsWith("a/")': True,
    "resource.name.startsWith('b/')": False,
    'resource.name == "a/b"': True,
    'resource.name.startsWith("b/") || resource.name == "a/b"': True,
    'resource.name.startsWith("a/") && resource.name == "a/c"': False,
    "": True,
}


@pytest.mark.parametrize(("expression", "passes"), CONDITIONS.items())
def test_a_condition_allows_matching_names(expression: str, passes: bool) -> None:
    assert holds(expression, "a/b") is passes


def test_an_unknown_condition_raises_an_error() -> None:
    with pytest.raises(ValueError, match=r"does not know the condition 'request\.time"):
        holds('request.time < timestamp("2026-01-01T00:00:00Z")', "a")
