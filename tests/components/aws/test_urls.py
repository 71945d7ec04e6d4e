"""URLs of services: the provider's URLs are kept, and https is required outside the sandbox."""

from pathlib import Path

import pytest

from components.machine.service_urls import service_url
from components.stack_files.stack import stack_file_config
from operations.recorder import cloud_answers
from operations.recorder.recorder import Recording, record
from sandbox.aws.boot_obstacles import MACHINES

ROOT = Path(__file__).resolve().parents[3]
BUCKET = "aws:s3/bucket:Bucket"
SERVICE = "aws:index/getService:getService"
REGION = "aws:index/getRegion:getRegion"


@pytest.mark.parametrize("target", ["cloud", "sandbox"])
def test_service_url_adds_https_to_a_host_name_and_keeps_a_url(target: str) -> None:
    assert service_url("bundle_store", "b.s3.eu-west-1.amazonaws.com", target) == "https://b.s3.eu-west-1.amazonaws.com"
    assert service_url("bundle_store", "https://other:8443/base", target) == "https://other:8443/base"


def test_service_url_refuses_plain_http_outside_the_sandbox_and_says_what_to_do() -> None:
    address = "http://b.s3.eu-west-1.amazonaws.com"
    assert service_url("bundle_store", address, "sandbox") == address
    with pytest.raises(
        ValueError, match=r"^facts\.bundle_store: .*http://b\.s3.*not https.*aws:endpoints.*--sandbox\)$"
    ):
        service_url("bundle_store", address, "cloud")


PLAIN = {
    "the bundle and snapshot stores": "bundle_store|snapshot_store",
    "the secret service": "secret_service",
    "the compute service": "compute_service",
}


def answering_plain_http(patch: pytest.MonkeyPatch, what: str) -> None:
    """Make the provider return one of its addresses as an http URL."""
    if "store" in what:
        plain = {**cloud_answers.COMPUTED[BUCKET], "bucketRegionalDomainName": "http://{id}.s3.{region}.amazonaws.com"}
        patch.setitem(cloud_answers.COMPUTED, BUCKET, plain)
    elif "secret" in what:
        patch.setitem(cloud_answers.INVOKES, SERVICE, lambda *_: {"dnsName": "http://secretsmanager.here"})
    else:
        patch.setitem(
            cloud_answers.INVOKES, REGION, lambda region, _: {"region": region, "endpoint": "http://ec2.here"}
        )


def recording(target: str) -> Recording:
    config = stack_file_config(ROOT / "stacks" / "Pulumi.aws-dev.yaml")
    return record("aws-dev", {**config, "mullion:world": target})


@pytest.mark.parametrize("what", PLAIN)
def test_user_data_for_a_real_cloud_never_has_plain_http(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    answering_plain_http(monkeypatch, what)
    with pytest.raises(ValueError, match=rf"facts\.({PLAIN[what]}): the provider gives http://"):
        recording("cloud")


def test_user_data_for_the_sandbox_has_its_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    for what in PLAIN:
        answering_plain_http(monkeypatch, what)
    recorded = recording("sandbox")
    assert recorded.errors == []
    machines = [each for each in recorded.resources.values() if each.type == "aws:ec2/instance:Instance"]
    for machine in machines:
        document = MACHINES.document(machine.inputs)
        assert document is not None
        services = {name: url for name, url in document["facts"].items() if name.endswith(("_store", "_service"))}
        assert services
        assert all(url.startswith("http://") for url in [*services.values(), document["bundle"]["url"]])
