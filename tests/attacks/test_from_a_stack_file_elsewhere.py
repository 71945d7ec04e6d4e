"""From a malicious stack file that names servers of the attacker: a change that a reviewer may overlook.

Seen in: the standard error of `up` and `mullion preview`: the option's path, the reason, the check's id and the fix.
"""

from pathlib import Path
from typing import Any

import pytest

from components.catalogue.artifacts import catalogue
from components.spec.options import Artifacts
from components.spec.report import SpecError
from components.stack_files.stack import read_stack
from components.stack_files.stack_file import stack_file_config
from operations.downloads.publishers import url_of
from operations.stacks.paths import REPOSITORY
from tests.attacks.stack_files import api_server, refusal
from tests.certificates import AUTHORITY
from tests.components.spec.documents import kubelet, plane, web

IMAGES = "io.containerd.cri.v1.images"
"""Table of containerd's image service in config.toml."""


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_static_pods_do_not_come_from_a_server(scheme: str) -> None:
    """Let kubelets fetch static pods, which run as root, from your server.

    Refused by: check kubelet-config-open.
    """
    refused = refusal(kubelet(config={"staticPodURL": f"{scheme}://198.51.100.7/pod.yaml"}))
    assert "could run pods as root on every node" in refused


@pytest.mark.parametrize(
    "flag",
    [
        "client-ca-file",
        "requestheader-client-ca-file",
        "authentication-config",
        "authentication-token-webhook-config-file",
        "authorization-config",
        "audit-webhook-config-file",
    ],
)
def test_no_other_authority_or_server_decides_who_somebody_is(flag: str) -> None:
    """Let an authority, a file or a server of yours decide who may use the API, or send it the audit log.

    Refused by: check argument-opens-cluster.
    """
    assert "argument-opens-cluster" in refusal(api_server((flag, "/etc/kubernetes/evil")))


def test_sign_in_has_a_prefix() -> None:
    """Name your own provider by the API server's flags, without a prefix, and sign in as system:masters.

    Refused by: check extra-argument-planned; api.oidc always has a prefix.
    """
    flags = (("oidc-issuer-url", "https://evil.example"), ("oidc-groups-claim", "groups"), ("oidc-client-id", "x"))
    assert "the option api.oidc sets --oidc-issuer-url" in refusal(api_server(*flags))


@pytest.mark.parametrize("program", ["controllerManager", "scheduler"])
def test_controllers_answer_only_health_to_everybody(program: str) -> None:
    """Let everybody read and profile controller manager and scheduler.

    Refused by: check argument-opens-cluster.
    """
    flag = {"name": "authorization-always-allow-paths", "value": "/*"}
    config = {"ClusterConfiguration": {program: {"extraArgs": [flag]}}}
    assert "ask for more than health" in refusal({"kubernetes": "1.31.14", "kubeadm": {"config": config}})


@pytest.mark.parametrize(
    "etcd",
    [
        {"external": {"endpoints": ["https://evil.example:2379"]}},
        {"local": {"extraArgs": [{"name": "trusted-ca-file", "value": "/etc/evil.crt"}]}},
    ],
    ids=["external", "authority"],
)
def test_all_objects_stay_in_the_clusters_etcd(etcd: dict[str, Any]) -> None:
    """Keep all objects in an etcd of yours, or let your authority issue certificates for the cluster's.

    Refused by: checks etcd-external and argument-opens-cluster.
    """
    config = {"ClusterConfiguration": {"etcd": etcd}}
    assert "etcd" in refusal({"kubernetes": "1.31.14", "kubeadm": {"config": config}})


@pytest.mark.parametrize(
    "change",
    [
        {"kubeadm": {"config": {"ClusterConfiguration": {"imageRepository": "evil.example/k8s"}}}},
        web(containerd={"mirrors": {"*": ["https://evil.example"]}}),
        plane(containerd={"mirrors": {"registry.k8s.io": ["https://evil.example"]}}),
        web(containerd={"mirrors": {"own.example:5000": ["https://evil.example"]}}),
        *(web(containerd={"config": each}) for each in (
            {"plugins": {IMAGES: {"registry": {"mirrors": {"docker.io": {"endpoint": ["https://evil.example"]}}}}}},
            {"plugins": {IMAGES: {"registry": {"configs": {"docker.io": {"tls": {"ca_file": "/evil.crt"}}}}}}},
            {"plugins": {IMAGES: {"registry": {"config_path": "/var/lib/evil"}}}},
            {"plugins": {"io.containerd.transfer.v1.local": {"config_path": "/var/lib/evil"}}},
            {"plugins": {IMAGES: {"pinned_images": {"sandbox": "evil.example/pause:3.10.1"}}}},
            {"plugins": {IMAGES: {"pinned_images": {"sandbox": "registry.k8s.io.evil.example/pause:3.10.1"}}}},
            {"imports": ["/var/lib/evil.toml"]},
        )),
    ],
    ids=[
        *("image-repository", "every-registry", "kubernetes-registry", "own-registry", "endpoint", "authority"),
        *("hosts", "transfer", "pause", "pause-of-a-like-name", "imports"),
    ],
)  # fmt: skip
def test_images_of_another_registry_need_a_reason(change: Any) -> None:
    """Let machines pull images from your registry, by an image repository, a mirror, containerd's own settings or
    another pause image.

    Refused by: check images-from-elsewhere, which stops `up` until it is acknowledged.
    """
    assert "images-from-elsewhere" in refusal(change)


def test_a_proxy_with_its_own_authority_needs_a_reason() -> None:
    """Send all requests of machines through your proxy, and let them trust your authority, to answer for registries.

    Refused by: check proxy-with-authorities, which stops `up` until it is acknowledged.
    """
    proxy = {"http": "http://evil.example:3128", "https": "http://evil.example:3128"}
    assert "proxy-with-authorities" in refusal({"proxy": proxy, "trusted_cas": [AUTHORITY]})


def test_another_program_under_a_known_name_needs_a_reason() -> None:
    """Replace a program by one with your own digest, from a host whose name looks like the publisher's.

    Refused by: check download-replaced, which stops `up` until it is acknowledged.
    """
    url = "https://dl.k8s.io.evil.example/v1.36.4/kubernetes-node-linux-amd64.tar.gz"
    entry = {"name": "kubernetes-node", "version": "1.36.4", "os": "linux", "url": url, "sha256": "7" * 64}
    assert "download-replaced" in refusal({"kubernetes": "1.36.4", "artifacts": {"entries": [entry]}})


def test_an_entry_does_not_decide_where_later_versions_come_from() -> None:
    """Add one version of a program from your host, and wait until `mullion pin` looks for the next one there.

    Refused by: `mullion pin`, which takes the address of the built-in entries.
    Seen in: the report of `mullion pin`, which names the address.
    """
    entry = {"name": "kubernetes-node", "version": "1.99.0", "os": "linux", "url": "https://evil.example/1.99.0",
             "sha256": "7" * 64}  # fmt: skip
    own = catalogue(Artifacts.model_validate({"entries": [entry]}))
    assert url_of(own, "kubernetes-node", "1.99.1", "linux").startswith("https://dl.k8s.io/v1.99.1/")


@pytest.mark.parametrize(
    "key",
    [
        *(f"aws:{each}" for each in (
            "accessKey", "assumeRoleWithWebIdentity", "assumeRoles", "config:endpoints", "customCaBundle",
            "ec2MetadataServiceEndpoint", "endpoints", "httpsProxy", "noProxy", "pluginDownloadURL", "secretKey",
            "sharedConfigFiles", "sharedCredentialsFiles", "stsRegion", "token",
        )),
        *(f"gcp:{each}" for each in (
            "accessToken", "credentials", "externalCredentials", "impersonateServiceAccount",
            "secretManagerCustomEndpoint", "universeDomain",
        )),
        *(f"azure-native:{each}" for each in (
            "clientCertificatePath", "clientSecret", "environment", "metadataHost", "msiEndpoint", "oidcRequestUrl",
            "oidcTokenFilePath",
        )),
    ],
)  # fmt: skip
def test_a_provider_runs_nothing_and_keeps_talking_to_the_cloud(key: str) -> None:
    """Run a program (credential_process) as the operator, send files or requests of the operator to your server, or let
    the provider sign in with your credentials.

    Refused by: the reader of stack files, before a preview asks the provider anything.
    """
    config = {**stack_file_config(REPOSITORY / "stacks/Pulumi.aws-ci.yaml"), key: "https://evil"}
    with pytest.raises(SpecError, match="provider-redirected") as refused:
        read_stack("aws-test", config)
    assert [each.path for each in refused.value.problems if each.id == "provider-redirected"] == [key]


@pytest.mark.parametrize(
    "key", ["aws:profile", "aws:defaultTags", "gcp:zone", "azure-native:tenantId", "other:endpoint"]
)
def test_options_of_providers_that_choose_no_server_and_no_file_stay(key: str) -> None:
    """Not an attack: settings that the cluster's stack may have, and those of packages that it does not load."""
    read_stack("aws-test", {**stack_file_config(REPOSITORY / "stacks/Pulumi.aws-ci.yaml"), key: "x"})


@pytest.mark.parametrize(
    "added", ["environment: [evil/env]", "config2: {}", "<<: {environment: {imports: [evil/env]}}"]
)
def test_a_stack_file_imports_no_settings(tmp_path: Path, added: str) -> None:
    """Import an environment of Pulumi ESC, whose settings and variables no check reads.

    Refused by: the reader of stack files.
    """
    path = tmp_path / "Pulumi.x.yaml"
    original = (REPOSITORY / "stacks/Pulumi.aws-ci.yaml").read_text()
    path.write_text(f"{original}\nencryptionsalt: v1:abc=\nsecretsprovider: default\n")
    stack_file_config(path)
    path.write_text(f"{original}\n{added}\n")
    with pytest.raises(SpecError, match="stack-file-key"):
        stack_file_config(path)


def test_an_error_about_a_file_does_not_show_its_content(tmp_path: Any) -> None:
    """Name a file with credentials as the list of downloads, so that CI prints it.

    Refused by: the reader of that file.
    """
    secret = tmp_path / "credentials.json"
    secret.write_text('{"type": "authorized_user", "client_secret": "GOCSPX-hunter2"}')
    said = refusal({"artifacts": {"file": str(secret)}})
    assert "artifacts.file" in said and "hunter2" not in said and "authorized_user" not in said
