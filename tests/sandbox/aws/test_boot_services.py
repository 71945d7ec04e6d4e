"""The network of booted machines on AWS: load balancers with targets by instance and by address."""

from pathlib import Path
from typing import Any

from sandbox.aws.boot_services import ATTACHMENT, CLOUD_SERVICES
from sandbox.aws.network import BALANCER, INSTANCE
from sandbox.aws.targets import LISTENER, TARGETS
from sandbox.cloud_state import CloudState
from sandbox.records import Record

ACTION = [{"type": "forward", "targetGroupArn": "group"}]
MAPPINGS = [{"subnetId": "subnet-1", "privateIpv4Address": "10.20.0.20"}]
ROWS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    (INSTANCE, "i-1", {}, {"privateIp": "10.20.0.5"}),
    (BALANCER, "balancer", {"name": "tools", "internal": True, "subnetMappings": MAPPINGS}, {"dnsName": "tools.elb"}),
    (TARGETS, "group", {"port": 30080, "healthCheck": {"protocol": "TCP", "port": "30080"}}, {}),
    (LISTENER, "listener", {"loadBalancerArn": "balancer", "port": 80, "defaultActions": ACTION}, {}),
    (ATTACHMENT, "one", {"targetGroupArn": "group", "targetId": "i-1", "port": 30080}, {}),
    (ATTACHMENT, "two", {"targetGroupArn": "group", "targetId": "i-gone", "port": 30080}, {}),
    (ATTACHMENT, "three", {"targetGroupArn": "group", "targetId": "10.20.0.6"}, {}),
]


def test_an_internal_load_balancer_forwards_to_the_addresses_of_its_instances(tmp_path: Path) -> None:
    cloud_state = CloudState(tmp_path / "world.db")
    with cloud_state.transaction():
        for number, (type_, id_, inputs, outputs) in enumerate(ROWS, 1):
            cloud_state.put(Record(number, type_, id_, id_, f"urn::{id_}", "r", inputs, {**inputs, **outputs}, ""))
    [found] = CLOUD_SERVICES.forwarders(cloud_state)
    assert (found.address, found.port) == ("10.20.0.20", 80)
    assert found.targets == [("10.20.0.5", 30080), ("10.20.0.6", 30080)]
    cloud_state.close()
