"""The functions of the sandbox's GCP provider."""

import pytest

from sandbox.cloud import Refusal
from sandbox.cloud_state import SERVICES
from sandbox.gcp.functions import FUNCTIONS, READS
from tests.sandbox.account import Account
from tests.sandbox.scenes import Scene

from .conftest import IMAGE, REGION, ZONE

TOKENS = {token.rsplit(":", 1)[-1]: token for token in (*FUNCTIONS, *READS)}


def test_the_newest_image_of_a_family_is_one_that_a_machine_takes(account: Account) -> None:
    known = {"project": "ubuntu-os-cloud", "family": "ubuntu-2204-lts"}
    found = account.provider.invoke(TOKENS["getImage"], known)
    assert found["selfLink"].endswith(IMAGE)
    with pytest.raises(Refusal, match=r"notFound: .*images/family/ubuntu-9999' was not found"):
        account.provider.invoke(TOKENS["getImage"], known | {"family": "ubuntu-9999"})


def test_zones_and_the_project_are_the_providers(account: Account) -> None:
    zones = account.provider.invoke(TOKENS["getZones"], {"region": REGION, "status": "UP"})
    assert zones["names"] == [f"{REGION}-{letter}" for letter in "bcd"]
    assert account.provider.invoke(TOKENS["getClientConfig"], {})["project"] == "mullion-sandbox"
    account.provider.configure({"region": REGION, "project": "ours"})
    assert account.provider.invoke(TOKENS["getClientConfig"], {})["project"] == "ours"


def test_a_machine_and_an_object_are_read_while_they_are_there(account: Account, scene: Scene) -> None:
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


def test_objects_are_listed_by_how_their_names_begin(account: Account, scene: Scene) -> None:
    scene("object")
    for prefix, names in (("", ["a"]), ("a", ["a"]), ("b", [])):
        asked = {"bucket": "bundles", "prefix": prefix}
        found = account.provider.invoke(TOKENS["getBucketObjects"], asked)["bucketObjects"]
        assert [each["name"] for each in found] == names
    with pytest.raises(Refusal, match="notFound"):
        account.provider.invoke(TOKENS["getBucketObjects"], {"bucket": "another"})


def test_what_a_function_would_overlook_is_refused(account: Account) -> None:
    with pytest.raises(Refusal, match="not filter"):
        account.provider.invoke(TOKENS["getImage"], {"project": "debian-cloud", "filter": "x"})


def test_in_a_world_of_plain_http_a_bucket_says_so(account: Account, scene: Scene) -> None:
    assert scene("bucket").outputs["selfLink"].startswith("https://")
    account.delete(scene("bucket"))
    with account.cloud_state.transaction():
        account.cloud_state.set_setting(SERVICES, "http")
    account.provider.configure({"region": REGION})
    made = account.create("Bucket", "b", name="b-1", location="EU")
    assert made.outputs["selfLink"] == "http://www.googleapis.com/storage/v1/b/b-1"
