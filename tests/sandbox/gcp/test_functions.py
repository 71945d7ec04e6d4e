"""The functions of the sandbox's GCP provider."""

import pytest

from sandbox.cloud import Refusal
from sandbox.cloud_state import SERVICES
from sandbox.gcp import network_reads
from sandbox.gcp.functions import FUNCTIONS, READS
from tests.sandbox.account import Account
from tests.sandbox.scenes import Scene

from .conftest import IMAGE, REGION, ZONE

TOKENS = {token.rsplit(":", 1)[-1]: token for token in (*FUNCTIONS, *READS, *network_reads.READS)}


def test_a_machine_accepts_the_newest_image_of_a_family(account: Account) -> None:
    known = {"project": "ubuntu-os-cloud", "family": "ubuntu-2204-lts"}
    found = account.provider.invoke(TOKENS["getImage"], known)
    assert found["selfLink"].endswith(IMAGE)
    with pytest.raises(Refusal, match=r"notFound: .*images/family/ubuntu-9999' was not found"):
        account.provider.invoke(TOKENS["getImage"], known | {"family": "ubuntu-9999"})


def test_zones_and_project_are_those_of_the_provider(account: Account) -> None:
    zones = account.provider.invoke(TOKENS["getZones"], {"region": REGION, "status": "UP"})
    assert zones["names"] == [f"{REGION}-{letter}" for letter in "bcd"]
    assert account.provider.invoke(TOKENS["getClientConfig"], {})["project"] == "mullion-sandbox"
    account.provider.configure({"region": REGION, "project": "ours"})
    assert account.provider.invoke(TOKENS["getClientConfig"], {})["project"] == "ours"


def test_an_existing_machine_and_object_are_read(account: Account, scene: Scene) -> None:
    machine, stored = scene("machine"), scene("object")
    asked = {"name": "machine", "zone": ZONE}
    found = account.provider.invoke(TOKENS["getInstance"], asked)
    assert (found["instanceId"], found["currentStatus"]) == (machine.outputs["instanceId"], "RUNNING")
    content = {"bucket": "bundles", "name": "a"}
    assert account.provider.invoke(TOKENS["getBucketObjectContent"], content)["content"] == "x"
    account.delete(machine)
    account.delete(stored)
    for short, arguments in (("getInstance", asked), ("getBucketObjectContent", content)):
        with pytest.raises(Refusal, match="notFound"):
            account.provider.invoke(TOKENS[short], arguments)


def test_objects_are_listed_by_prefix(account: Account, scene: Scene) -> None:
    scene("object")
    for prefix, names in (("", ["a"]), ("a", ["a"]), ("b", [])):
        asked = {"bucket": "bundles", "prefix": prefix}
        found = account.provider.invoke(TOKENS["getBucketObjects"], asked)["bucketObjects"]
        assert [each["name"] for each in found] == names
    with pytest.raises(Refusal, match="notFound"):
        account.provider.invoke(TOKENS["getBucketObjects"], {"bucket": "another"})


def test_unsupported_arguments_of_a_function_are_refused(account: Account) -> None:
    with pytest.raises(Refusal, match="not filter"):
        account.provider.invoke(TOKENS["getImage"], {"project": "debian-cloud", "filter": "x"})


def test_the_url_of_a_bucket_is_http_in_a_lab_network(account: Account, scene: Scene) -> None:
    assert scene("bucket").outputs["selfLink"].startswith("https://")
    account.delete(scene("bucket"))
    with account.cloud_state.transaction():
        account.cloud_state.set_setting(SERVICES, "http")
    account.provider.configure({"region": REGION})
    made = account.create("Bucket", "b", name="b-1", location="EU")
    assert made.outputs["selfLink"] == "http://www.googleapis.com/storage/v1/b/b-1"


def test_a_private_zone_and_its_records_are_read_without_its_networks(account: Account, scene: Scene) -> None:
    seen = {"networks": [{"networkUrl": scene("net").id}]}
    own = {"dnsName": "googleapis.com.", "visibility": "private", "privateVisibilityConfig": seen}
    account.create("ManagedZone", "apis", name="apis", **own)
    record = {"name": "private.googleapis.com.", "type": "A", "ttl": 300, "rrdatas": ["199.36.153.8"]}
    account.create("RecordSet", "private", managedZone="apis", **record)
    zone = account.provider.invoke(TOKENS["getManagedZone"], {"name": "apis", "project": "mullion-sandbox"})
    assert (zone["dnsName"], zone["visibility"]) == ("googleapis.com.", "private")
    assert "privateVisibilityConfig" not in zone
    assert account.provider.invoke(TOKENS["getRecordSets"], {"managedZone": "apis"})["rrsets"] == [record]
    for short, asked in (("getManagedZone", {"name": "apis"}), ("getRecordSets", {"managedZone": "apis"})):
        with pytest.raises(Refusal, match="named 'apis' does not exist"):
            account.provider.invoke(TOKENS[short], asked | {"project": "another"})
        with pytest.raises(Refusal, match="not type"):
            account.provider.invoke(TOKENS[short], asked | {"type": "A"})


def test_nat_is_read_with_the_subnetworks_that_it_serves(account: Account, scene: Scene) -> None:
    scene("nat")
    [router] = account.provider.invoke(TOKENS["getRouters"], {"region": REGION})["routers"]
    assert [each["sourceSubnetworkIpRangesToNat"] for each in router["nats"]] == ["LIST_OF_SUBNETWORKS"]
