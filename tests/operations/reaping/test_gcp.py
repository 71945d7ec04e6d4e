"""Inventory on Google Cloud: a resource without labels belongs to a cluster only if no other program can have made
it."""

from collections.abc import Mapping
from typing import Any

import pytest

from components.naming import POOL_OF
from operations.clouds.api import ApiError
from operations.reaping import sweep
from operations.reaping.gcp import Gcp
from operations.reaping.things import Thing
from tests.operations.reaping.clocks import passing

LABELS = {"mullion_cluster": "ci", "mullion_owner": "qa", "mullion_expires": "2026-01-01t00_00_00z"}
LINK = "https://www.googleapis.com/compute/v1/projects/p/"
OURS, THEIRS = f"{LINK}global/networks/ci", f"{LINK}global/networks/office"


class Answers:
    """Lists by their path's last part, in place of the APIs."""

    def __init__(self, lists: Mapping[str, Any]) -> None:
        self.lists = lists

    def pages(self, host: str, path: str, query: Mapping[str, str]) -> list[Any]:
        kind = path.rpartition("/")[2]
        rows = self.lists.get(kind, [])
        if "/aggregated/" in path:
            return [{"items": {"regions/europe-west1": {kind: rows}, "zones/us-east1-b": {"warning": {}}}}]
        return [
            {
                {"serviceAccounts": "accounts"}.get(
                    kind, kind if host.startswith(("dns", "iam", "sec")) else "items"
                ): rows
            }
        ]

    def call(self, method: str, host: str, path: str, query: Any = None, body: Any = None) -> Any:
        return {"bindings": self.lists.get("bindings", [])}

    def close(self) -> None:
        pass


def found(regions: tuple[str, ...] = (), **lists: Any) -> set[tuple[str, str]]:
    known = {("secret", "ci-pki-bcdfgh"), ("instances", "ci-web-0")}
    return {(each.kind, each.id.rpartition("/")[2]) for each in inventory(regions, **lists)} - known


def inventory(regions: tuple[str, ...] = (), **lists: Any) -> list[Thing]:
    secret = {"name": "projects/1/secrets/ci-pki-bcdfgh", "labels": LABELS, "createTime": "2026-01-01T00:00:00.5Z"}
    machine = {
        "selfLink": f"{LINK}zones/europe-west1-b/instances/ci-web-0",
        "labels": LABELS,
        "networkInterfaces": [{"network": THEIRS}],
        "creationTimestamp": "2026-01-01T00:00:00.000-08:00",
    }
    answers: Any = lists.pop("answers", Answers)({"secrets": [secret], "instances": [machine], **lists})
    return Gcp(answers, "p", regions).inventory()


def row(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "selfLink": f"{LINK}global/{kind}/{name}", **more}


def test_a_network_with_all_in_it_belongs_to_a_cluster_by_name_and_description() -> None:
    networks = [row("networks", "ci", description="Nodes of ci: 10.0.0.0/16"), row("networks", "office")]
    rules = [row("firewalls", "k8s-fw-a1b2", network=OURS), row("firewalls", "ci-desk", network=THEIRS)]
    routes = [row("routes", "ci-internet", network=OURS), row("routes", "r-1", network=OURS, nextHopNetwork=OURS)]
    subnets = [row("subnetworks", "ci-machines-0", network=OURS), row("subnetworks", "desks", network=THEIRS)]
    assert found(networks=networks, firewalls=rules, routes=routes, subnetworks=subnets) == {
        ("networks", "ci"),
        ("firewalls", "k8s-fw-a1b2"),
        ("routes", "ci-internet"),
        ("subnetworks", "ci-machines-0"),
    }


def test_a_network_of_that_name_which_mullion_did_not_make_stays() -> None:
    networks = [row("networks", "ci", description="ours since 2019")]
    assert found(networks=networks, firewalls=[row("firewalls", "ci-desk", network=OURS)]) == set()


def test_in_a_network_of_the_users_only_rules_for_the_clusters_machines_go() -> None:
    rules = [
        row("firewalls", "ci-workers-kubelet", network=THEIRS, targetTags=["ci-workers"]),
        row("firewalls", "ci-b-workers-kubelet", network=THEIRS, targetTags=["ci-b-workers"]),
        row("firewalls", "ci-all", network=THEIRS),
        row("firewalls", "ci-two", network=THEIRS, targetTags=["ci-workers", "desks"]),
    ]
    routes = [row("routes", "ci-pods-web-0", network=THEIRS), row("routes", "ci-desks", network=THEIRS)]
    assert found(firewalls=rules, routes=routes) == {("firewalls", "ci-workers-kubelet"), ("routes", "ci-pods-web-0")}


def test_in_a_network_of_the_users_instance_groups_go_by_their_name() -> None:
    names = ["ci-api-0", "ci-ingress-web-1", "ci-desks-0", "ci-api", "ci-b-api-0"]
    groups = [row("instanceGroups", name, network=THEIRS) for name in names]
    assert found(instanceGroups=groups) == {("instanceGroups", "ci-api-0"), ("instanceGroups", "ci-ingress-web-1")}
    assert found(instanceGroups=[row("instanceGroups", "ci-api-0", network=f"{LINK}global/networks/else")]) == set()


def test_parts_of_the_balancers_of_ingress_are_known_by_their_description() -> None:
    of_ingress, of_another = "Load balancer of ci-ingress", "Load balancer of ci-b-ingress"
    services = [
        row("backendServices", "ci-ingress-front", description=of_ingress),
        row("backendServices", "ci-b-ingress-front", description=of_another),
    ]
    checks = [row("healthChecks", "ci-ingress-front", description=of_ingress)]
    assert found(backendServices=services, healthChecks=checks) == {
        ("backendServices", "ci-ingress-front"),
        ("healthChecks", "ci-ingress-front"),
    }


def test_parts_of_balancers_and_identities_are_known_by_description_and_letters() -> None:
    checks = [
        row("healthChecks", "ci-api", description="Load balancer of ci"),
        row("healthChecks", "ci-website", description="our website"),
    ]
    accounts = [
        {"email": "ci-web-bcdfgh@p.iam.gserviceaccount.com", "displayName": "Kubernetes machines: ci-web"},
        {"email": "ci-web-zzzzzz@p.iam.gserviceaccount.com", "displayName": "Kubernetes machines: ci-web"},
        {"email": "robot-bcdfgh@p.iam.gserviceaccount.com", "displayName": "Robot"},
    ]
    roles = [
        {"name": "projects/p/roles/ci_machines_bcdfgh", "title": "Machines of ci"},
        {"name": "projects/p/roles/ci_records_bcdfgh", "title": "Records of ci", "deleted": True},
        {"name": "projects/p/roles/ci_other", "title": "Machines of ci"},
    ]
    member = f"serviceAccount:{accounts[0]['email']}"
    bindings = [{"role": "projects/p/roles/ci_machines_bcdfgh", "members": [member, "user:me@example.com"]}]
    names = found(healthChecks=checks, serviceAccounts=accounts, roles=roles, bindings=bindings)
    assert names == {
        ("healthChecks", "ci-api"),
        ("service-account", "ci-web-bcdfgh@p.iam.gserviceaccount.com"),
        ("role", "ci_machines_bcdfgh"),
        ("grant", f"ci_machines_bcdfgh {member}"),
    }


@pytest.mark.parametrize(("regions", "seen"), [(("europe-west1",), True), (("us-east1",), False), ((), True)])
def test_only_regions_that_are_asked_for_are_looked_at(regions: tuple[str, ...], seen: bool) -> None:
    address = {"selfLink": f"{LINK}regions/europe-west1/addresses/ci-api", "labels": LABELS}
    assert (("addresses", "ci-api") in found(regions, addresses=[address])) == seen


@pytest.mark.parametrize("regions", [("us-east1",), ("us-east1", "asia-east1")])
def test_of_a_cluster_in_another_region_nothing_is_listed(regions: tuple[str, ...]) -> None:
    """Its secrets, rules and network have no region: without them its machines would stay behind as wrecks."""
    networks = [row("networks", "ci", description="Nodes of ci: 10.0.0.0/16")]
    rules = [row("firewalls", "ci-workers-kubelet", network=OURS, targetTags=["ci-workers"])]
    assert inventory(regions, networks=networks, firewalls=rules) == []
    assert {each.kind for each in inventory((*regions, "europe-west1"), networks=networks, firewalls=rules)} == {
        *("secret", "instances", "networks", "firewalls")
    }


SHARED = "https://www.googleapis.com/compute/v1/projects/host/global/networks/shared"
MACHINE = {
    "selfLink": f"{LINK}zones/europe-west1-b/instances/ci-web-0",
    "labels": LABELS,
    "networkInterfaces": [{"network": SHARED}],
}


class Host(Answers):
    """The APIs with a host project, which has its own rules and routes."""

    def pages(self, host: str, path: str, query: Mapping[str, str]) -> list[Any]:
        if not path.startswith("/compute/v1/projects/host/"):
            return super().pages(host, path, query)
        assert path.startswith("/compute/v1/projects/host/global/"), path
        kind = path.rpartition("/")[2]
        names = {"firewalls": ("ci-workers-kubelet", "office"), "routes": ("ci-pods-web-0", "office")}[kind]
        tags = {"ci-workers-kubelet": {"targetTags": ["ci-workers"]}}
        link = path.replace("/compute/", "https://www.googleapis.com/compute/")
        return [
            {
                "items": [
                    {"name": name, "selfLink": f"{link}/{name}", "network": SHARED, **tags.get(name, {})}
                    for name in names
                ]
            }
        ]


def test_rules_and_routes_in_the_host_project_of_a_shared_vpc_go() -> None:
    things = inventory(instances=[MACHINE], answers=Host)
    assert {each.id for each in things if each.kind in ("firewalls", "routes")} == {
        "projects/host/global/firewalls/ci-workers-kubelet",
        "projects/host/global/routes/ci-pods-web-0",
    }


def test_a_host_project_that_may_not_be_read_stops_the_removal_before_the_machines() -> None:
    class Closed(Host):
        def pages(self, host: str, path: str, query: Mapping[str, str]) -> list[Any]:
            if path.startswith("/compute/v1/projects/host/"):
                raise ApiError(403, "forbidden", "Required 'compute.firewalls.list' permission")
            return super().pages(host, path, query)

    class Project(Gcp):
        def delete(self, thing: Thing) -> None:
            raise AssertionError(thing)

    lists: dict[str, Any] = {"instances": [MACHINE]}
    requests: Any = Closed(lists)
    outcome = sweep.removed(Project(requests, "p", ()), "ci", lambda _: "", clock=passing())
    assert {each.why for each in outcome.left if each.thing.kind == "firewalls"} == {
        "firewalls of project host cannot be listed: forbidden: Required 'compute.firewalls.list' permission"
    }
    assert "it waits for the other resources" in {each.why for each in outcome.left if each.thing.kind == "instances"}


def test_a_resource_that_no_longer_exists_counts_as_deleted() -> None:
    class Gone(Answers):
        def call(self, method: str, host: str, path: str, query: Any = None, body: Any = None) -> Any:
            raise ApiError(404, "notFound", "gone")

    requests: Any = Gone({})
    Gcp(requests, "p", ()).delete(Thing("networks", "projects/p/global/networks/ci", "global", "ci", 0))


def test_a_clusters_workload_identity_pool_is_found_by_its_description_unless_it_is_deleted_already() -> None:
    place, mine = "projects/1/locations/global/workloadIdentityPools/", f"{POOL_OF}ci"
    pools = [
        {"name": f"{place}pods-ci-dfghjk", "description": mine, "state": "ACTIVE"},
        {"name": f"{place}pods-ci-zzzzzz", "description": mine, "state": "DELETED"},
        {"name": f"{place}pods-ci-2-ghjklm", "description": f"{mine}-2", "state": "ACTIVE"},
        {"name": f"{place}theirs", "description": mine, "state": "ACTIVE"},
        {"name": f"{place}pods-other", "state": "ACTIVE"},
    ]
    assert found(workloadIdentityPools=pools) == {("workload-identity-pool", "pods-ci-dfghjk")}


def test_grants_under_a_condition_are_listed_by_their_roles_own_names() -> None:
    """Version 1 of a policy adds a number to the role of a binding with a condition, so nothing would remove it."""
    asked: list[Any] = []

    class Asked(Answers):
        def call(self, method: str, host: str, path: str, query: Any = None, body: Any = None) -> Any:
            asked.append(body)
            return {"bindings": []}

    inventory(answers=Asked)
    assert {"options": {"requestedPolicyVersion": 3}} in asked
