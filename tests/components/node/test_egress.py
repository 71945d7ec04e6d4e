"""Egress through a web proxy, and additional authorities that machines trust (OPS-08)."""

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


def environments(node_plan: NodePlan) -> dict[str, Any]:
    return {each.name: each.fields["environment"] for each in node_plan.steps
            if each.kind == "service" and "HTTPS_PROXY" in each.fields.get("environment", {})}  # fmt: skip


@pytest.mark.parametrize(("os", "pool", "fetching"), FETCHING)
def test_ops_08_downloads_use_the_proxy_except_inside_the_cluster(
    os: str, pool: dict[str, Any], fetching: set[str]
) -> None:
    node_plan = plan(os, pool, kubernetes="1.31.14", proxy=PROXY)
    assert environments(node_plan) == dict.fromkeys(fetching, VARIABLES)
    assert node_plan.document()["egress"]["proxy"] == {**PROXY, "no_proxy": DIRECT.split(",")}
    assert not environments(plan(os, pool, kubernetes="1.31.14"))


def test_ops_08_only_downloading_services_of_control_planes_use_the_proxy() -> None:
    node_plan = plan_node("dev", spec(proxy=PROXY), None)
    assert environments(node_plan) == dict.fromkeys(("containerd", "kubelet"), VARIABLES)


def test_ops_08_windows_sets_machine_variables_before_the_restart_and_the_first_download() -> None:
    node_plan = plan("windows-2022", proxy=PROXY)
    steps: list[Step] = [each for each in node_plan.steps if each.kind == "environment" and "proxy" in each.name]
    assert {each.fields["variable"]: each.fields["value"] for each in steps} == VARIABLES
    assert all(position(node_plan, each.name) < position(node_plan, "reboot") for each in steps)
    first = min(position(node_plan, each.name) for each in node_plan.steps if each.kind == "artifact")
    assert position(node_plan, "reboot") < first


def test_ops_08_windows_itself_fetches_root_certificates_through_the_proxy() -> None:
    node_plan = plan("windows-2022", proxy=PROXY)
    fields = one(node_plan, "winhttp-proxy").fields
    data = base64.b64decode(fields["data"])
    size = struct.unpack_from("<I", data, 12)[0]
    assert (fields["value"], struct.unpack_from("<III", data)) == ("WinHttpSettings", (0x28, 0, 3))
    assert data[16 : 16 + size] == b"http=proxy.example.com:3128;https=proxy.example.com:3129"
    direct = data[20 + size :].decode().split(";")
    assert struct.unpack_from("<I", data, 16 + size)[0] == len(data) - 20 - size
    assert {"<local>", "169.254.169.254", "*.corp", "api.dev.mullion.internal"} <= set(direct)
    assert not [each for each in direct if "/" in each], "WinHTTP knows no ranges"
    assert position(node_plan, "winhttp-proxy") < position(node_plan, "reboot")
    assert not [each for each in plan("windows-2022").steps if each.name == "winhttp-proxy"]


def test_a_proxy_for_https_only_does_not_apply_to_http() -> None:
    node_plan = plan("ubuntu-22.04", proxy={"https": PROXY["https"]})
    assert set(environments(node_plan)["containerd"]) == {"HTTPS_PROXY", "NO_PROXY"}


def test_the_metadata_service_of_each_cloud_is_reached_without_the_proxy() -> None:
    named = {"azure": "168.63.129.16", "gcp": "metadata.google.internal"}
    for cloud, name in named.items():
        node_plan = plan("ubuntu-22.04", proxy=PROXY, cloud=cloud)
        assert name in environments(node_plan)["containerd"]["NO_PROXY"].split(",")


def test_linux_trusts_each_certificate_once_and_a_new_one_restarts_the_runtime() -> None:
    node_plan = plan("ubuntu-22.04", trusted_cas=[AUTHORITY + OTHER, AUTHORITY])
    files = [each.fields for each in node_plan.steps if each.name.startswith("authority-")]
    assert [each["content"] for each in files] == [AUTHORITY, OTHER]
    names = [each["path"].rpartition("/")[2].removesuffix(".crt") for each in files]
    trusted = [each.fields for each in node_plan.steps if each.name.startswith("trust-")]
    assert [each["creates"] for each in trusted] == [f"/etc/ssl/certs/{each}.pem" for each in names]
    assert {each["path"] for each in files} <= set(one(node_plan, "containerd").fields["restarts_on"])
    assert node_plan.document()["egress"] == {"trusted_cas": [AUTHORITY + OTHER, AUTHORITY]}


def test_windows_gets_a_certificate_in_the_form_of_its_store() -> None:
    node_plan = plan("windows-2019", trusted_cas=[OTHER])
    certificate = x509.load_pem_x509_certificate(OTHER.encode())
    thumbprint = certificate.fingerprint(SHA1()).hex()
    fields = one(node_plan, f"authority-{thumbprint}").fields
    assert fields["key"].endswith(rf"\SystemCertificates\ROOT\Certificates\{thumbprint.upper()}")
    element = base64.b64decode(fields["data"])
    content = certificate.public_bytes(Encoding.DER)
    assert struct.unpack("<III", element[:12]) == (32, 1, len(content))
    assert element[12:] == content
    assert position(node_plan, f"authority-{thumbprint}") < position(node_plan, "reboot")
