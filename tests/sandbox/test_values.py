"""Encoding and decoding of property values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.values import (
    ASSETS,
    REDACTED,
    UNKNOWN,
    Asset,
    Secret,
    decode_map,
    encode_map,
    has_unknown,
    plain,
    redacted,
)
from sandbox.values import select as selected

SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5) | st.just(UNKNOWN)
VALUES = st.recursive(
    SCALARS | st.builds(Asset, st.sampled_from(ASSETS), st.text(max_size=3), st.text(max_size=3)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), VALUES | st.builds(Secret, VALUES), max_size=4))
def test_a_value_survives_encoding_and_decoding(values) -> None:
    assert decode_map(encode_map(values)) == values


def test_whole_numbers_are_decoded_as_integers() -> None:
    assert decode_map(encode_map({"a": 1.0, "b": 1.5})) == {"a": 1, "b": 1.5}


def test_a_secret_is_in_neither_repr_nor_redacted_values() -> None:
    value = {"a": [Secret("hidden")], "b": Secret({"c": "hidden"}), "__defaults": []}
    assert "hidden" not in repr(value)
    assert redacted(value) == {"a": [REDACTED], "b": REDACTED}
    assert plain(value) == {"a": ["hidden"], "b": {"c": "hidden"}}


@pytest.mark.parametrize("value", [UNKNOWN, [UNKNOWN], {"a": {"b": UNKNOWN}}, Secret(UNKNOWN)])
def test_an_unknown_part_is_found_anywhere(value) -> None:
    assert has_unknown(value)
    assert not has_unknown({"a": [1, Secret(2)]})


PATHS = [("a", [1]), ("b.c", [2]), ("d[]", [3, 4]), ("e[].f", [5]), ("e[].g[]", [6, 7]), ("x.y", []), ("a[]", [])]


@pytest.mark.parametrize(("path", "found"), PATHS)
def test_select_returns_all_values_at_a_path(path, found) -> None:
    values = {"a": 1, "b": {"c": 2}, "d": [3, 4], "e": [{"f": 5}, {"g": [6, 7]}]}
    assert selected(values, path) == found
