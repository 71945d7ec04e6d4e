"""Updates in place of resources on Google Cloud whose other properties the API chose."""

import pytest

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
