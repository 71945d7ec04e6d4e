"""Merge of the user's configuration over Mullion's."""

from typing import Any

import pytest

from components.node.merge import merge


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        (
            {"a": [{"name": "x", "value": 1}, {"name": "y", "value": 1}]},
            {"a": [{"name": "y", "value": 2}, {"name": "z", "value": 2}]},
            {"a": [{"name": "x", "value": 1}, {"name": "y", "value": 2}, {"name": "z", "value": 2}]},
        ),
        ({"a": {"x": 1}}, {"a": None}, {"a": {"x": 1}}),
        ({"a": True}, {"a": None}, {"a": True}),
        ({"a": {"x": 1}}, {"b": None}, {"a": {"x": 1}, "b": None}),
        ({"a": {"x": 1}}, {"a": []}, {"a": {"x": 1}}),
        ({"a": [{"name": "x"}]}, {"a": []}, {"a": [{"name": "x"}]}),
        ({"a": ["x"]}, {"a": []}, {"a": []}),
        ({"a": {"ref": "node.taints"}}, {"a": []}, {"a": []}),
        ({"a": {"ref": "node.address"}}, {"a": {"x": 1}}, {"a": {"x": 1}}),
    ],
    ids=[
        *("added", "nested", "lists are replaced", "lists of names", "null keeps a mapping", "null keeps a value"),
        *("null of a new key stays", "an empty list keeps a mapping", "an empty list keeps names"),
        *("an empty list replaces others", "an empty list replaces a reference", "a reference is one value"),
    ],
)
def test_merge_merges_mappings_and_replaces_other_values(ours: Any, theirs: Any, both: Any) -> None:
    assert merge(ours, theirs) == both


def test_merge_changes_neither_document() -> None:
    ours, theirs = {"a": {"x": 1}}, {"a": {"y": 2}}
    merge(ours, theirs)
    assert (ours, theirs) == ({"a": {"x": 1}}, {"a": {"y": 2}})
