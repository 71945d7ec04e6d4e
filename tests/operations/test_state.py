"""What the state says of a cluster, and what is taken off it before the whole goes."""

from typing import Any

from operations import state


def workers(kubernetes: str) -> dict[str, Any]:
    return {"type": "mullion:aws:Workers", "outputs": {"kubernetes": kubernetes}}


def test_pools_that_wait_for_the_control_plane_are_known_by_their_version() -> None:
    assert state.held([workers("1.35.8"), workers("1.35.8")], "1.36.4") == "1.35.8"
    assert state.held([workers("1.36.4")], "1.36.4") == ""
    assert state.held([{"type": "mullion:aws:Workers"}, {"type": "x"}], "1.36.4") == "", "made by an earlier release"


def test_protection_and_hooks_are_taken_off_and_nothing_else() -> None:
    made: state.State = [
        {"urn": "a", "protect": True, "type": "t"},
        {"urn": "b", "resourceHooks": {"before_delete": ["dev-leave"]}, "retainOnDelete": True},
    ]
    assert state.released(made)
    assert made == [{"urn": "a", "type": "t"}, {"urn": "b", "retainOnDelete": True}]
    assert not state.released(made)
