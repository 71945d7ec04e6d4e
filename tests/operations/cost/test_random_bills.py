"""Random clusters in every region and of every size: items without a price are named, never shown as zero."""

import re
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from components.catalogue import instance_sizes, regions
from components.cost.bill import Bill, Usage, bill
from components.plan import plan_cluster
from components.spec.report import SpecError
from components.stack_files.stack import read_stack
from operations.console.exits import Stop
from operations.cost import budget, shown
from operations.cost.so_far import SoFar

KEYS = {"aws": "aws:region", "azure": "azure-native:location", "gcp": "gcp:region"}
ZERO = re.compile(r"\b0\.0+\b")
SYSTEMS = ("ubuntu-24.04", "windows-2022", "windows-2019")


@st.composite
def pools(draw: st.DrawFn, cloud: str) -> dict[str, Any]:
    """A pool of any size of the cloud, with a disk of any size."""
    system = draw(st.sampled_from(SYSTEMS))
    return {
        "os": system,
        "count": draw(st.integers(0, 4)),
        "size": draw(st.sampled_from(sorted(instance_sizes.TABLES[cloud]))),
        "disk_gb": draw(st.sampled_from([64, 100, 129, 1025, 4000, 16385, 32768])),
    }


@st.composite
def bills(draw: st.DrawFn) -> Bill:
    """The bill of a random cluster."""
    cloud = draw(st.sampled_from(sorted(KEYS)))
    region = draw(st.sampled_from(sorted(regions.NAMES[cloud])))
    spec: dict[str, Any] = {
        "cloud": cloud,
        "kubernetes": "1.36.4",
        "pools": {f"pool{number}": draw(pools(cloud)) for number in range(draw(st.integers(0, 3)))},
    }
    if draw(st.booleans()):
        spec["network"] = {"egress": "public"}
    if draw(st.booleans()):
        spec["control_plane"] = {"size": draw(st.sampled_from(sorted(instance_sizes.TABLES[cloud])))}
    usage = Usage(draw(st.sampled_from([None, 0, 0.5, 100])), draw(st.sampled_from([None, 0, 20])))
    try:
        read = read_stack("any", {KEYS[cloud]: region, "gcp:project": "example-project", "mullion:cluster": spec})
        return bill(plan_cluster("any", read.spec), read.region, usage)
    except SpecError:  # such as a size of ARM, or one too small
        assume(False)
        raise


@settings(max_examples=120, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(found=bills())
def test_items_without_a_price_are_named_everywhere_and_never_shown_as_zero(found: Bill) -> None:
    priced = [item for item in found.items if item.price is not None]
    unpriced = [item for item in found.items if item.price is None]
    assert all(item.month and item.month > 0 for item in priced)
    assert bool(found.unknown) is bool(unpriced)
    document, text = shown.document(found), shown.text(found)
    assert [row["month"] is None for row in document["items"]] == [item.price is None for item in found.items]
    assert not ZERO.search(text), text
    line = shown.line(shown.summary(found), "any", found.region)
    if unpriced:
        assert all(what in line and what in text for what in found.unknown)
        assert ("at least" in line) is bool(priced)
        assert ("at least" in text.splitlines()[0]) is bool(priced)
    for pool, month in document["pools"].items():
        of_pool = [item for item in found.items if item.pool == pool]
        assert (month is None) is all(item.price is None for item in of_pool)
    assert not ZERO.search(line)


@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(found=bills())
def test_every_machine_is_billed_with_its_disk_and_its_windows(found: Bill) -> None:
    for pool in {item.pool for item in found.items} - {"(shared)"}:
        items = [item for item in found.items if item.pool == pool]
        machines, disks = items[0], [item for item in items if " disk, " in item.what]
        assert machines.count >= 1
        assert len(disks) == 1
        assert all(item.count >= machines.count for item in items)


@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(found=bills())
def test_a_refusal_by_budget_names_no_item_without_a_price_as_zero(found: Bill) -> None:
    said = ""
    try:
        budget.refuse(found, 1)
    except Stop as stop:
        said = str(stop)
    assert bool(said) is (found.month > 1)
    assert not ZERO.search(said)


def test_regions_with_price_lists_of_their_own_get_no_price_of_all_regions() -> None:
    for region in ("cn-north-1", "us-gov-west-1"):
        read = read_stack(
            "any", {"aws:region": region, "mullion:cluster": {"cloud": "aws", "kubernetes": "1.36.4", "pools": {}}}
        )
        found = bill(plan_cluster("any", read.spec), read.region)
        assert found.month == 0
        assert shown.text(found).splitlines()[0] == f"any on aws in {region}: no price is known"
        assert shown.line(shown.summary(found), "any", region).startswith("unknown; no price for m6i.large, ")


def test_the_cost_so_far_is_unknown_without_any_price() -> None:
    assert SoFar(0, ("m6i.large",), priced=False).text == "unknown"
    assert SoFar(0, ("m6i.large",)).text == "at least USD 0.00"
