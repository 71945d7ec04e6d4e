"""A real API server and a Windows machine in one network namespace: flanneld and kube-proxy run on it as in plans."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.machine import pki
from components.node import addons
from components.node.role import role
from components.stack_files.stack import CLUSTER, read_stack
from lab.hns.service import Build, Object, policies
from lab.hns.walk import Fabric, Outcome, Packet
from tests.awaited import until
from tests.lab.hns.machine import API, NODE, Machine, machine, output
from tests.lab.joining.control_plane import ControlPlane
from tests.lab.rendered import Rendered

OTHER = "10.20.0.5"
"""Address of a Linux node."""

NAME = "pool-0"

SERVICES = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
RANGE, OTHER_RANGE = "10.244.1.0/24", "10.244.2.0/24"
"""Pod ranges of the two nodes with overlay."""

OVERLAY = "flannel.4096"
"""Name of flanneld's network."""

CLIENT, WEB, REMOTE = "10.244.1.3", "10.244.1.4", "10.244.2.7"
"""Pods with overlay: two on the Windows machine, one on the Linux node."""

SERVICE, OWN_SERVICE = "10.96.0.50", "10.96.0.51"
"""A Service with a pod on each node, and one whose only pod is the client itself."""

PEER = {
    "flannel.alpha.coreos.com/backend-data": '{"VNI":4096,"VtepMAC":"c6:71:81:86:b2:77"}',
    "flannel.alpha.coreos.com/backend-type": "vxlan",
    "flannel.alpha.coreos.com/kube-subnet-manager": "true",
    "flannel.alpha.coreos.com/public-ip": OTHER,
}
"""Annotations that flanneld of a Linux node sets (flannel-io/flannel#1238 has such a peer)."""


@dataclass
class Cluster:
    """The control plane, the machine, and the machine's services that run."""

    plane: ControlPlane
    machine: Machine
    plan: Rendered
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    def node(self, name: str, address: str, pods: str, annotations: Mapping[str, str]) -> None:
        """Create a Node object as kubelet and kube-controller-manager do."""
        # flanneld panics on a Node without annotations; the kubelet sets this one
        own = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
        metadata = {"name": name, "annotations": {**own, **annotations}}
        self.plane.call("POST", "/api/v1/nodes", {"metadata": metadata, "spec": {"podCIDR": pods, "podCIDRs": [pods]}})
        addresses = [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]
        self.plane.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"addresses": addresses}})

    def service(self, program: str, path: Path) -> None:
        """Start a service's command as the plan has it, without wrapper and service manager."""
        words = [each for each in self.plan.command(program, program) if each != "--windows-service"]
        self.start(program, path, words)

    def start(self, program: str, path: Path, words: Sequence[str], before: Sequence[str] = ()) -> None:
        """Start a program of the machine in the background. `before`: another program's command that starts it."""
        installed = self.machine.windows.install(path, rf"C:\k\{program}.exe")
        lines = ["@echo off", f"set NODE_NAME={NAME}"]
        lines.append(subprocess.list2cmdline([*before, installed, *words]))
        script = self.machine.windows.path(rf"C:\k\{program}.cmd")
        script.write_text("\r\n".join(lines) + "\r\n", encoding="ascii")
        with self.log_file(program).open("wb") as log:
            inside = ["nsenter", f"--net=/run/netns/{self.plane.space}", self.machine.windows.tool, "run"]
            command = [*inside, str(self.machine.windows.folder), "cmd.exe", "/c", rf"C:\k\{program}.cmd"]
            self._running.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def flanneld(self, path: Path) -> None:
        """Start flanneld as the plan does; wait until its network routes the Linux node's range."""
        conf = self.machine.windows.path(r"C:\flannel\net-conf.json")
        conf.write_text(json.dumps(self.plan.content("net-conf")))
        self.machine.windows.path(r"C:\run\flannel\x")
        self.service("flanneld", path)

        def routed() -> bool:
            known = self.machine.service.all("Network")
            return bool(known and policies(known[0], "RemoteSubnetRoute"))

        self.until(routed, "flanneld routes the Linux node's range")

    def flannel(self) -> dict[str, str]:
        """Return the values of the file that flanneld writes."""
        text = self.machine.windows.path(r"C:\run\flannel\subnet.env").read_text()
        return dict(line.split("=") for line in text.split())

    def serve(self, name: str, address: str, addresses: Mapping[str, str]) -> None:
        """Create a Service for TCP port 80 at port 8080 of pods; `addresses`: pod -> node."""
        port = {"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}
        spec = {"clusterIP": address, "ports": [port], "type": "NodePort"}
        self.plane.call("POST", SERVICES, {"metadata": {"name": name}, "spec": spec})
        slice_of = {
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4",
            "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
            "endpoints": [
                {"addresses": [pod], "nodeName": node, "conditions": {"ready": True, "serving": True}}
                for pod, node in addresses.items()
            ],
        }
        self.plane.call("POST", SLICES, slice_of)

    def join_overlay(self, plugins: Mapping[str, Path], flanneld: Path) -> None:
        """Create the Nodes of the Windows machine and of a Linux node, install the plug-ins and start flanneld."""
        self.node(NAME, NODE, RANGE, {})
        self.node("linux-0", OTHER, OTHER_RANGE, PEER)
        self.machine.install(plugins)
        self.flanneld(flanneld)

    def serve_pods(self, conf: Mapping[str, Any], client: str, web: str, remote: str) -> Mapping[str, Object]:
        """Add the pods `client` and `web` and both Services; return their endpoints by address.

        SERVICE has the pod `web` and one of the Linux node at `remote`, OWN_SERVICE only the pod `client`.
        """
        made = [self.machine.pod(conf, name) for name in ("client", "web")]
        self.serve("web", SERVICE, {web: NAME, remote: "linux-0"})
        self.serve("client", OWN_SERVICE, {client: NAME})
        return {endpoint["IpConfigurations"][0]["IpAddress"]: endpoint for endpoint in made}

    def proxy_services(self, plan: Rendered, path: Path) -> bool:
        """Run kube-proxy for both Services and the API's; return whether the plan has direct server return."""
        self.proxy(plan, path, (SERVICE, OWN_SERVICE, "10.96.0.1"))
        return plan.file_of_kind("KubeProxyConfiguration")["winkernel"]["enableDSR"]

    def proxy(self, plan: Rendered, path: Path, vips: Sequence[str]) -> None:
        """Stop all programs and start kube-proxy with a plan's configuration (start_proxy)."""
        self.stop()
        for balancer in self.machine.service.all("LoadBalancer"):
            self.machine.call("DeleteLoadBalancer", balancer["ID"])
        self.start_proxy(plan, path, vips)

    def start_proxy(self, plan: Rendered, path: Path, vips: Sequence[str]) -> None:
        """Start kube-proxy beside the programs that run; wait until it has load balancers for the addresses."""
        config = self.machine.windows.path(r"C:\k\kube-proxy.json")
        config.write_text(json.dumps(plan.file_of_kind("KubeProxyConfiguration")))
        self.service("kube-proxy", path)

        def balanced() -> bool:
            made = self.machine.service.all("LoadBalancer")
            return set(vips) <= {vip for each in made for vip in each.get("FrontendVIPs") or ()}

        self.until(balanced, "kube-proxy makes the load balancers")

    def stop(self) -> None:
        """End the machine's programs; its disk stays."""
        subprocess.run([self.machine.windows.tool, "stop", self.machine.windows.folder], check=False, timeout=60)
        for each in self._running:
            each.wait(60)
        self._running.clear()

    def log_file(self, program: str) -> Path:
        """Return the file with a program's output."""
        return self.plane.folder / f"windows-{program}.log"

    def log(self) -> str:
        """Return the end of the programs' output, and what HNS refused."""
        texts = [each.read_text(errors="replace")[-3000:] for each in self.plane.folder.glob("windows-*.log")]
        return "\n".join((*texts, "refusals:", *self.machine.service.refusals))

    def until(self, what: Any, doing: str, seconds: float = 120) -> Any:
        """Wait for a true result while the machine's programs run."""

        def result() -> Any:
            assert all(each.poll() is None for each in self._running), self.log()
            return what()

        return until(result, doing, seconds, log=self.log)


def walk(fabric: Fabric, pods: Mapping[str, Object], client: str, destination: str, port: int = 80) -> set[Outcome]:
    """Return the outcomes of a packet from the pod with the address `client` on the only Windows machine."""
    (node,) = fabric.windows
    return set(fabric.from_pod(node, pods[client], Packet(client, destination, port)))


def delivered(place: str, source: str, destination: str, port: int = 80) -> Outcome:
    """Return the outcome of a packet that arrives."""
    return Outcome("delivered", place, Packet(source, destination, port))


@contextmanager
def cluster(
    programs: Mapping[str, Path], tool: str, folder: Path, build: Build, plan: Rendered, kubernetes: str
) -> Iterator[Cluster]:
    """Start the control plane in the namespace of a new machine, which gets the kubeconfig of its node."""
    with ExitStack() as stack:
        made = stack.enter_context(machine(tool, folder, build))
        authority = pki.certificate_authority("kubernetes")
        secrets = {"ca.crt": authority["certificate"], "ca.key": authority["key"]}
        plane = ControlPlane(programs, kubernetes, folder / "plane", made.space, API, "api.lab", secrets)
        plane.folder.mkdir()
        stack.callback(plane.stop)
        plane.start()
        conf = made.windows.path(r"C:\k\node.conf")
        user = ["--client-name", f"system:node:{NAME}", "--org", "system:nodes"]
        config = ["--config", str(plane.folder / "kubeadm.yaml")]
        conf.write_text(output([str(programs["kubeadm"]), "kubeconfig", "user", *user, *config]))
        spec = {"cloud": "aws", "kubernetes": kubernetes, "pools": {"pool": {"os": "windows-2022"}}}
        worker = role("lab", read_stack("lab", {"aws:region": "eu-west-1", CLUSTER: spec}).spec, "pool")
        plane.apply(addons.windows_nodes(worker))
        running = Cluster(plane, made, plan)
        stack.callback(running.stop)
        yield running
