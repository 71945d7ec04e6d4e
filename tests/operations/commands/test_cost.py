"""`mullion cost`, the line of cost in `plan` and `preview`, and budgets."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from operations.commands import cost as costing
from operations.console.exits import Exit
from operations.cost import update as updating
from tests.operations.conftest import STACK

Run = Callable[..., Result]


def budget(clone: Path, month: int, size: str = "m6i.large") -> None:
    """Give the stack a budget, and its Linux pool a size."""
    text = STACK.replace("count: 1}", f"count: 1, size: {size}}}") + f"    budget: {{month: {month}}}\n"
    (clone / "stacks" / "Pulumi.small.yaml").write_text(text)


def test_cost_lists_items_pools_and_assumptions(clone: Path, mullion: Run) -> None:
    text = mullion("cost", "small").stdout
    assert "small on aws in eu-west-1: USD 809.02 a month of 730 hours" in text
    assert "web            Windows on m6i.xlarge      8  0.046 an hour        268.64" in text
    assert "Traffic is not counted (--traffic GB" in text
    assert "Stored files and snapshots are not counted (--stored GIB)" in text


def test_cost_as_json_names_the_sources_and_an_unknown_price_is_null(clone: Path, mullion: Run) -> None:
    found = json.loads(mullion("cost", "small", "--json", "--traffic", "100", "--stored", "2").stdout)
    assert found["unknown"] == ["GB to the internet", "GiB in the stores"]
    assert {each["item"]: each["month"] for each in found["items"]}["GB to the internet"] is None
    assert found["traffic_gb"] == 100
    assert sum(found["pools"].values()) == pytest.approx(found["month"], abs=0.02)
    assert all(each["date"] and each["source"] for each in found["sources"])


def test_against_an_earlier_cost_it_shows_the_difference(clone: Path, mullion: Run) -> None:
    before = clone / "before.json"
    before.write_text(mullion("cost", "small", "--json").stdout)
    assert mullion("cost", "small", "--against", str(before)).stdout.endswith("now, +0.00; no item differs\n")
    (clone / "stacks" / "Pulumi.small.yaml").write_text(STACK.replace("count: 2", "count: 1"))
    text = mullion("cost", "small", "--against", str(before)).stdout
    assert "USD 809.02 a month before, 507.21 now, -301.80" in text
    assert "web   m6i.xlarge             312.44  156.22" in text
    found = json.loads(mullion("cost", "small", "--json", "--against", str(before)).stdout)
    assert found["against"]["now"] == found["month"]


def test_spot_machines_are_shown_with_their_price_on_demand_as_bound(clone: Path, mullion: Run) -> None:
    (clone / "stacks" / "Pulumi.small.yaml").write_text(STACK.replace("count: 2}", "count: 2, spot: true}"))
    text = mullion("cost", "small").stdout
    assert ", at most USD 809.02 a month of 730 hours, at least USD" in text.splitlines()[0]
    cells = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()]
    assert ["web", "spot m6i.xlarge", "2", "at most 0.214 an hour", "at most 312.44"] in cells
    assert ["web", "at least 22.53, at most 603.61"] in cells
    assert "Spot machines and their licences cost at most their price on demand" in text
    found = json.loads(mullion("cost", "small", "--json").stdout)
    assert found["at_most"] == pytest.approx(809.02, abs=0.01)
    [item] = [each for each in found["items"] if each["item"] == "spot m6i.xlarge"]
    assert (item["price"], item["month"], item["at_most"]) == (None, None, 312.44)
    assert ", at most USD 809.02 a month; no price for spot m6i.xlarge" in mullion("plan", "small").stdout


@pytest.mark.parametrize("content", ["", "[]", '{"format": 2}', '{"format": 1, "month": 1, "unknown": [], "items": 3}'])
def test_against_refuses_another_file(content: str, clone: Path, mullion: Run) -> None:
    (clone / "other.json").write_text(content)
    result = mullion("cost", "small", "--against", str(clone / "other.json"))
    assert result.exit_code == Exit.USAGE
    assert "not written by `mullion cost` with --json" in result.stderr


def test_against_names_a_missing_file(clone: Path, mullion: Run) -> None:
    result = mullion("cost", "small", "--against", str(clone / "none.json"))
    assert (result.exit_code, "No such file" in result.stderr) == (Exit.USAGE, True)


@pytest.mark.parametrize("words", [("small", "--cloud", "aws"), ("update", "--json"), ("update", "--traffic", "1")])
def test_options_of_a_stack_and_of_update_do_not_mix(words: tuple[str, ...], clone: Path, mullion: Run) -> None:
    assert mullion("cost", *words).exit_code == Exit.USAGE


def test_update_goes_on_after_a_cloud_that_fails(clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(cloud: str) -> str:
        if cloud == "aws":
            raise costing.Stop(Exit.FAILED, "AWS answered 503")
        return f"{cloud}: done"

    monkeypatch.setattr(updating, "update", answer)
    result = mullion("cost", "update")
    assert result.exit_code == Exit.FAILED
    assert result.stdout == "azure: done\ngcp: done\n"
    assert "aws: AWS answered 503; its prices stay as they were" in result.stderr
    assert mullion("cost", "update", "--cloud", "gcp").stdout == "gcp: done\n"
    assert mullion("cost", "update", "--cloud", "ibm").exit_code == Exit.USAGE


def test_plan_and_preview_show_the_sum(clone: Path, mullion: Run) -> None:
    line = "USD 809.02 a month (`mullion cost small`)"
    assert f"cost          {line}" in mullion("plan", "small").stdout
    assert f"Costs on aws: {line}" in mullion("preview", "small", "--sandbox").stdout
    assert json.loads(mullion("plan", "small", "--json").stdout)["cost"]["unknown"] == []


@pytest.mark.parametrize("words", [("plan", "small"), ("preview", "small", "--sandbox"), ("up", "small", "--sandbox")])
def test_a_cluster_above_its_budget_is_refused_with_its_largest_items(
    words: tuple[str, ...], clone: Path, mullion: Run
) -> None:
    budget(clone, 800)
    result = mullion(*words)
    assert result.exit_code == Exit.REFUSED
    assert "budget.month: small costs USD 809.02 a month, more than its budget of 800" in result.stderr
    assert "web m6i.xlarge: 312.44; web Windows on m6i.xlarge: 268.64" in result.stderr


def test_a_refused_bootable_cluster_leaves_nothing(clone: Path, mullion: Run) -> None:
    budget(clone, 800)
    result = mullion("up", "small", "--sandbox", "--bootable")
    assert (result.exit_code, "budget.month" in result.stderr) == (Exit.REFUSED, True), result.stderr
    assert not list(clone.rglob("bootable.json"))


def test_a_cluster_within_its_budget_is_planned(clone: Path, mullion: Run) -> None:
    budget(clone, 810)
    result = mullion("plan", "small")
    assert (result.exit_code, "budget        USD 810 a month" in result.stdout) == (0, True)


def test_a_machine_without_a_price_stops_up_until_it_is_acknowledged(clone: Path, mullion: Run) -> None:
    """20 machines of USD 0.8 an hour passed a budget of 400."""
    budget(clone, 750, "m7i.large")
    said = (
        "pools.linux.size: no table has the price of m7i.large in eu-west-1, so budget.month cannot judge 1 machine",
        "run `mullion cost update`",
    )
    for words in (("plan", "small"), ("up", "small", "--sandbox")):
        result = mullion(*words)
        assert all(part in result.stdout + result.stderr for part in said), result.stderr
    assert result.exit_code == Exit.USAGE, "as for each mistake in the stack file"
    file = clone / "stacks" / "Pulumi.small.yaml"
    file.write_text(file.read_text() + "    acknowledge: {budget-without-price: it costs 80 a month}\n")
    assert mullion("preview", "small", "--sandbox").exit_code == 0


def test_a_budget_counts_spot_machines_with_their_price_on_demand(clone: Path, mullion: Run) -> None:
    for month, code in ((800, Exit.REFUSED), (810, 0)):
        budget(clone, month)
        file = clone / "stacks" / "Pulumi.small.yaml"
        file.write_text(file.read_text().replace("count: 2}", "count: 2, spot: true}"))
        result = mullion("plan", "small")
        assert result.exit_code == code, result.stderr
        if code:
            assert "budget.month: small costs up to USD 809.02 a month, more than its budget of 800" in result.stderr
            assert "Spot machines count with their price on demand" in result.stderr
            assert "web spot m6i.xlarge: 312.44" in result.stderr


def test_a_refusal_names_what_has_no_price(clone: Path, mullion: Run) -> None:
    budget(clone, 700, "m7i.large")
    result = mullion("plan", "small")
    assert result.exit_code == Exit.REFUSED
    assert "costs at least USD 730.91 a month" in result.stderr
    assert "Not counted: no price for m7i.large in eu-west-1" in result.stderr
