"""Objects in the bucket of copies that this agent did not write: another machine's copies, or somebody's."""

import importlib
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.agent.test_copies import HOUR, LARGE, OWNERS, PART, Reconcile, add, config, copied, copies, reconcile
from tests.cloud_init.cloud import FakeCloud

__all__ = ["add", "config", "copies", "reconcile"]


@pytest.mark.parametrize("content", [b"pages", LARGE])
def test_a_copy_that_another_machine_has_made_meanwhile_counts(
    copies: ModuleType,
    run: Any,
    cloud: FakeCloud,
    config: dict[str, Any],
    add: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
) -> None:
    monkeypatch.setattr(importlib.import_module("objects"), "PART", PART)
    key = add(HOUR, content)
    assert [copies.copy(run, config, key) for _ in range(2)] == [True, False]
    assert copied(cloud) == {f"shop/{key}": content}


@pytest.mark.parametrize("planted", [b"", b"page", b"pages and more"])
@pytest.mark.parametrize("meanwhile", [False, True], ids=["before", "while it is copied"])
def test_an_object_that_somebody_put_in_a_copys_place_is_reported(
    copies: ModuleType,
    reconcile: Reconcile,
    cloud: FakeCloud,
    add: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    planted: bytes,
    meanwhile: bool,
) -> None:
    """Whoever has taken over a control plane may create objects: the agent cannot put the copy in their place."""
    good = add(HOUR)
    reconcile(HOUR)
    key, copy = add(2 * HOUR), copies.copy

    def plant(*given: Any) -> bool:
        cloud.objects[f"/{OWNERS}/shop/{key}"] = planted
        return bool(given) and copy(*given)

    monkeypatch.setattr(copies, "copy", plant)
    if not meanwhile:
        plant()
    for _ in range(2):
        with pytest.raises(Exception, match=rf"^1 copies .*{key}: it has {len(planted)} bytes, and the snapshot 5"):
            reconcile(3 * HOUR)
    later = add(3 * HOUR)
    monkeypatch.setattr(copies, "copy", copy)
    with pytest.raises(Exception, match="1 copies are not their snapshots"):
        reconcile(3 * HOUR)
    assert {f"shop/{good}", f"shop/{later}"} < set(copied(cloud)), "later snapshots are copied"
    del cloud.objects[f"/{OWNERS}/shop/{key}"]
    assert reconcile(3 * HOUR) == {"count": 2, "newest": later}


def test_copies_of_other_agents_are_compared_once(
    reconcile: Reconcile, cloud: FakeCloud, add: Callable[..., str]
) -> None:
    key = add(HOUR)
    cloud.objects[f"/{OWNERS}/shop/{key}"] = b"pages"
    counts = list[int]()
    for _ in range(3):
        cloud.asked.clear()
        assert reconcile(2 * HOUR) == {"count": 1, "newest": key}
        counts.append(len([each for each in cloud.asked if re.fullmatch(r"GET /(snapshots|status)/? 200", each)]))
    assert counts == [4, 2, 2], "once also the sizes in both buckets"


def test_newer_snapshots_do_not_wait_for_one_that_was_changed_in_the_store(
    reconcile: Reconcile, cloud: FakeCloud, add: Callable[..., str]
) -> None:
    """Whoever may write to the store could end all copies by one write."""
    good = add(HOUR)
    reconcile(HOUR)
    changed, later = add(2 * HOUR), add(3 * HOUR)
    cloud.objects[f"/snapshots/{changed}"] = b"spoiled"
    for _ in range(3):
        with pytest.raises(Exception, match=f"{changed} has sha256:.*, another digest than in its name"):
            reconcile(4 * HOUR)
    assert set(copied(cloud)) == {f"shop/{good}", f"shop/{later}"}
    assert len([each for each in cloud.asked if each.startswith(f"GET /snapshots/{changed}")]) == 2, "read once"
    del cloud.objects[f"/snapshots/{changed}"]
    assert reconcile(4 * HOUR) == {"count": 2, "newest": later}
