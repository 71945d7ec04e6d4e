"""Accounts with their services on loopback, and the clouds' own SDKs, which call them as a machine would."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from azure.identity import ManagedIdentityCredential
from botocore.config import Config
from botocore.utils import InstanceMetadataFetcher

import tests.google_clients  # noqa: F401  # before a test imports one of Google's clients
from sandbox.cloud_state import SERVICES, CloudState
from sandbox.services.server import Services
from tests.cloud_init.accounts import AZURE_CLIENT
from tests.cloud_init.cloud import FakeCloud, serving
from tests.sandbox.account import Account, Thing
from tests.sandbox.aws.account import REGION, TRUST, Network

LOADER = botocore.session.Session()
"""One session for all tests, because it caches the models that it has read."""


def policy(*rows: tuple[str, list[str], str | list[str]], **more: Any) -> str:
    """Return a policy document: effect, actions, resources."""
    statements = [{"Effect": effect, "Action": actions, "Resource": place, **more} for effect, actions, place in rows]
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def tls_only(bucket: str) -> str:
    arn = f"arn:aws:s3:::{bucket}"
    condition = {"Bool": {"aws:SecureTransport": "false"}}
    return policy(("Deny", ["s3:*"], [arn, f"{arn}/*"]), Principal="*", Condition=condition)


@dataclass
class ServedAccount:
    """An account with two buckets, two secrets, and two machines: cp has all rights, web those of a worker."""

    account: Account
    services: Services
    machines: dict[str, Thing]
    secrets: dict[str, str]
    """ARN by name."""
    urls: dict[str, str]
    """Address of the metadata service by machine."""

    def credentials(self, machine: str) -> dict[str, str]:
        """Return the credentials of the machine's role, as botocore gets them from the metadata service."""
        fetcher = InstanceMetadataFetcher(
            timeout=5, num_attempts=1, config={"ec2_metadata_service_endpoint": f"{self.urls[machine]}/"}
        )
        return fetcher.retrieve_iam_role_credentials()

    def client(self, service: str, machine: str = "cp", **more: str) -> Any:
        """Return botocore's client of a service, with the machine's identity."""
        given = self.credentials(machine)
        keys = {"access_key": given["access_key"], "secret_key": given["secret_key"], "token": given["token"]} | more
        retries: Any = {"total_max_attempts": 1}
        return LOADER.create_client(
            service,
            region_name=REGION,
            endpoint_url=self.urls[machine],
            aws_access_key_id=keys["access_key"],
            aws_secret_access_key=keys["secret_key"],
            aws_session_token=keys["token"],
            config=Config(s3={"addressing_style": "path"}, retries=retries, read_timeout=5),
        )


@pytest.fixture
def served(
    account: Account, network: Network, machine: Callable[..., Thing], cloud_state: CloudState
) -> Iterator[ServedAccount]:
    with cloud_state.transaction():
        cloud_state.set_setting(SERVICES, "http")
    account.provider.configure({"region": REGION})
    for name in ("bundles", "snapshots"):
        account.create("Bucket", name, bucket=name)
        account.create("BucketPolicy", name, bucket=name, policy=tls_only(name))
    account.create("BucketVersioning", "v", bucket="snapshots", versioningConfiguration={"status": "Enabled"})
    account.create("BucketObjectv2", "b", bucket="bundles", key="bundles/web.zip", content="0123456789")
    arns = {name: account.create("Secret", name, name=name).id for name in ("join", "pki")}
    account.create("SecretVersion", "pki", secretId=arns["pki"], secretString="ca.key")
    allowed = {"cp": policy(("Allow", ["s3:*", "secretsmanager:*", "ec2:Describe*"], "*"))}
    bundles = "arn:aws:s3:::bundles"
    allowed["web"] = policy(
        ("Allow", ["s3:GetObject"], [f"{bundles}/bundles/*"]),
        ("Allow", ["s3:PutObject"], [f"{bundles}/status/${{aws:userid}}.json"]),
        ("Allow", ["secretsmanager:GetSecretValue"], [arns["join"]]),
    )
    machines: dict[str, Thing] = {}
    for name, document in allowed.items():
        account.create("Role", name, name=name, assumeRolePolicy=TRUST)
        account.create("RolePolicy", name, role=name, name=name, policy=document)
        account.create("InstanceProfile", name, name=name, role=name)
        options = {"httpTokens": "required", "httpEndpoint": "enabled", "httpPutResponseHopLimit": 1}
        tags = {"Name": name}
        machines[name] = machine(
            name, iamInstanceProfile=name, metadataOptions=options, userData=f"#cloud-config\n# {name}\n", tags=tags
        )
    with Services(Path(cloud_state.path)) as services:
        urls = {name: services.listen(machine=thing.id) for name, thing in machines.items()}
        yield ServedAccount(account, services, machines, arns, urls)


@pytest.fixture
def azure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    """A machine of Azure with two identities, and the services that it asks; Microsoft's client asks them too."""
    with serving(tmp_path, cloud="azure") as here:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", here.url)
        yield here


@pytest.fixture
def credential(azure: FakeCloud) -> Iterator[ManagedIdentityCredential]:
    """The machine's user-assigned identity, which has rights."""
    with ManagedIdentityCredential(client_id=AZURE_CLIENT) as made:
        yield made
