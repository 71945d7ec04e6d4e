"""Pools that join a cluster that somebody else made."""

from typing import Any

from tests.certificates import AUTHORITY, SERVER
from tests.components.spec.documents import GOOD, REMOVED, Case, Change, Only, both, net, plane
from tests.existing_networks import EXISTING

_HOST = "k8s.example.com"


def joining(*more: Change, **fields: Any) -> Change:
    """Return the change to a Windows pool that joins a cluster with these fields, with other options changed too."""
    cluster = {"endpoint": f"https://{_HOST}:6443", "ca": AUTHORITY, "nodes": ["10.40.0.0/24"], **fields}
    plain = {"existing_cluster": cluster, "control_plane": {}, "pools": {"web": GOOD["pools"]["web"]}}
    whole = both({**plain, **net(existing=EXISTING["aws"])}, *more)
    return {**whole, "control_plane": Only(whole["control_plane"]), "pools": Only(whole["pools"])}


def _addresses(count: int) -> list[str]:
    return [f"10.40.0.{each}/32" for each in range(count)]


CASES = (
    Case("existing-cluster-cloud", joining({"cloud": "gcp"}), "existing_cluster", joining()),
    Case("existing-cluster-network", joining(net(existing=REMOVED)), "network.existing", joining()),
    Case("existing-cluster-mode", joining(net(mode="l2bridge")), "network.mode", joining()),
    Case(
        "existing-cluster-linux",
        joining({"pools": {"batch": {"os": "ubuntu-24.04"}}}),
        "pools.batch.os",
        joining({"pools": {"batch": {"os": "windows-2019"}}}),
    ),
    *(
        Case("existing-cluster-endpoint", joining(endpoint=wrong), "existing_cluster.endpoint", joining())
        for wrong in (
            f"http://{_HOST}:6443",
            f"https://{_HOST}",
            f"https://{_HOST}:6443/",
            f"https://user@{_HOST}:6443",
            f"https://{_HOST}:port",
            f"https://{'a' * 101}:6443",
            "https://:6443",
        )
    ),
    Case("existing-cluster-ca", joining(ca="none"), "existing_cluster.ca", joining()),
    Case("existing-cluster-ca", joining(ca=AUTHORITY * 2), "existing_cluster.ca", joining()),
    Case("existing-cluster-ca", joining(ca=SERVER), "existing_cluster.ca", joining()),
    Case("existing-cluster-no-nodes", joining(nodes=[]), "existing_cluster.nodes", joining()),
    Case(
        "existing-cluster-nodes-overlap",
        joining(nodes=["10.40.0.0/24", EXISTING["aws"]["subnets"][1]["range"]]),
        "existing_cluster.nodes.1",
        joining(),
    ),
    Case("existing-cluster-nodes-overlap", joining(nodes=["10.244.7.0/24"]), "existing_cluster.nodes.0", joining()),
    Case(
        "existing-cluster-rules-many",
        joining(nodes=_addresses(15)),
        "existing_cluster.nodes",
        joining(nodes=_addresses(14)),
    ),
    *(
        Case("existing-cluster-option", joining(change), path, joining())
        for path, change in (
            ("control_plane", plane(count=1)),
            ("control_plane", plane(reboot_window="02:00-05:00")),
            ("api", {"api": {"audit_days": 7}}),
            ("ingress", {"ingress": {"node_ports": {"ports": [30080], "allow": ["10.0.0.0/8"]}}}),
            ("access", {"access": "session"}),
            ("cloud_controller", {"cloud_controller": "external"}),
            ("csi", {"csi": ["ebs"]}),
            ("pod_identity", {"pod_identity": {"service_accounts": []}}),
            ("rotation.certificate_authorities", {"rotation": {"certificate_authorities": 1}}),
            ("network.existing.private_zone", net(existing={"private_zone": "Z0123456789ABCDEFGHIJ"})),
        )
    ),
    Case(
        "existing-cluster-option",
        joining({"kubeadm": {"ignore_preflight": ["Swap"]}}),
        "kubeadm",
        joining({"rotation": {"images": 1}, "registry_credentials": ["ecr"]}),
    ),
)
