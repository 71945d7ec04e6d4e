"""Queries of a cluster's state, and the edits before its removal."""

from typing import Any

from pulumi import automation as auto

from operations.engine import state
from sandbox.values import SECRET, SIGNATURE


def workers(kubernetes: str) -> dict[str, Any]:
    return {"type": "mullion:aws:Workers", "outputs": {"kubernetes": kubernetes}}


def test_pools_that_wait_for_the_control_plane_have_an_older_version() -> None:
    assert state.waiting_version([workers("1.35.8"), workers("1.35.8")], "1.36.4") == "1.35.8"
    assert state.waiting_version([workers("1.36.4")], "1.36.4") == ""
    assert state.waiting_version([{"type": "mullion:aws:Workers"}, {"type": "x"}], "1.36.4") == "", (
        "made by an earlier release"
    )


def test_only_protection_and_hooks_are_removed() -> None:
    made: state.State = [
        {"urn": "a", "protect": True, "type": "t"},
        {"urn": "b", "resourceHooks": {"before_delete": ["dev-leave"]}, "retainOnDelete": True},
    ]
    assert state.released(made)
    assert made == [{"urn": "a", "type": "t"}, {"urn": "b", "retainOnDelete": True}]
    assert not state.released(made)


def test_resources_leave_a_state_with_all_names_of_them() -> None:
    """The engine refuses a state whose resources depend on one that it does not have."""
    made: state.State = [
        {"urn": "root", "type": "t"},
        {"urn": "vm", "type": "t", "parent": "root"},
        {"urn": "loader", "type": "t", "parent": "vm", "deletedWith": "vm", "dependencies": ["root", "vm"]},
        {"urn": "member", "type": "t", "propertyDependencies": {"a": ["vm"], "b": ["root"]}, "replaceWith": ["vm"]},
    ]
    assert state.without(made, ["vm"]) == [
        {"urn": "root", "type": "t"},
        {"urn": "loader", "type": "t", "parent": "root", "dependencies": ["root"]},
        {"urn": "member", "type": "t", "propertyDependencies": {"a": [], "b": ["root"]}, "replaceWith": []},
    ]
    assert made[2]["deletedWith"] == "vm", "the given state stays"


def test_outputs_are_the_stacks_own_with_secrets_decrypted_and_marked() -> None:
    secret = {SIGNATURE: SECRET, "plaintext": '"hidden"'}
    outputs = {"endpoint": "https://a", "machines": {"web-0": "10.0.0.1"}, "kubeconfig": secret, "parts": [1, secret]}
    rows = [{"type": "t", "outputs": {"x": 1}}, {"type": "pulumi:pulumi:Stack", "outputs": outputs}]
    found = state.outputs(auto.Deployment(3, {"resources": rows}))
    assert {name: (each.value, each.secret) for name, each in found.items()} == {
        "endpoint": ("https://a", False),
        "machines": ({"web-0": "10.0.0.1"}, False),
        "kubeconfig": ("hidden", True),
        "parts": ([1, "hidden"], True),
    }
    assert state.outputs(auto.Deployment(3, {})) == {}
