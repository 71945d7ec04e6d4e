"""From a malicious stack file that changes kubeadm's configuration: a change that a reviewer may overlook.

Seen in: the standard error of `up` and `mullion preview`: the option's path, the reason, the check's id and the fix.
"""

from typing import Any

import pytest

from components.node.kubeadm import cluster_configuration
from components.node.role import role
from components.spec.models import ClusterSpec
from tests.attacks.stack_files import refusal
from tests.components.spec.documents import changed, plane, web

KEPT = (
    *("kubelet-certificate-authority", "encryption-provider-config", "admission-control-config-file"),
    *("audit-policy-file", "cluster-signing-duration"),
)
"""Flags that protect every cluster."""


def _cluster(**fields: Any) -> dict[str, Any]:
    return {"kubernetes": "1.31.14", "kubeadm": {"config": {"ClusterConfiguration": fields}}}


@pytest.mark.parametrize(
    "fields",
    [
        {"apiServer": {"extraArgs": []}, "controllerManager": {"extraArgs": []}},
        {"apiServer": {"extraArgs": None}, "controllerManager": {"extraArgs": None}},
        {"apiServer": None, "controllerManager": None, "etcd": None},
    ],
    ids=["empty", "null", "null-above"],
)
def test_an_empty_value_removes_no_protection(fields: dict[str, Any]) -> None:
    """Remove encryption at rest, the audit log and all admission from the API server by an empty list or null.

    Refused by: the merge, which keeps Mullion's values.
    Seen in: the report of `mullion render`, which has the values.
    """
    spec = ClusterSpec.model_validate(changed(_cluster(**fields)))
    rendered = cluster_configuration(role("dev", spec, None))
    programs = (rendered["apiServer"], rendered["controllerManager"])
    flags = {each["name"]: each["value"] for program in programs for each in program["extraArgs"]}
    assert set(KEPT) <= set(flags) and flags["controllers"].endswith(",-csrapproving")
    assert {each["name"] for each in rendered["apiServer"]["extraVolumes"]} >= {"encryption", "audit-policy"}


@pytest.mark.parametrize("item", [{"value": "x"}, {"name": "", "value": "x"}, {"name": None}, "x", None])
def test_an_item_without_a_name_removes_no_protection(item: Any) -> None:
    """Replace all of Mullion's arguments by a list with an item that has no name.

    Refused by: check kubeadm-config-type.
    """
    said = refusal(_cluster(apiServer={"extraArgs": [{"name": "event-ttl", "value": "2h"}, item]}))
    assert "kubeadm-config-type" in said and "apiServer.extraArgs.1" in said


def _flag(program: str, name: str, value: str) -> dict[str, Any]:
    written = {"extraArgs": [{"name": name, "value": value}]}
    return _cluster(**({"etcd": {"local": written}} if program == "etcd" else {program: written}))


@pytest.mark.parametrize(
    ("program", "flag", "value"),
    [
        *(
            (program, flag, "https://evil.example")
            for program in ("controllerManager", "scheduler")
            for flag in ("master", "kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
        ),
        *(("controllerManager", f"cluster-signing-{each}-file", "/evil") for each in ("cert", "kubelet-serving-key")),
        ("apiServer", "etcd-servers", "https://evil.example:2379"),
        ("apiServer", "etcd-servers-overrides", "/secrets#https://evil.example:2379"),
        ("apiServer", "audit-policy-file", "/dev/null"),
        ("apiServer", "audit-log-path", "/dev/null"),
        ("apiServer", "service-account-lookup", "0"),
        ("etcd", "listen-client-http-urls", "http://0.0.0.0:2379"),
        ("etcd", "config-file", "/evil"),
        ("etcd", "client-cert-auth", "f"),
    ],
)
def test_no_flag_hands_the_cluster_over(program: str, flag: str, value: str) -> None:
    """Let the control plane work for an API server, an etcd or an authority of yours, without certificates, or without
    an audit log.

    Refused by: check argument-opens-cluster.
    """
    assert "argument-opens-cluster" in refusal(_flag(program, flag, value))


def test_files_and_servers_that_no_check_reads_need_a_reason() -> None:
    """Name a file or a server by any other flag of the control plane, give its programs a variable such as HTTPS_PROXY,
    or the root of the host.

    Refused by: checks argument-names-a-place, extra-environment and extra-volume, which stop `up` until they are
    acknowledged.
    """
    assert "argument-names-a-place" in refusal(_flag("apiServer", "egress-selector-config-file", "/evil"))
    proxy = {"extraEnvs": [{"name": "HTTPS_PROXY", "value": "http://evil.example"}]}
    assert "extra-environment" in refusal(_cluster(controllerManager=proxy))
    root = {"extraVolumes": [{"name": "root", "hostPath": "/", "mountPath": "/host"}]}
    assert "extra-volume" in refusal(_cluster(scheduler=root))


def test_variables_set_no_flags_of_etcd() -> None:
    """Set flags of etcd by variables, which checks of flags do not see.

    Refused by: check etcd-environment.
    """
    opened = {"extraEnvs": [{"name": "ETCD_LISTEN_CLIENT_HTTP_URLS", "value": "http://0.0.0.0:2379"}]}
    assert "etcd-environment" in refusal(_cluster(etcd={"local": opened}))


def test_nobody_joins_by_a_token_of_the_stack_file() -> None:
    """Write a bootstrap token that you know, to join machines of yours.

    Refused by: check kubeadm-join-secret.
    """
    token = {"token": "abcdef.0123456789abcdef", "ttl": "0s"}
    assert "kubeadm-join-secret" in refusal(
        {"kubeadm": {"config": {"InitConfiguration": {"bootstrapTokens": [token]}}}}
    )


@pytest.mark.parametrize("group", [plane, web], ids=["control-plane", "windows-pool"])
def test_nodes_take_orders_from_the_cluster_alone(group: Any) -> None:
    """Let kube-proxy send traffic by an API server of yours, or the kubelet run containers by a runtime of yours.

    Refused by: checks kube-proxy-config-open and kubelet-config-open.
    """
    proxy = group(kube_proxy={"config": {"clientConnection": {"kubeconfig": "/evil"}}})
    assert "kube-proxy-config-open" in refusal(proxy)
    for name in ("containerRuntimeEndpoint", "imageServiceEndpoint"):
        assert "kubelet-config-open" in refusal(group(kubelet={"config": {name: "tcp://198.51.100.7:1"}}))
    assert "kubelet-config-open" in refusal(group(kubelet={"config": {"staticPodPath": "/tmp/evil"}}))
