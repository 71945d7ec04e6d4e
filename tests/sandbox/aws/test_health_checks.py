"""Health checks of target groups: changes between their protocols, with the wiring's inputs."""

from typing import Any

from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import record
from tests.components.recorded_wiring import config, of
from tests.sandbox.account import Account

GROUP = "aws:lb/targetGroup:TargetGroup"


def _check(**health: Any) -> dict[str, Any]:
    """Return the inputs of a target group that the wiring registers for a load balancer with this health check."""
    front = {"pools": ["linux"], "ports": [{"port": 80, "node_port": 30080}], "allow": ["0.0.0.0/0"], "health": health}
    given = config("aws-dev")
    spec = given[CLUSTER] | {"ingress": {"load_balancers": {"front": front}}}
    [group] = of(record("aws-dev", given | {CLUSTER: spec}), GROUP).values()
    return group.inputs["healthCheck"]


def test_a_health_check_changes_from_http_to_tcp_and_back(account: Account) -> None:
    """The provider keeps path and matcher of the HTTP check unless the program writes them empty."""
    http, tcp = _check(path="/healthz"), _check()
    vpc = account.create("Vpc", "vpc", cidrBlock="10.20.0.0/16")
    group = account.create("TargetGroup", "group", port=30080, protocol="TCP", vpcId=vpc.id, healthCheck=http)
    for check in (tcp, tcp, http, tcp):
        assert account.provider.diff(group.urn, group.inputs, group.inputs | {"healthCheck": check}).replaces == ()
        group = account.update(group, healthCheck=check)
        assert group.outputs["healthCheck"]["protocol"] == check["protocol"]


def test_a_tcp_check_of_an_earlier_release_is_not_replaced(account: Account) -> None:
    tcp = _check()
    earlier = {name: value for name, value in tcp.items() if name not in ("path", "matcher")}
    vpc = account.create("Vpc", "vpc", cidrBlock="10.20.0.0/16")
    group = account.create("TargetGroup", "group", port=30080, protocol="TCP", vpcId=vpc.id, healthCheck=earlier)
    assert account.provider.diff(group.urn, group.inputs, group.inputs | {"healthCheck": tcp}).replaces == ()
    assert account.update(group, healthCheck=tcp).id == group.id


def test_a_path_that_is_not_written_stays(account: Account) -> None:
    vpc = account.create("Vpc", "vpc", cidrBlock="10.20.0.0/16")
    http = {"protocol": "HTTP", "path": "/healthz"}
    group = account.create("TargetGroup", "group", port=30080, protocol="TCP", vpcId=vpc.id, healthCheck=http)
    refusal = account.refused(lambda: account.update(group, healthCheck={"protocol": "TCP"}))
    assert refusal.message.startswith('Attribute "health_check[0].path" cannot be specified')


def test_the_apis_check_changes_in_place_and_finds_a_lost_control_plane_in_20_seconds(account: Account) -> None:
    [api] = [each.inputs for each in of(record("aws-prod", config("aws-prod")), GROUP).values()]
    check = api["healthCheck"]
    assert check["timeout"] < check["interval"]
    assert check["interval"] * check["unhealthyThreshold"] <= 20
    earlier = {name: check[name] for name in ("protocol", "path", "port", "matcher")}
    vpc = account.create("Vpc", "vpc", cidrBlock="10.20.0.0/16")
    group = account.create("TargetGroup", "group", port=6443, protocol="TCP", vpcId=vpc.id, healthCheck=earlier)
    assert account.provider.diff(group.urn, group.inputs, group.inputs | {"healthCheck": check}).replaces == ()
    assert account.update(group, healthCheck=check).id == group.id
