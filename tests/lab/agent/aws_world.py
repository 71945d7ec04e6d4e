"""AWS by moto, as a cluster's cloud controller sees it: a network, instances, rights, and the metadata service."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from moto import settings
from moto.core.authorization import ActionAuthenticatorMixin
from moto.core.base_backend import BackendDict
from moto.elb import models as elb
from moto.server import ThreadedMotoServer

from components.aws import cloud_controller
from components.plan import ClusterPlan

REGION, CLUSTER = "eu-west-1", "dev"
_SERVICES = {
    "EC2": "ec2",
    "Elastic Load Balancing": "elasticloadbalancing",
    "Elastic Load Balancing v2": "elasticloadbalancing",
}
"""Signing name by the service's name in the controller's configuration (ServiceOverride)."""


@dataclass(frozen=True)
class World:
    """The account, with all rights of its owner."""

    url: str
    metadata: str
    plan: ClusterPlan
    keys: Mapping[str, str]
    """Environment with the controller's credentials."""
    owner: Mapping[str, str]
    group: str
    """Id of the workers' security group."""
    instances: tuple[str, ...]
    """Ids of the control plane's instance and of two workers'."""

    def client(self, service: str) -> Any:
        """Return boto3's client of a service."""
        return _client(self.url, service, self.owner)

    def allow(self, *, but: tuple[str, ...] = ()) -> None:
        """Give the controller its planned actions, without some. moto knows no conditions, and no ARNs of resources."""
        rows = cloud_controller.statements(self.plan.name, "aws")
        actions = sorted({action for row in rows for action in row["Action"]} - {*but})
        policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]}
        self.client("iam").put_user_policy(UserName="controller", PolicyName="own", PolicyDocument=json.dumps(policy))

    def rules(self) -> list[dict[str, Any]]:
        """Return the rules for incoming packets of the workers' group."""
        (found,) = self.client("ec2").describe_security_groups(GroupIds=[self.group])["SecurityGroups"]
        return found["IpPermissions"]

    def made(self) -> list[str]:
        """Return names of what has the controller's tag: security groups, load balancers and target groups."""
        filters = [{"Name": f"tag:{cloud_controller.CLUSTER_TAG}{CLUSTER}", "Values": ["owned"]}]
        groups = self.client("ec2").describe_security_groups(Filters=filters)["SecurityGroups"]
        classic = self.client("elb").describe_load_balancers()["LoadBalancerDescriptions"]
        newer = self.client("elbv2").describe_load_balancers()["LoadBalancers"]
        targets = self.client("elbv2").describe_target_groups()["TargetGroups"]
        names = [each["LoadBalancerName"] for each in (*classic, *newer)]
        return [*(each["GroupName"] for each in groups), *names, *(each["TargetGroupName"] for each in targets)]

    def configuration(self) -> str:
        """Return the controller's configuration, which nothing but addresses of services is in."""
        rows = [
            f'[ServiceOverride "{number}"]\nService = {name}\nRegion = {REGION}\nURL = {self.url}\n'
            f"SigningRegion = {REGION}\nSigningName = {signed}\n"
            for number, (name, signed) in enumerate(_SERVICES.items())
        ]
        return "[Global]\n" + "".join(rows)


def _client(url: str, service: str, keys: Mapping[str, str]) -> Any:
    given = {"aws_access_key_id": keys["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": keys["AWS_SECRET_ACCESS_KEY"]}
    return boto3.client(service, region_name=REGION, endpoint_url=url, **given)


def _with_health_check(make: Callable[..., None]) -> Callable[..., None]:
    """Return moto's constructor of classic load balancers, with the health check that AWS gives to each at first (ELB,
    "Health check configuration"); moto gives none.
    """

    def made(self: Any, *given: Any, **named: Any) -> None:
        make(self, *given, **named)
        first = {"timeout": "5", "healthy_threshold": "10", "unhealthy_threshold": "2", "interval": "30"}
        self.health_check = elb.FakeHealthCheck(**first, target="TCP:80")

    return made


@contextmanager
def world(plan: ClusterPlan) -> Iterator[World]:
    """Give the account of a planned cluster, with an instance of the control plane and two workers."""
    make = elb.LoadBalancer.__init__
    elb.LoadBalancer.__init__ = _with_health_check(make)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    try:
        ec2 = _client(url, "ec2", {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
        group, instances = _network(ec2, plan)
        users = [_user(url, name) for name in ("owner", "controller")]
        with _metadata(instances[0]) as metadata:
            made = World(url, metadata, plan, users[1], users[0], group, instances)
            everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
            policy = json.dumps({"Version": "2012-10-17", "Statement": [everything]})
            made.client("iam").put_user_policy(UserName="owner", PolicyName="own", PolicyDocument=policy)
            ActionAuthenticatorMixin.request_count, settings.INITIAL_NO_AUTH_ACTION_COUNT = 0, 0
            yield made
    finally:
        elb.LoadBalancer.__init__ = make
        settings.INITIAL_NO_AUTH_ACTION_COUNT = float("inf")
        BackendDict.reset()
        server.stop()


def _user(url: str, name: str) -> dict[str, str]:
    iam = _client(url, "iam", {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
    iam.create_user(UserName=name)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}


def _network(ec2: Any, plan: ClusterPlan) -> tuple[str, tuple[str, ...]]:
    """Create the planned subnets with their tags, and instances; return the workers' group and the instances."""
    network = ec2.create_vpc(CidrBlock=str(plan.network.cidr))["Vpc"]["VpcId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=network)
    table = ec2.create_route_table(VpcId=network)["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    subnets = dict[str, str]()
    for subnet in plan.network.subnets:
        zone = f"{REGION}{'abc'[subnet.zone]}"
        made = ec2.create_subnet(VpcId=network, CidrBlock=str(subnet.cidr), AvailabilityZone=zone)["Subnet"]
        subnets[subnet.name] = made["SubnetId"]
        ec2.create_tags(Resources=[made["SubnetId"]], Tags=_tags(cloud_controller.subnet_tags(plan, subnet.name)))
    for edge in plan.network.edge:
        ec2.associate_route_table(RouteTableId=table, SubnetId=subnets[edge.name])
    groups = [
        ec2.create_security_group(GroupName=name, Description=name, VpcId=network)["GroupId"]
        for name in ("control-plane", "workers")
    ]
    ec2.create_tags(Resources=[groups[1]], Tags=_tags(cloud_controller.cluster_tag(plan)))
    instances = [
        ec2.run_instances(
            ImageId="ami-12c6146b", MinCount=1, MaxCount=1, InstanceType="m6i.large", SecurityGroupIds=[group],
            SubnetId=subnets[plan.network.machines[0].name],
            TagSpecifications=[
                {"ResourceType": "instance", "Tags": _tags(cloud_controller.cluster_tag(plan))}
            ],
        )["Instances"][0]["InstanceId"]
        for group in (groups[0], groups[1], groups[1])
    ]  # fmt: skip
    return groups[1], tuple(instances)


def _tags(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


@contextmanager
def _metadata(instance: str) -> Iterator[str]:
    """Give the URL of a metadata service that knows the instance and its region."""
    answers = {
        "/latest/meta-data/instance-id": instance,
        "/latest/dynamic/instance-identity/document": json.dumps({"region": REGION, "instanceId": instance}),
        "/latest/meta-data/placement/region": REGION,
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self._say("token")

        def do_GET(self) -> None:
            self._say(answers.get(self.path, ""))

        def _say(self, text: str) -> None:
            self.send_response(200 if text else 404)
            self.send_header("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "600")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def written(folder: Path, name: str, text: str) -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_text(text)
    return path
