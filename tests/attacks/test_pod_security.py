"""From a namespace: somebody who may create pods in a namespace without labels wants the node."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from components import releases
from tests.attacks import audit
from tests.awaited import until
from tests.lab.agent.served import Served

pytestmark = pytest.mark.lab

PODS: dict[str, dict[str, Any]] = {
    "privileged": {"containers": [{"securityContext": {"privileged": True}}]},
    "host-network": {"hostNetwork": True},
    "host-processes": {"hostPID": True},
    "host-folder": {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]},
    "host-port": {"containers": [{"ports": [{"containerPort": 80, "hostPort": 80}]}]},
    "capability": {"containers": [{"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}]},
    "windows-host-process": {
        "hostNetwork": True,
        "securityContext": {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}},
    },
}


@pytest.fixture(scope="module")
def namespace(served: Served) -> Iterator[str]:
    if releases.release(served.kubernetes).pod_security_api is None:
        pytest.skip("Kubernetes before 1.23 has no Pod Security Standards")
    served.kubectl("create", "namespace", "team")
    accounts = ("get", "serviceaccount", "default", "--namespace", "team")
    until(lambda: served.kubectl(*accounts, check=False), "the namespace has its service account")
    yield "team"
    served.kubectl("delete", "namespace", "team", "--wait=false")


def create(served: Served, namespace: str, name: str, spec: dict[str, Any]) -> str:
    """Try to create a pod, as a dry run; return what kubectl says."""
    (container,) = spec.get("containers", [{}])
    spec = {**spec, "containers": [{"name": "main", "image": "example.com/image", **container}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}
    file = served.folder / "pod.json"
    file.write_text(json.dumps(pod))
    return served.kubectl_said("create", "--dry-run=server", "--filename", str(file))


@pytest.mark.parametrize("kind", PODS)
def test_a_pod_that_reaches_the_node_is_refused(served: Served, namespace: str, kind: str) -> None:
    """Create a pod that is privileged, has the host's network, processes, folders or ports, or is a HostProcess pod.

    Refused by: the API server, by the Pod Security Standard baseline.
    Seen in: the standard error of `kubectl` and the audit log: `violates PodSecurity`.
    """
    said = create(served, namespace, kind, PODS[kind])
    says = 'violates PodSecurity "baseline:latest"'
    assert says in said, said
    audit.refused(served, 403, f"/api/v1/namespaces/{namespace}/pods", user="admin", says=says)


def test_a_plain_pod_and_a_privileged_pod_of_the_system_are_admitted(served: Served, namespace: str) -> None:
    """Not an attack: without these pods no cluster would run."""
    plain = create(served, namespace, "plain", {})
    system = create(served, "kube-system", "system", PODS["privileged"])
    assert plain == "pod/plain created (server dry run)\n"
    assert system == "pod/system created (server dry run)\n"
