"""A removed worker is drained before the network loses the way to its pods."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from components.rollout import pod_routes
from components.rollout.pod_routes import PodRouteHooks


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make hooks plain functions. Give the machines that were released, in order."""
    monkeypatch.setattr(pod_routes, "ResourceHook", lambda name, function: (name, function))
    monkeypatch.setattr(pod_routes, "ResourceHookBinding", lambda **bound: bound)
    return []


def hooks(released: list[str], cluster: str = "aws-prod") -> PodRouteHooks:
    """Return hooks that record whom they release."""

    async def release(name: str) -> None:
        released.append(name)

    made = PodRouteHooks(cluster)
    made.release = release
    return made


def table(*machines: str) -> dict[str, Any]:
    return {"routes": [{"name": each, "addressPrefix": "10.0.0.0/24"} for each in machines]}


@pytest.mark.parametrize(
    ("cluster", "route", "machine"),
    [
        ("aws-prod", "aws-prod-nodes-0-pods-web-2", "web-2"),
        ("gcp-prod", "gcp-prod-pods-web-2", "web-2"),
        ("pods-a", "pods-a-pods-pods-0", "pods-0"),
        ("aws-prod", "aws-prod-nodes-pods-old-pods-1", "old-pods-1"),
    ],
)
def test_the_machine_of_a_route_is_released_before_its_deletion(
    released: list[str], cluster: str, route: str, machine: str
) -> None:
    [(name, hook)] = hooks(released, cluster).of_route["before_delete"]  # type: ignore[index]
    asyncio.run(hook(SimpleNamespace(name=route)))
    assert (name, released) == (f"{cluster}-lose-route", [machine])


def test_control_planes_are_not_drained(released: list[str]) -> None:
    """No gate watches them, so their routes would be held up when the whole cluster is destroyed."""
    made = hooks(released)
    [(_, leave)] = made.of_route["before_delete"]  # type: ignore[index]
    asyncio.run(leave(SimpleNamespace(name="aws-prod-nodes-0-pods-control-plane-2")))
    [(_, change)] = made.of_table["before_update"]  # type: ignore[index]
    old = table("control-plane-0", "control-plane-1")
    asyncio.run(change(SimpleNamespace(old_inputs=old, new_inputs=table("control-plane-0"))))
    assert released == []


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        (table("web-0", "web-1", "web-2"), table("web-0"), ["web-1", "web-2"]),
        (table("web-0"), table("web-0", "web-1"), []),
        (table("web-0"), {"routes": None}, ["web-0"]),
        (None, table("web-0"), []),
    ],
)
def test_machines_are_released_before_a_table_loses_their_routes(
    released: list[str], old: Any, new: Any, lost: list[str]
) -> None:
    [(name, hook)] = hooks(released).of_table["before_update"]  # type: ignore[index]
    asyncio.run(hook(SimpleNamespace(name="aws-prod-routes", old_inputs=old, new_inputs=new)))
    assert (name, released) == ("aws-prod-lose-routes", lost)
