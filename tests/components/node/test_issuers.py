"""Issuers of service-account tokens: flags of the API server with and without `pod_identity`."""

from typing import Any

import pytest

from components.node.kinds import ref
from tools.golden.samples import content, plan

FLAGS = ("service-account-issuer", "service-account-jwks-uri", "api-audiences")
WITH: dict[str, Any] = {"pod_identity": {"service_accounts": []}}


def arguments(**cluster: Any) -> list[tuple[str, Any]]:
    documents = content(plan(None, **cluster), "init-config")
    [found] = [each for each in documents if each["kind"] == "ClusterConfiguration"]
    return [(each["name"], each["value"]) for each in found["apiServer"]["extraArgs"]]


def test_the_public_issuer_comes_before_kubeadms_so_it_signs_and_older_tokens_stay_valid() -> None:
    found = [(name, value) for name, value in arguments(**WITH) if name in FLAGS]
    assert found == [
        ("service-account-issuer", ref("node.issuer")),
        ("service-account-issuer", "https://kubernetes.default.svc.cluster.local"),
        ("service-account-jwks-uri", ref("node.issuer_keys")),
    ]


def test_an_accepted_issuer_is_the_second_so_kubeadms_signs_on() -> None:
    found = [(name, value) for name, value in arguments(pod_identity={"issuer": "accepted"}) if name in FLAGS]
    assert found == [
        ("service-account-issuer", "https://kubernetes.default.svc.cluster.local"),
        ("service-account-issuer", ref("node.issuer")),
    ]


@pytest.mark.parametrize(("cloud", "size", "count"), [("azure", "Standard_D2s_v5", 2), ("gcp", "n2-standard-2", 0)])
def test_azure_reads_a_public_issuer_too_and_google_takes_the_keys_of_kubeadms(
    cloud: str, size: str, count: int
) -> None:
    found = [name for name, _ in arguments(**WITH, cloud=cloud, control_plane={"size": size}) if name in FLAGS]
    assert found.count("service-account-issuer") == count


@pytest.mark.parametrize("issuer", ["accepted", "signs"])
def test_requested_tokens_are_valid_for_a_day_at_most_unless_the_user_says_otherwise(issuer: str) -> None:
    name, option = "service-account-max-token-expiration", {"pod_identity": {"issuer": issuer}}
    assert (name, "24h0m0s") in arguments(**option)
    config = {"ClusterConfiguration": {"apiServer": {"extraArgs": [{"name": name, "value": "2h0m0s"}]}}}
    found = [value for flag, value in arguments(**option, kubeadm={"config": config}) if flag == name]
    assert found == ["2h0m0s"]
    assert name not in dict(arguments())


def test_kubeadms_issuer_has_the_domain_of_the_cluster() -> None:
    found = arguments(**WITH, network={"domain": "example.internal"})
    assert ("service-account-issuer", "https://kubernetes.default.svc.example.internal") in found


def test_a_flag_of_the_user_removes_neither_issuer() -> None:
    argument = {"name": "event-ttl", "value": "2h"}
    config = {"ClusterConfiguration": {"apiServer": {"extraArgs": [argument]}}}
    found = arguments(**WITH, kubeadm={"config": config})
    assert ("event-ttl", "2h") in found
    assert [name for name, _ in found].count("service-account-issuer") == 2


@pytest.mark.parametrize("pool", ["ubuntu-24.04", "windows-2022"])
def test_without_the_option_nothing_changes_and_workers_never_change(pool: str) -> None:
    assert not [name for name, _ in arguments() if name in FLAGS]
    assert plan(pool, **WITH).document() == plan(pool).document()
