"""The way out behind a web proxy, and authorities that machines trust (OPS-08)."""

import base64
import struct
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.serialization import Encoding

from components.node import plan_node
from components.node.kinds import Step
from components.node.plan import NodePlan
from tests.certificates import AUTHORITY, OTHER
from tools.golden.samples import one, plan, position, spec

PROXY = {"http": "http://proxy.example.com:3128", "https": "http://proxy.example.com:3129", "no_proxy": [".corp"]}
DIRECT = (
    "localhost,127.0.0.1,169.254.169.254,10.20.0.0/16,10.244.0.0/16,10.96.0.0/12,.svc,.cluster.local,"
    "api.dev.mullion.internal,.corp"
)
VARIABLES = {"HTTP_PROXY": PROXY["http"], "HTTPS_PROXY": PROXY["https"], "NO_PROXY": DIRECT}
FETCHING = [
    ("ubuntu-22.04", {}, {"containerd", "kubelet"}),
    ("windows-2019", {}, {"containerd", "kubelet"}),
    ("windows-2019", {"runtime": "docker"}, {"docker", "kubelet"}),
]


def environments(made: NodePlan) -> dict[str, Any]:
    return {each.name: each.fields["environment"] for each in made.steps
            if each.kind == "service" and "HTTPS_PROXY" in each.fields.get("environment", {})}  # fmt: skip


@pytest.mark.parametrize(("os", "pool", "fetching"), FETCHING)
def test_ops_08_what_fetches_goes_by_the_proxy_but_not_within_the_cluster(
    os: str, pool: dict[str, Any], fetching: set[str]
) -> None:
    made = plan(os, pool, kubernetes="1.31.14", proxy=PROXY)
    assert environments(made) == dict.fromkeys(fetching, VARIABLES)
    assert made.document()["egress"]["proxy"] == {**PROXY, "no_proxy": DIRECT.split(",")}
    assert not environments(plan(os, pool, kubernetes="1.31.14"))


def test_ops_08_control_planes_too_and_no_program_of_theirs_besides() -> None:
    made = plan_node("dev", spec(proxy=PROXY), None)
    assert environments(made) == dict.fromkeys(("containerd", "kubelet"), VARIABLES)


def test_ops_08_on_windows_the_machines_own_variables_come_before_its_restart_and_its_first_download() -> None:
    made = plan("windows-2022", proxy=PROXY)
    found: list[Step] = [each for each in made.steps if each.kind == "environment" and "proxy" in each.name]
    assert {each.fields["variable"]: each.fields["value"] for each in found} == VARIABLES
    assert all(position(made, each.name) < position(made, "reboot") for each in found)
    first = min(position(made, each.name) for each in made.steps if each.kind == "artifact")
    assert position(made, "reboot") < first


def test_a_proxy_for_https_alone_is_nothing_to_http() -> None:
    made = plan("ubuntu-22.04", proxy={"https": PROXY["https"]})
    assert set(environments(made)["containerd"]) == {"HTTPS_PROXY", "NO_PROXY"}


def test_metadata_of_each_cloud_is_never_asked_by_the_proxy() -> None:
    named = {"azure": "168.63.129.16", "gcp": "metadata.google.internal"}
    for cloud, name in named.items():
        made = plan("ubuntu-22.04", proxy=PROXY, cloud=cloud)
        assert name in environments(made)["containerd"]["NO_PROXY"].split(",")


def test_each_certificate_is_trusted_by_linux_once_and_a_newer_one_restarts_the_runtime() -> None:
    made = plan("ubuntu-22.04", trusted_cas=[AUTHORITY + OTHER, AUTHORITY])
    files = [each.fields for each in made.steps if each.name.startswith("authority-")]
    assert [each["content"] for each in files] == [AUTHORITY, OTHER]
    names = [each["path"].rpartition("/")[2].removesuffix(".crt") for each in files]
    trusted = [each.fields for each in made.steps if each.name.startswith("trust-")]
    assert [each["creates"] for each in trusted] == [f"/etc/ssl/certs/{each}.pem" for each in names]
    assert {each["path"] for each in files} <= set(one(made, "containerd").fields["restarts_on"])
    assert made.document()["egress"] == {"trusted_cas": [AUTHORITY + OTHER, AUTHORITY]}


def test_windows_keeps_a_certificate_as_its_store_does() -> None:
    made = plan("windows-2019", trusted_cas=[OTHER])
    certificate = x509.load_pem_x509_certificate(OTHER.encode())
    thumbprint = certificate.fingerprint(SHA1()).hex()
    fields = one(made, f"authority-{thumbprint}").fields
    assert fields["key"].endswith(rf"\SystemCertificates\ROOT\Certificates\{thumbprint.upper()}")
    element = base64.b64decode(fields["data"])
    content = certificate.public_bytes(Encoding.DER)
    assert struct.unpack("<III", element[:12]) == (32, 1, len(content))
    assert element[12:] == content
    assert position(made, f"authority-{thumbprint}") < position(made, "reboot")
