"""The agent publishes the trusted authorities in kubeadm's ConfigMap cluster-info."""

import base64
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.agent.cluster import Cluster
from tests.certificates import AUTHORITY, OTHER

FOLDER = "/api/v1/namespaces/kube-public/configmaps"


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
    reconcile(run, cluster)
    assert cluster.asked == [], "it has the same certificate"
    for trusted in (AUTHORITY + OTHER, OTHER + AUTHORITY, OTHER):
        file.write_text(trusted)
        reconcile(run, cluster)
        reconcile(run, cluster)
        assert cluster.asked == [f"PUT {FOLDER}/cluster-info"]
        cluster.asked.clear()
        assert cluster.objects[f"{FOLDER}/cluster-info"]["data"] == {"kubeconfig": kubeconfig(trusted), **signature}
