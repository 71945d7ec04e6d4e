"""A booted machine on the sandbox's GCP writes its status record unless its network or rights prevent it."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from components.machine import user_data
from sandbox.gcp import private_ways
from sandbox.records import Boot
from tests.sandbox.account import Account, Thing
from tests.sandbox.scenes import Scene, filled

from .conftest import SCENES

STORE = "https://storage.googleapis.com/bundles"
CONTENT = "a bundle"
SHA256 = hashlib.sha256(CONTENT.encode()).hexdigest()
EMAIL = "node-account@mullion-sandbox.iam.gserviceaccount.com"
Make = Callable[..., Thing]


@pytest.fixture
def site(account: Account, scene: Scene) -> Make:
    """Create a machine with everything it needs; `machine` and `without` change that."""

    def member(name: str, role: str, prefix: str) -> None:
        expression = f'resource.name.startsWith("projects/_/buckets/bundles/objects/{prefix}")'
        given: dict[str, Any] = {"bucket": "bundles", "member": f"serviceAccount:{EMAIL}", "role": role}
        account.create("BucketIAMMember", name, **given, condition={"title": name, "expression": expression})

    def make(without: str = "", pods: str = "", **machine: Any) -> Thing:
        scene("bucket")
        scene("node")
        if without != "nat":
            scene("nat")
        gateway = {"nextHopGateway": "default-internet-gateway", "destRange": "0.0.0.0/0"}
        if without != "route":
            account.create("Route", "out", name="out", network=scene("net").id, **gateway)
        if without != "bundle":
            account.create("BucketObject", "b", bucket="bundles", name="bundles/x.zip", content=CONTENT)
        for name, role, prefix in (("read", "objectViewer", "bundles/"), ("write", "objectUser", "status/web%3A")):
            if without != name:
                member(name, f"roles/storage.{role}", prefix.replace("%3A", ":"))
        found = {"name": "web-0", **({"pod_cidr": pods} if pods else {})}
        facts = {"bundle_store": STORE, "status_url": f"{STORE}/status/web%3A"}
        document = user_data.document(f"{STORE}/bundles/x.zip", SHA256, found, facts)
        key = "user-data"
        plain = {
            "metadata": {key: user_data.user_data("linux", document, "gcp")},
            "serviceAccount": {"email": EMAIL, "scopes": ["cloud-platform"]},
        }
        return account.create("Instance", "machine", **filled(SCENES["machine"][1] | plain | machine, scene))

    return make


PRIVATE = "private.googleapis.com."


@pytest.fixture
def private(account: Account, scene: Scene, site: Make, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Create a machine without a default route, with Private Google Access; `without` leaves out a part of it.

    lacks: what the machine's own way out lacks, instead of the route.
    """
    kind, plain = SCENES["net"]
    monkeypatch.setitem(SCENES, "net", (kind, plain | {"deleteDefaultRoutesOnCreate": True}))

    def make(without: str = "", dest: str = "199.36.153.8/30", to: str = "199.36.153.8", lacks: str = "route") -> Thing:
        network = scene("net").id
        if without != "access":
            account.update(scene("sub"), privateIpGoogleAccess=True)
        if without != "path":
            gateway = {"nextHopGateway": "default-internet-gateway", "destRange": dest}
            account.create("Route", "apis", name="apis", network=network, **gateway)
        served = {"visibility": "private", "privateVisibilityConfig": {"networks": [{"networkUrl": network}]}}
        zone = account.create("ManagedZone", "apis", name="apis", dnsName="googleapis.com.", **served)
        record = {"managedZone": zone.inputs["name"], "ttl": 300}
        account.create("RecordSet", "private", **record, name=PRIVATE, type="A", rrdatas=[to])
        if without != "wildcard":
            account.create("RecordSet", "every", **record, name="*.googleapis.com.", type="CNAME", rrdatas=[PRIVATE])
        return site(without=lacks)

    return make


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"without": "path", "lacks": "nat"},
        {"dest": "199.36.153.4/30", "to": "199.36.153.4"},
    ],
    ids=["private", "default route without NAT", "restricted"],
)
def test_private_google_access_replaces_the_default_route(
    account: Account, private: Make, parts: dict[str, str]
) -> None:
    private(**parts)
    assert boot(account).state == "ready", boot(account).reason
    assert private_ways.is_reached(account.cloud_state, "compute.googleapis.com")


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"without": "access"}, "has no Private Google Access"),
        ({"without": "path"}, "has no route to 199.36.153.8"),
        ({"dest": "35.190.247.13/32"}, "has no route to 199.36.153.8"),
        ({"without": "wildcard"}, "gives storage.googleapis.com the addresses of private.googleapis.com"),
        ({"to": "142.250.1.1"}, "gives storage.googleapis.com the addresses of private.googleapis.com"),
    ],
    ids=["setting", "route", "another route", "names", "public addresses"],
)
def test_private_google_access_needs_the_setting_the_names_and_the_route(
    account: Account, private: Make, parts: dict[str, str], reason: str
) -> None:
    private(**parts)
    assert (boot(account).state, reason in boot(account).reason) == ("waiting", True), boot(account)
    assert not private_ways.is_reached(account.cloud_state, "storage.googleapis.com")


def boot(account: Account) -> Boot:
    [found] = account.cloud_state.boots()
    return found


def test_a_booted_machine_is_ready_and_its_record_has_the_instance_id(account: Account, site: Make) -> None:
    machine = site()
    assert boot(account).state == "ready", boot(account).reason
    stored = account.cloud_state.object("bundles", f"status/web:{machine.outputs['instanceId']}.json")
    assert stored is not None
    told = json.loads(stored.content)
    assert (told["machine"], told["instance"], told["bundle"]) == ("web-0", machine.outputs["instanceId"], SHA256)


def test_the_windows_startup_script_contains_the_machine_document(account: Account, site: Make) -> None:
    facts = {"bundle_store": STORE, "status_url": f"{STORE}/status/web%3A"}
    document = user_data.document(f"{STORE}/bundles/x.zip", SHA256, {"name": "web-0"}, facts)
    site(metadata={"windows-startup-script-ps1": user_data.user_data("windows", document, "gcp")})
    assert boot(account).state == "ready", boot(account).reason


LACKING: dict[str, tuple[dict[str, Any], str]] = {
    "no NAT gateway": ({"without": "nat"}, "has no Cloud NAT"),
    "no right to read": ({"without": "read"}, "does not have storage.objects.get access"),
    "no right to write": ({"without": "write"}, "does not have storage.objects.create access"),
    "no bundle": ({"without": "bundle"}, "no object bundles/x.zip in bucket bundles"),
    "no identity": ({"serviceAccount": None}, "no service account"),
    "narrow scopes": ({"serviceAccount": {"email": EMAIL, "scopes": ["compute-ro"]}}, "compute-ro"),
    "pods that it may not forward": ({"pods": "10.244.1.0/24"}, "without canIpForward"),
}


@pytest.mark.parametrize("case", LACKING)
def test_each_obstacle_to_a_boot_is_named(account: Account, site: Make, case: str) -> None:
    changes, words = LACKING[case]
    site(**changes)
    assert (boot(account).state, words in boot(account).reason) == ("waiting", True), boot(account).reason


def test_a_deny_rule_for_https_stops_the_boot_unless_an_earlier_rule_allows_it(
    account: Account, scene: Scene, site: Make
) -> None:
    deny = {"network": scene("net").id, "direction": "EGRESS", "destinationRanges": ["0.0.0.0/0"]}
    account.create("Firewall", "deny", name="deny", denies=[{"protocol": "all"}], priority=2000, **deny)
    site()
    assert "firewall rule deny denies tcp 443" in boot(account).reason
    https = [{"protocol": "tcp", "ports": ["443"]}]
    account.create("Firewall", "allow", name="allow", allows=https, targetServiceAccounts=[EMAIL], **deny)
    assert boot(account).state == "ready", boot(account).reason
