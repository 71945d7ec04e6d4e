"""Routes and private zones of a user's network on Google Cloud: what gcloud or the sandbox prints is judged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.plan import ClusterPlan, plan_cluster
from components.stack_files.stack import read_stack
from operations.clouds import google_ways
from operations.clouds.google_ways import ROUTES
from operations.commands import account_check
from operations.console.exits import Stop
from operations.stacks import target
from sandbox.cloud import Refusal
from sandbox.cloud_state import CloudState
from sandbox.gcp import command_line
from sandbox.gcp.dns import ZONE
from sandbox.gcp.names import ROUTE
from tests import existing_networks
from tests.components.recorded_wiring import plan
from tests.existing_networks import EXISTING, closed_in_existing
from tests.operations.clouds.test_account_state import PROJECT, answer

NAME = "gcp-existing"
LINK = f"https://www.googleapis.com/compute/v1/{EXISTING['gcp']['network']}"
GATEWAY = "https://www.googleapis.com/compute/v1/projects/host-project/global/gateways/default-internet-gateway"
OTHER = LINK.replace("/shared", "/other")
Row = dict[str, Any]


def route(to: str, **fields: Any) -> Row:
    return {"destRange": to, "network": LINK, "nextHopGateway": GATEWAY, **fields}


APIS, WINDOWS = route("199.36.153.8/30"), route("35.190.247.13/32")
SEEN = {"privateVisibilityConfig": {"networks": [{"networkUrl": LINK}]}}


def planned() -> ClusterPlan:
    return plan_cluster(NAME, read_stack(NAME, {"gcp:project": "our-project", **closed_in_existing("gcp")}).spec)


def faults(monkeypatch: pytest.MonkeyPatch, routes: list[Row], zone: Row = SEEN) -> list[str]:
    answer(monkeypatch, {"routes list": routes, "managed-zones describe": zone})
    return [fault for _, fault in google_ways.rows(planned(), google_ways.by_command_line(PROJECT)) if fault]


@pytest.mark.parametrize(
    "routes",
    [[APIS, WINDOWS], [route("0.0.0.0/0")], [route("199.36.153.4/30"), WINDOWS], [route("::/0"), APIS, WINDOWS]],
    ids=["private", "default route", "restricted", "IPv6 too"],
)
def test_a_network_with_routes_and_a_zone_that_it_sees_has_no_fault(
    monkeypatch: pytest.MonkeyPatch, routes: list[Row]
) -> None:
    assert faults(monkeypatch, routes) == []


@pytest.mark.parametrize(
    "apis",
    [
        None,
        route("199.36.153.8/30", network=OTHER),
        route("199.36.153.8/30", tags=["web"]),
        route("199.36.153.8/30", nextHopGateway=None, nextHopIp="10.30.0.9"),
        route("199.36.153.8/31"),
    ],
    ids=["none", "another network's", "of some machines", "another hop", "smaller"],
)
def test_a_network_without_a_route_to_the_apis_gets_the_command_that_makes_it(
    monkeypatch: pytest.MonkeyPatch, apis: Row | None
) -> None:
    [fault] = faults(monkeypatch, [WINDOWS, *([apis] if apis else [])])
    assert fault == (
        "let the network's owner run: gcloud compute routes create shared-google-0 --project host-project --network"
        " shared --destination-range 199.36.153.8/30 --next-hop-gateway default-internet-gateway"
    )


def test_windows_needs_a_route_to_the_server_that_activates_it(monkeypatch: pytest.MonkeyPatch) -> None:
    [fault] = faults(monkeypatch, [APIS])
    assert "shared-google-1" in fault and "--destination-range 35.190.247.13/32" in fault


@pytest.mark.parametrize("networks", [[], [OTHER]], ids=["none", "another network"])
def test_a_zone_that_the_network_does_not_see_gets_the_command_that_adds_it(
    monkeypatch: pytest.MonkeyPatch, networks: list[str]
) -> None:
    seen = {"privateVisibilityConfig": {"networks": [{"networkUrl": each} for each in networks]}}
    [fault] = faults(monkeypatch, [APIS, WINDOWS], seen)
    command = "gcloud dns managed-zones update googleapis --project dns-project --networks"
    assert fault == f"let the zone's owner run: {command} {','.join([*networks, LINK])}"


def test_each_project_is_asked_for_its_own_part_and_what_is_not_printed_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = answer(monkeypatch, {})
    assert google_ways.rows(planned(), google_ways.by_command_line(PROJECT)) == []
    assert ["--project host-project" in asked[0], "googleapis --project dns-project" in asked[1]] == [True, True]


def test_networks_of_mullion_and_those_with_a_way_out_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch, {})
    open_one = plan_cluster(NAME, existing_networks.stack("gcp")[1])
    for each in (plan("gcp-prod"), plan("aws-prod"), open_one):
        assert google_ways.rows(each, google_ways.by_command_line(PROJECT)) == []
    assert asked == []


def _removed(kind: str) -> Callable[[CloudState], None]:
    def remove(cloud_state: CloudState) -> None:
        for each in cloud_state.resources(kind):
            cloud_state.remove(each.sequence)

    return remove


def _unseen(cloud_state: CloudState) -> None:
    for each in cloud_state.resources(ZONE):
        each.inputs["privateVisibilityConfig"] = {"networks": []}
        cloud_state.put(each)


DRIFTS: dict[str, tuple[Callable[[CloudState], None], str]] = {
    "nothing": (lambda _: None, ""),
    "routes": (_removed(ROUTE), "gcloud compute routes create shared-google-0"),
    "a zone's network": (_unseen, "gcloud dns managed-zones update googleapis"),
}


@pytest.mark.parametrize("case", DRIFTS)
def test_up_in_the_sandbox_refuses_a_network_without_them_before_anything_is_made(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drift, command = DRIFTS[case]
    cloud_state = existing_networks.create(tmp_path / "world.db", NAME, closed_in_existing("gcp"))
    with cloud_state.transaction():
        drift(cloud_state)
    cloud_state.close()
    monkeypatch.setattr(target, "cloud_state_file", lambda _: tmp_path / "world.db")

    def refuse() -> None:
        account_check.refuse_short(NAME, planned(), "europe-west1", sandbox=True, built=False)

    if not command:
        refuse()
        return
    with pytest.raises(Stop, match="nothing was changed") as refused:
        refuse()
    assert command in str(refused.value)


def test_the_sandbox_answers_no_other_command_and_knows_no_other_zone(tmp_path: Path) -> None:
    cloud_state = existing_networks.create(tmp_path / "world.db", NAME, closed_in_existing("gcp"))
    assert command_line.answer(cloud_state, (*google_ways.ZONE, "other"), "dns-project") is None
    assert command_line.answer(cloud_state, ROUTES, "our-project") == []
    with pytest.raises(Refusal, match="does not know gcloud compute networks list"):
        command_line.answer(cloud_state, ("gcloud", "compute", "networks", "list"), "host-project")
    assert google_ways.in_sandbox(tmp_path / "none.db")(ROUTES, "host-project") is None
