"""From someone who may create instances and networks in the cluster's GCP project, with no right on its machines."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from sandbox.services.gcp import machine
from tests.agent.conftest import module, run
from tests.cloud_init.accounts import GCP_INSTANCE, GCP_NETWORK, GCP_PROJECT, GCP_ZONE, put
from tests.cloud_init.cloud import FakeCloud

__all__ = ["module", "run"]

pytestmark = pytest.mark.parametrize("cloud", ["gcp"], indirect=True)

NAME, ADDRESS = "linux-0", "10.20.1.5"
WORKER, ATTACKER = "5000000000000000005", "6000000000000000006"
"""Instance ids."""
ELSEWHERE = GCP_NETWORK.replace("/shop", "/theirs")


def launch(cloud: FakeCloud, zone: str, instance: str, network: str) -> None:
    """Create an instance with the worker's name and address."""
    faces = [{"networkIp": ADDRESS, "network": network}]
    given: dict[str, Any] = {"name": f"shop-{NAME}", "zone": zone, "project": GCP_PROJECT}
    state = cloud.services.cloud_state
    with state.transaction():
        put(state, machine.INSTANCE, f"{zone}/{NAME}", given, instanceId=instance, networkInterfaces=faces)


def present(module: Callable[[str], ModuleType], run: Any) -> str:
    """Return the id of the instance that the agent takes for the worker."""
    members = {NAME: {"name": NAME, "address": ADDRESS}}
    return module("machines").Machines(run, None, members).present(NAME)


@pytest.mark.parametrize("zone", ["europe-west1-a", "europe-west1-c"], ids=["listed before", "listed after"])
def test_a_namesake_in_another_network_is_no_replacement(
    cloud: FakeCloud, module: Callable[[str], ModuleType], run: Any, zone: str
) -> None:
    """Create an instance with a worker's name in another zone, and with its address in a network of your own, so that
    the agent deletes the worker's Node and revokes its certificates.

    Refused by: the agent, which counts only instances in its own network.
    Seen in: the cloud's audit log, which has who created the instance; the agent reports nothing.
    """
    launch(cloud, zone, ATTACKER, ELSEWHERE)
    assert not present(module, run)
    launch(cloud, GCP_ZONE, WORKER, GCP_NETWORK)
    assert present(module, run) == WORKER


def test_two_instances_of_one_address_replace_nobody(
    cloud: FakeCloud, module: Callable[[str], ModuleType], run: Any
) -> None:
    """Have the list show two instances with a worker's name and address in the cluster's network.

    Refused by: Google, whose networks have an address once; and the agent, which then changes nothing and reports both.
    Seen in: the agent's log and the status record: store-failed, `two instances`, with their ids.
    """
    launch(cloud, GCP_ZONE, WORKER, GCP_NETWORK)
    launch(cloud, "europe-west1-c", ATTACKER, GCP_NETWORK)
    failure = importlib.import_module("failure").Failure
    with pytest.raises(failure, match=f"two instances: {WORKER}, {ATTACKER}") as raised:
        present(module, run)
    assert raised.value.name == "store-failed"


def test_without_its_own_network_in_the_list_the_agent_compares_nothing(
    cloud: FakeCloud, module: Callable[[str], ModuleType], run: Any
) -> None:
    """Not an attack: a list without the agent's own network does not say which instances are the cluster's."""
    state = cloud.services.cloud_state
    launch(cloud, "europe-west1-c", ATTACKER, ELSEWHERE)
    own = state.find(machine.INSTANCE, cloud.account.machine)
    assert own and own.outputs["instanceId"] == GCP_INSTANCE
    own.outputs["networkInterfaces"][0].pop("network")
    with state.transaction():
        state.put(own)
    failure = importlib.import_module("failure").Failure
    with pytest.raises(failure, match=f"lacks {GCP_INSTANCE}, this machine, or its network"):
        present(module, run)
