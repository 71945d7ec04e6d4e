"""The picture and the firewall matrix of the HTML report, for every example stack."""

from itertools import combinations

import pytest

from components.plan import plan_cluster
from operations.html_report.firewall import matrix
from operations.html_report.picture import Box, fitting, picture
from operations.stacks import stack_files

STACKS = stack_files.names()


def _within(inner: Box, outer: Box) -> bool:
    return (
        outer.x <= inner.x
        and inner.x + inner.width <= outer.x + outer.width + 0.01
        and outer.y <= inner.y
        and inner.y + inner.height <= outer.y + outer.height + 0.01
    )


def _apart(one: Box, other: Box) -> bool:
    beside = one.x + one.width <= other.x or other.x + other.width <= one.x
    return beside or one.y + one.height <= other.y or other.y + other.height <= one.y


@pytest.mark.parametrize("name", STACKS)
def test_boxes_lie_inside_each_other_or_apart_and_inside_the_picture(name: str) -> None:
    drawn = picture(plan_cluster(name, stack_files.load(name).spec), {})
    whole = Box("", "", (), 0, 0, drawn.width, drawn.height)
    for box in drawn.boxes:
        assert _within(box, whole), box
        assert all(y <= box.y + box.height for y, _, _ in box.texts), box
    for one, other in combinations(drawn.boxes, 2):
        assert _within(other, one) or _apart(one, other), (one, other)


@pytest.mark.parametrize("name", STACKS)
def test_the_picture_shows_every_subnet_gateway_control_plane_and_machine(name: str) -> None:
    planned = plan_cluster(name, stack_files.load(name).spec)
    drawn = picture(planned, {0: "eu-west-1a"})
    texts = " ".join(box.tip for box in drawn.boxes)
    for subnet in planned.network.subnets:
        assert f"{subnet.name}: {subnet.cidr}" in texts
    for shown in (
        *(each.name for each in planned.network.gateways),
        *(each.name for each in planned.control_plane.machines),
    ):
        assert shown in texts
    for pool in planned.pools:
        here = [int(box.title.split()[1]) for box in drawn.boxes if box.title.startswith(f"{pool.name}: ")]
        assert sum(here) == len(pool.machines)
    assert "Zone 0: eu-west-1a" in texts


@pytest.mark.parametrize("name", STACKS)
def test_the_matrix_has_every_rule_once(name: str) -> None:
    planned = plan_cluster(name, stack_files.load(name).spec)
    found = matrix(planned)
    incoming = sum(len(cell) for _, cells in found.rows for cell in cells)
    assert incoming == sum(rule.ingress for rule in planned.rules)
    assert incoming + len(found.outgoing) == len(planned.rules)
    for target, cells in found.rows:
        for source, cell in zip(found.sources, cells, strict=True):
            rules = [rule for rule in planned.rules if rule.ingress and rule.group.value == target]
            peers = [rule for rule in rules if source in (str(rule.peer), getattr(rule.peer, "value", ""))]
            assert sorted(each.why for each in cell) == sorted(rule.why for rule in peers)


def test_a_text_that_is_too_wide_is_cut_with_an_ellipsis() -> None:
    assert fitting("short", 100) == "short"
    assert fitting("a-very-long-name-of-a-pool", 100) == "a-very-long-…"
