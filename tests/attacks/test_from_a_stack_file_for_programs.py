"""From a malicious stack file that starts programs on machines, or sends what they ask to the attacker.

Seen in: the standard error of `up` and `mullion preview`: the option's path, the reason, the check's id and the fix.
"""

from typing import Any

import pytest

from tests.attacks.stack_files import refusal
from tests.certificates import AUTHORITY
from tests.components.checks.cases.existing_network import existing
from tests.components.spec.documents import kubelet, plane, web

RUNTIME = "io.containerd.cri.v1.runtime"
"""Table of containerd's CRI service in config.toml."""
SHELL = {"accepts": ["application/vnd.oci.image.layer.v1.tar+gzip"], "path": "/bin/sh", "args": ["-c", "id"]}


@pytest.mark.parametrize("name", ["listen-client-http-urls=http://0.0.0.0:31999?a", "listen-client-urls=http://h?a"])
def test_a_name_of_a_flag_contains_no_value(name: str) -> None:
    """Open etcd without TLS, by a flag whose name contains an equals sign and the value, which no table lists.

    Refused by: check extra-argument-name.
    """
    etcd = {"local": {"extraArgs": [{"name": name, "value": "b"}]}}
    config = {"ClusterConfiguration": {"etcd": etcd}}
    assert "extra-argument-name" in refusal({"kubernetes": "1.31.14", "kubeadm": {"config": config}})


@pytest.mark.parametrize("machines", [plane, web])
@pytest.mark.parametrize(
    "config",
    [
        {"stream_processors": {"x": SHELL}},
        {"proxy_plugins": {"x": {"type": "content", "address": "/run/evil.sock"}}},
        {"plugins": {RUNTIME: {"containerd": {"runtimes": {"runc": {"options": {"BinaryName": "/tmp/evil"}}}}}}},
    ],
    ids=["layers", "content", "runtime"],
)
def test_containerd_starts_no_program_of_a_stack_file(machines: Any, config: dict[str, Any]) -> None:
    """Let containerd run your program as root: at each layer of an image, or in the place of runc.

    Refused by: check containerd-config-open.
    """
    assert "containerd would start a program of the stack file as root" in refusal(
        machines(containerd={"config": config})
    )


@pytest.mark.parametrize(
    "config",
    [
        {"grpc": {"tcp_address": "0.0.0.0:31998"}},
        {"plugins": {"io.containerd.server.v1.grpc-tcp": {"address": "0.0.0.0:31998"}}},
        {"plugins": {"io.containerd.grpc.v1.cri": {"disable_tcp_service": False}}},
    ],
    ids=["version-3", "version-4", "cri"],
)
def test_containerd_has_no_port(config: dict[str, Any]) -> None:
    """Open containerd's API, which runs programs as root, on a port that other machines reach.

    Refused by: check containerd-config-open.
    """
    assert "whoever can connect there could run programs as root" in refusal(web(containerd={"config": config}))


def test_unknown_settings_of_containerd_need_a_reason() -> None:
    """Use a setting of containerd that no check knows, such as a file with what every container may do.

    Refused by: check containerd-config-unjudged, which stops `up` until it is acknowledged.
    """
    runc = {"privileged_without_host_devices": True, "base_runtime_spec": "/etc/evil.json"}
    config = {"plugins": {RUNTIME: {"containerd": {"runtimes": {"runc": runc}}}}}
    assert "containerd-config-unjudged" in refusal(web(containerd={"config": config}))


@pytest.mark.parametrize("config", [{"clusterDNS": ["203.0.113.9"]}, {"tracing": {"endpoint": "203.0.113.9:4317"}}])
def test_servers_that_kubelets_tell_pods_about_need_a_reason(config: dict[str, Any]) -> None:
    """Answer what all pods of a pool ask of DNS, or get the traces of its kubelets.

    Refused by: check kubelet-config-elsewhere, which stops `up` until it is acknowledged.
    """
    assert "kubelet-config-elsewhere" in refusal(kubelet(config=config))


def test_an_authority_in_a_network_of_another_owner_needs_a_reason() -> None:
    """Let machines in your own network trust your authority, to answer for registries and the cloud.

    Refused by: check existing-network-with-authorities, which stops `up` until it is acknowledged.
    """
    assert "existing-network-with-authorities" in refusal({**existing(), "trusted_cas": [AUTHORITY]})
