"""From someone who may create Services in a cluster with an external cloud controller: tags of balancers on AWS."""

from collections.abc import Iterator

import httpx
import pytest

from operations.reaping.aws import Aws
from operations.reaping.things import clusters
from tests.operations.reaping.test_aws_by_moto import (
    Client,
    account,
    client,
    made_by_kubernetes,
    network,
    owned,
    server,
    tags,
)

__all__ = ["account", "client", "server"]


@pytest.fixture(autouse=True)
def _emptied(server: str) -> Iterator[None]:
    """Empty moto's account after the test: all its servers in a process have the same."""
    yield
    httpx.post(f"{server}/moto-api/reset").raise_for_status()


def test_tags_of_another_cluster_on_a_balancer_reap_nothing(client: Client, account: Aws) -> None:
    """Give a Service the tags of an expired cluster by its annotation aws-load-balancer-additional-resource-tags, with
    the name of a cluster of EKS in your network, whose balancers and volumes the reaper then deletes.

    Refused by: the reaper, to which a balancer with a controller's tag is the controller's, whatever else it says.
    Seen in: the report of `mullion reap`, which lists the balancer under its own cluster.
    """
    places = network(client, "mine")
    made_by_kubernetes(client, "office", places)
    forged = [*owned("mine"), *tags("office")]
    zones = [places["subnet"], places["other"]]
    client("elbv2").create_load_balancer(Name="forged", Subnets=zones, Type="network", Tags=forged)
    client("elbv2").create_target_group(Name="forged", Protocol="TCP", Port=80, VpcId=places["vpc"], Tags=forged)
    listener = {"Protocol": "TCP", "LoadBalancerPort": 80, "InstanceProtocol": "TCP", "InstancePort": 80}
    client("elb").create_load_balancer(LoadBalancerName="forged", Listeners=[listener], Subnets=zones[:1], Tags=forged)
    found = account.inventory()
    assert "office" not in {each.cluster for each in clusters(found)}
    kinds = {each.kind for each in found if "forged" in each.id}
    assert kinds == {"load-balancer", "target-group", "classic-load-balancer"}
    assert {each.cluster for each in found if "forged" in each.id} == {"mine"}, "and they go with their own cluster"


def test_balancers_with_our_tags_alone_do_not_say_where_a_cluster_is(client: Client, account: Aws) -> None:
    """Tag a balancer as another cluster's without the controller's tag, so that its network counts as that cluster's.

    Refused by: the reaper, which takes a cluster's network only from what a controller cannot tag so.
    Seen in: the report of `mullion reap`, which lists the balancer alone under that name.
    """
    places = network(client, "yours")
    made_by_kubernetes(client, "agency", places)
    zones = [places["subnet"], places["other"]]
    client("elbv2").create_load_balancer(Name="planted", Subnets=zones, Type="network", Tags=tags("agency"))
    assert [each.kind for each in account.inventory() if each.cluster == "agency"] == ["load-balancer"]
