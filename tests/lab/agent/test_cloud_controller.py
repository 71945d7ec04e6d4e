"""AWS's real cloud controller with the add-on's arguments and rights, on a real API server and AWS by moto."""

import json
import os
import ssl
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

from components.node import addons
from components.node.role import role
from components.plan import plan_cluster
from lab import build
from lab.programs import AWS_CONTROLLER
from tests.awaited import until
from tests.lab.agent import simulated
from tests.lab.agent.aws_world import CLUSTER, World, world, written
from tests.lab.agent.free_ports import held_ports
from tests.lab.agent.served import Served
from tools.golden.samples import spec

pytestmark = [pytest.mark.lab, pytest.mark.soak]

UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
CLUSTER_SPEC: dict[str, Any] = {"cloud_controller": "external", "pools": {"web": {"os": "windows-2022", "count": 2}}}
NLB = {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}


@pytest.fixture
def account() -> Iterator[World]:
    with world(plan_cluster(CLUSTER, spec(**CLUSTER_SPEC))) as made:
        made.allow()
        yield made


@pytest.fixture
def controller(
    served: Served, kubelets: None, account: World, tmp_path: Path, missing: Callable[[str, str], NoReturn]
) -> Iterator[Path]:
    """Apply the add-on, run the controller as its service account, and return its log."""
    if not build.is_built(AWS_CONTROLLER):
        missing("lab", "aws-cloud-controller-manager is not built; run: python -m lab controllers 1.37.1")
    manifests = addons.cloud_controller(role(CLUSTER, account.plan.spec, None))
    file = written(tmp_path, "addon.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
    served.kubectl("apply", "--validate=strict", "--filename", str(file))
    token = served.kubectl("create", "token", "cloud-controller-manager", "--namespace", "kube-system").strip()
    kubeconfig = yaml.safe_load(Path(served.administrator).read_text())
    kubeconfig["users"][0]["user"] = {"token": token}
    kubeconfig["clusters"][0]["cluster"]["server"] = served.url
    place = written(tmp_path, "kubeconfig", yaml.safe_dump(kubeconfig))
    (daemons,) = (each for each in manifests if each["kind"] == "DaemonSet")
    (container,) = daemons["spec"]["template"]["spec"]["containers"]
    own = [f"--{name}={place}" for name in ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")]
    (held,) = held_ports(1)
    port = held.getsockname()[1]
    own += [f"--cloud-config={written(tmp_path, 'cloud.conf', account.configuration())}", f"--secure-port={port}"]
    held.close()
    environment = {"HOME": str(tmp_path), "AWS_EC2_METADATA_SERVICE_ENDPOINT": account.metadata, **account.keys}
    log = tmp_path / "controller.log"
    with log.open("wb") as said:
        argv = [build.place(AWS_CONTROLLER), *container["args"], *own]
        process = subprocess.Popen(argv, env={**environment, "PATH": os.environ["PATH"]}, stdout=said, stderr=said)
    try:
        # as the add-on's probe asks: the certificate is made in memory, because the container can write no file
        until(lambda: healthy(port), "the controller says that it is healthy", log=log.read_text, seconds=40)
        yield log
        assert process.poll() is None, log.read_text()[-3000:]
    finally:
        process.kill()
        process.wait()
        served.kubectl("delete", "--ignore-not-found", "--wait=false", "--filename", str(file))


def healthy(port: int) -> bool:
    """Return whether the controller's health port answers a caller without a certificate."""
    unverified = ssl._create_unverified_context()
    try:
        with urllib.request.urlopen(f"https://127.0.0.1:{port}/healthz", context=unverified, timeout=5) as answer:
            return answer.read() == b"ok"
    except OSError:
        return False


@pytest.fixture
def nodes(served: Served, account: World, tmp_path: Path) -> Iterator[list[str]]:
    """Register two workers as kubelets with --cloud-provider=external do; return their names."""
    names = ["web-0", "web-1"]
    taint = {"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}
    for name, instance in zip(names, account.instances[1:], strict=True):
        reply = account.client("ec2").describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]
        address = reply["PrivateIpAddress"]
        metadata = {
            "name": name,
            "labels": simulated.MARK,
            "annotations": {"alpha.kubernetes.io/provided-node-ip": address},
        }
        of_spec = {"providerID": f"aws:///eu-west-1a/{instance}", "taints": [taint]}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": of_spec}
        served.kubectl("create", "--filename", str(written(tmp_path, f"{name}.json", json.dumps(node))))
    yield names
    served.kubectl("delete", "nodes", "--ignore-not-found", *names)


def service(served: Served, folder: Path, name: str, **annotations: str) -> None:
    """Create a Service of type LoadBalancer in namespace default."""
    ports = [{"name": "web", "port": 80, "protocol": "TCP"}]
    document = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"type": "LoadBalancer", "selector": {"app": name}, "ports": ports},
    }
    served.kubectl("create", "--filename", str(written(folder, f"{name}.json", json.dumps(document))))


def read(served: Served, kind: str, name: str) -> dict[str, Any]:
    return json.loads(served.kubectl("get", kind, name, "--output", "json"))


def hostname(served: Served, name: str) -> str:
    given = read(served, "service", name)["status"].get("loadBalancer", {}).get("ingress") or [{}]
    return str(given[0].get("hostname") or "")


def test_svc_01_services_get_balancers_whose_targets_follow_nodes_and_leave_nothing(
    served: Served, account: World, controller: Path, nodes: list[str], tmp_path: Path
) -> None:
    def said() -> str:
        return controller.read_text()[-3000:]

    def initialised() -> bool:
        taints = [read(served, "node", name)["spec"].get("taints") or [] for name in nodes]
        return not any(each["key"] == UNINITIALIZED for listed in taints for each in listed)

    until(initialised, "the controller initialises the Nodes by their provider ids", log=said, seconds=40)
    web = read(served, "node", "web-0")
    assert web["metadata"]["labels"]["topology.kubernetes.io/zone"] == "eu-west-1a"
    kinds = {each["type"] for each in web["status"]["addresses"]}
    assert kinds >= {"InternalIP", "InternalDNS", "Hostname"}

    elb, elbv2, workers = account.client("elb"), account.client("elbv2"), set(account.instances[1:])

    def targets() -> set[str]:
        (found,) = elb.describe_load_balancers()["LoadBalancerDescriptions"]
        return {each["InstanceId"] for each in found["Instances"]}

    service(served, tmp_path, "classic")
    until(lambda: hostname(served, "classic"), "the Service has a load balancer", log=said, seconds=40)
    assert targets() == workers
    (balancer,) = elb.describe_load_balancers()["LoadBalancerDescriptions"]
    (rule,) = account.rules()
    assert [each["GroupId"] for each in rule["UserIdGroupPairs"]] == balancer["SecurityGroups"]

    service(served, tmp_path, "network", **NLB)
    until(lambda: hostname(served, "network"), "the Service has a network load balancer", log=said, seconds=40)
    (group,) = elbv2.describe_target_groups()["TargetGroups"]
    health = elbv2.describe_target_health(TargetGroupArn=group["TargetGroupArn"])["TargetHealthDescriptions"]
    assert {each["Target"]["Id"] for each in health} == workers
    assert {each["FromPort"] for each in account.rules() if each.get("FromPort", 0) >= 30000} == {group["Port"]}

    served.kubectl("delete", "node", "web-1")
    until(lambda: targets() == {account.instances[1]}, "a deleted Node is no target", log=said, seconds=40)

    served.kubectl("delete", "services", "classic", "network", "--wait=false")
    until(lambda: not account.made(), "deleted Services leave nothing", log=said, seconds=40)
    assert account.rules() == [] or all(not each["UserIdGroupPairs"] for each in account.rules())


def test_svc_01_a_missing_right_is_an_event_of_the_service(
    served: Served, account: World, controller: Path, nodes: list[str], tmp_path: Path
) -> None:
    account.allow(but=("elasticloadbalancing:CreateLoadBalancer",))
    service(served, tmp_path, "refused")

    def events() -> str:
        chosen = "--field-selector=involvedObject.name=refused"
        return served.kubectl("get", "events", chosen, "--output", "jsonpath={.items[*].message}")

    def said() -> str:
        return controller.read_text()[-3000:]

    until(lambda: "CreateLoadBalancer" in events(), "an event names the action", log=said, seconds=40)
    assert hostname(served, "refused") == ""
    account.allow()
    # a Service that is deleted before it has its balancer would leave the balancer's security group behind
    until(lambda: hostname(served, "refused"), "the controller tries again", log=said, seconds=90)
    served.kubectl("delete", "service", "refused", "--wait=false")
    until(lambda: not account.made(), "the Service leaves nothing", log=said, seconds=40)


def test_a_node_whose_instance_is_gone_is_deleted_and_no_other(
    served: Served, account: World, controller: Path, nodes: list[str], tmp_path: Path
) -> None:
    """Names of machines are not the private DNS names of instances: the controller goes by provider ids."""
    account.client("ec2").terminate_instances(InstanceIds=[account.instances[2]])
    served.kubectl("label", "nodes", *nodes, "simulated-")
    for name in nodes:
        patch = json.dumps({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})
        served.kubectl("patch", "node", name, "--subresource=status", "--type=strategic", "--patch", patch)

    def left() -> list[str]:
        return served.kubectl("get", "nodes", *nodes, "--ignore-not-found", "--output", "name").split()

    until(lambda: left() == ["node/web-0"], "only the terminated one goes", log=controller.read_text, seconds=60)
