"""The agent publishes the trusted authorities in kubeadm's ConfigMap cluster-info."""

import base64
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from components.machine.pki import certificate_authority
from tests.agent.cluster import Cluster
from tests.agent.test_rounds import publish, start
from tests.certificates import AUTHORITY, OTHER
from tests.cloud_init.cloud import FakeCloud

__all__ = ["start"]

FOLDER = "/api/v1/namespaces/kube-public/configmaps"
CLIENTS, FRONT = "extension-apiserver-authentication", "front-proxy-ca-1"


def kubeconfig(pem: str) -> str:
    data = base64.b64encode(pem.encode()).decode()
    return f"clusters:\n- cluster:\n    certificate-authority-data: {data}\n    server: https://a:6443\nkind: Config\n"


def test_cluster_info_gets_the_authorities_of_the_ca_file_and_keeps_the_rest(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    file = run.path("/etc/kubernetes/pki/ca.crt")
    file.parent.mkdir(parents=True)
    file.write_text(AUTHORITY)
    reconcile = module("trust").reconcile
    reconcile(run, cluster)
    assert cluster.asked == [], "kubeadm has not created it yet"
    signature = {"jws-kubeconfig-abcdef": "x"}
    cluster.add(FOLDER, "cluster-info", data={"kubeconfig": kubeconfig(AUTHORITY.replace("\n", "\r\n")), **signature})
    published, moment = f"{FOLDER}/cluster-info", 0
    reconcile(run, cluster)
    reconcile(run, cluster)
    assert cluster.asked == [f"PUT {published}"], "kubeadm wrote the same certificate without a moment"
    cluster.asked.clear()
    for trusted in (AUTHORITY + OTHER, OTHER):
        file.write_text(trusted)
        reconcile(run, cluster)
        reconcile(run, cluster)
        assert cluster.asked == [f"PUT {published}"]
        cluster.asked.clear()
        assert cluster.objects[published]["data"] == {"kubeconfig": kubeconfig(trusted), **signature}
        moment, before = int(cluster.objects[published]["metadata"]["annotations"]["mullion.dev/authorities"]), moment
        assert moment > before, "machines follow only what is newer"
    file.write_text(AUTHORITY + OTHER)
    reconcile(run, cluster)
    file.write_text(OTHER + AUTHORITY)
    reconcile(run, cluster)
    assert cluster.asked == [f"PUT {published}"], "another order is no change"


def test_former_authorities_leave_the_clients_of_extension_api_servers_and_others_stay(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster
) -> None:
    old, new, front = (certificate_authority(name)["certificate"] for name in ("kubernetes", "kubernetes-1", FRONT))
    for file, text in (("ca.crt", new), ("front-proxy-ca.crt", front)):
        run.path(f"/etc/kubernetes/pki/{file}").parent.mkdir(parents=True, exist_ok=True)
        run.path(f"/etc/kubernetes/pki/{file}").write_text(text)
    cluster.add(FOLDER, "cluster-info", data={"kubeconfig": kubeconfig(new)})
    names, own = (
        {"requestheader-allowed-names": '["front-proxy-client"]'},
        certificate_authority("our-own")["certificate"],
    )
    former = certificate_authority("front-proxy-ca")["certificate"]
    held = {"client-ca-file": old + own + new, "requestheader-client-ca-file": former + front, **names}
    cluster.add("/api/v1/namespaces/kube-system/configmaps", CLIENTS, data=held)
    reconcile = module("trust").reconcile
    reconcile(run, cluster)
    reconcile(run, cluster)
    assert cluster.asked.count(f"PUT /api/v1/namespaces/kube-system/configmaps/{CLIENTS}") == 1
    left = cluster.objects[f"/api/v1/namespaces/kube-system/configmaps/{CLIENTS}"]["data"]
    assert left == {"client-ca-file": own + new, "requestheader-client-ca-file": front, **names}


@pytest.mark.parametrize(("bundle", "publishes"), [("current", True), ("another", False)])
def test_an_agent_whose_machine_has_not_the_pointers_bundle_publishes_no_authorities(
    start: Callable[[], Any],
    module: Callable[[str], ModuleType],
    cluster: Cluster,
    cloud: FakeCloud,
    monkeypatch: pytest.MonkeyPatch,
    bundle: str,
    publishes: bool,
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(module("trust"), "reconcile", lambda run, api: asked.append(api))
    cluster.node("control-plane-0")
    publish(cloud, 6, bundle=bundle)
    start().round()
    assert bool(asked) == publishes
