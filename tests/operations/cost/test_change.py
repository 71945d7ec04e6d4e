"""What a change costs, by the bills of the built cluster and of the planned one."""

from typing import Any

from components.cost.bill import Bill
from operations.cost import change
from tests.operations.cost.test_bill import bill_of

WEB = {"os": "windows-2022", "size": "m6i.xlarge", "count": 1}
LINUX = {"os": "ubuntu-24.04", "size": "m6i.large", "count": 1}


def bills(**pools: Any) -> Bill:
    return bill_of("eu-west-1", pools=pools)


def test_a_new_cluster_has_no_sum_before() -> None:
    now = bills(web=WEB)
    assert list(change.lines(None, now)) == [f"  before: new, nothing is built; now: USD {now.month:,.2f} a month"]


def test_each_changed_pool_has_its_sums_and_the_difference() -> None:
    before, now = bills(web=WEB, old=LINUX), bills(web=WEB | {"count": 2}, young=LINUX)
    head, rows = change.lines(before, now)
    assert head == (
        f"  before: USD {before.month:,.2f} a month; now: USD {now.month:,.2f} a month; "
        f"difference: {round(now.month, 2) - round(before.month, 2):+,.2f}"
    )
    assert [line.split() for line in rows.splitlines()] == [
        ["pool", "before", "now", "difference"],
        ["old", "82.51", "removed", "-82.51"],
        ["web", "301.80", "603.61", "+301.81"],
        ["young", "new", "82.51", "+82.51"],
    ]


def test_the_same_cluster_has_no_rows() -> None:
    [head] = change.lines(bills(web=WEB), bills(web=WEB))
    assert head.endswith("difference: +0.00; no item differs")


def test_a_pool_without_a_price_has_no_known_difference() -> None:
    before, now = bills(web=WEB), bills(web=WEB | {"size": "m7i.xlarge"})
    head, rows = change.lines(before, now)
    assert f"now: at least USD {now.month:,.2f} a month" in head
    assert head.endswith("(known prices only)")
    assert rows.splitlines()[1].split() == ["web", "301.80", "at", "least", f"{now.by_pool['web']:.2f}", "unknown"]


def test_an_unknown_price_before_and_now_leaves_the_difference_known() -> None:
    web = {"os": "windows-2022", "size": "t3.large", "count": 1}
    head, rows = change.lines(bills(web=web | {"disk_gb": 64}), bills(web=web | {"disk_gb": 80}))
    assert "before: at least USD" in head, "the licence of Windows on t3 has no price"
    assert head.endswith("difference: +1.41"), "16 GiB of gp3 at USD 0.088 a month"
    assert rows.splitlines()[1].split()[-1] == "+1.41"
