"""Names cut to a cloud's limit, which stay distinct."""

from components.naming import within


def test_a_short_name_is_not_changed() -> None:
    assert within(10, "prod-nodes") == "prod-nodes"


def test_a_long_name_is_cut_and_ends_in_its_digest() -> None:
    first, second = (within(20, f"prod-control-plane-from-{each}") for each in ("workers", "people"))
    assert len(first) <= 20 and first != second
    assert first.startswith("prod-contro")
    assert within(20, "prod-control-plane-from-workers") == first, "the same in every run"


def test_a_cut_name_has_no_double_hyphen() -> None:
    assert "--" not in within(14, "prod-a-very-long-name")
