"""Drift: comparing and printing properties."""

from typing import Any

import pytest

from operations.commands.drift import Drift, Property, compare, lines


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", 1, 2)]),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, [("a.c", None, 2)]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, [("a[0].b", 1, 2)]),
        ({"a": [1]}, {"a": [1, 2]}, [("a", [1], [1, 2])]),
        ({"a": []}, {}, []),
        ({"a": True}, {"a": False}, [("a", True, False)]),
        ({"tagsAll": 1, "__defaults": []}, {"tagsAll": 2, "__defaults": ["x"]}, []),
        ({"s": "[secret]"}, {"s": "[secret]"}, []),
    ],
)
def test_compare_names_each_property_that_differs_by_its_path(
    old: Any, new: Any, found: list[tuple[str, Any, Any]]
) -> None:
    assert [(each.path, each.recorded, each.real) for each in compare(old, new)] == found


@pytest.mark.parametrize(
    ("change", "properties", "text"),
    [
        ("removed", [], ["removed web-0 (t)"]),
        ("changed", [Property("a.b", None, [1])], ["changed web-0 (t)", "  a.b: nothing -> [1]"]),
        ("changed", [], ["changed web-0 (t)", "  a secret value, or a value that is not in the state"]),
    ],
)
def test_a_drift_is_printed_with_its_properties(change: str, properties: list[Property], text: list[str]) -> None:
    assert list(lines(Drift("web-0", "t", "urn", change, properties))) == text
