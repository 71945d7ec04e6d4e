"""Updates in place of resources on Google Cloud whose other properties the API chose."""

import pytest

from sandbox import tamper
from sandbox.gcp.names import INSTANCE, MEMBERSHIP
from tests.sandbox.account import Account
from tests.sandbox.scenes import Scene

ADDRESS = {"name": "outside", "addressType": "EXTERNAL"}
SERVICE = {
    "name": "outside",
    "protocol": "TCP",
    "loadBalancingScheme": "EXTERNAL",
    "backends": [{"balancingMode": "CONNECTION"}],
}


@pytest.fixture
def outside(account: Account, scene: Scene) -> dict[str, object]:
    """Inputs of an external forwarding rule: its service and its address exist."""
    backends = [{"group": scene("group").id, "balancingMode": "CONNECTION"}]
    service = account.create(
        "RegionBackendService", "outside", **{**SERVICE, "backends": backends, "healthChecks": scene("check").id}
    )
    address = account.create("Address", "outside", **ADDRESS)
    return {
        "name": "outside",
        "loadBalancingScheme": "EXTERNAL",
        "ipAddress": address.outputs["address"],
        "ports": ["6443"],
        "backendService": service.id,
    }


def test_an_external_address_keeps_its_address_when_labels_change(account: Account) -> None:
    made = account.create("Address", "outside", **ADDRESS)
    changed = account.update(made, labels={"mullion_expires": "8h"})
    assert changed.outputs["address"] == made.outputs["address"]


def test_an_external_forwarding_rule_takes_other_labels(account: Account, outside: dict[str, object]) -> None:
    made = account.create("ForwardingRule", "outside", **outside)
    changed = account.update(made, labels={"mullion_expires": "8h"})
    assert changed.outputs["ipAddress"] == made.outputs["ipAddress"]


def test_a_new_text_changes_an_object_in_place_and_a_new_file_replaces_it(account: Account, scene: Scene) -> None:
    scene("bucket")
    text = account.create("BucketObject", "text", bucket="bundles", name="current.json", content="one")
    difference = account.provider.diff(text.urn, text.inputs, text.inputs | {"content": "two"})
    assert difference.changes and not difference.replaces
    changed = account.update(text, content="two")
    assert changed.id == text.id and changed.outputs["generation"] != text.outputs["generation"]
    stored = account.cloud_state.object("bundles", "current.json")
    assert stored and stored.content == b"two"
    old, new = ({"bucket": "bundles", "name": "b", "source": each} for each in ("one", "two"))
    assert account.provider.diff(text.urn, old, new).replaces


def test_a_membership_that_ended_with_its_machine_is_gone_until_the_machine_is_back(
    account: Account, scene: Scene
) -> None:
    member, machine = scene("member"), scene("machine")
    record = account.cloud_state.find(INSTANCE, machine.id)
    assert record
    tamper.remove(account.cloud_state, record)
    assert not account.cloud_state.resources(MEMBERSHIP), "Google ends a membership with its instance"
    account.delete(member)  # 404: the provider takes that for deleted
    back = {key: value for key, value in machine.inputs.items() if key != "__defaults"}
    account.create("Instance", "machine", **back)
    refused = account.refused(lambda: account.delete(member))
    assert refused.code == "invalid" and "is not a member of instance group" in refused.message


@pytest.mark.parametrize("kind", ["machine", "group"])
def test_the_deletion_of_a_missing_machine_or_group_is_refused(kind: str, account: Account, scene: Scene) -> None:
    """The provider returns every error of these deletions, also 404; a missing address counts as deleted."""
    thing = scene(kind)
    record = account.cloud_state.find(thing.urn.split("::")[-2], thing.id)
    assert record
    tamper.remove(account.cloud_state, record)
    refused = account.refused(lambda: account.delete(thing))
    assert refused.code == "notFound" and f"Error 404: The resource '{thing.id}' was not found" in refused.message
    address = account.create("Address", "outside", **ADDRESS)
    account.delete(address)
    account.delete(address)
