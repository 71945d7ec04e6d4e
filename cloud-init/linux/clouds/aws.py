"""AWS: instance metadata, S3, Secrets Manager, EC2."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import uuid4

from loader import aws_metadata as metadata

if TYPE_CHECKING:
    from run import Run

MACHINE = re.compile(r"aws:///[a-z0-9-]+/(i-[0-9a-f]+)")
LISTING: tuple[str, re.Pattern[str]] = ("/?list-type=2&prefix=", re.compile(r"<Key>([^<]+)</Key>"))
VERSION = "2016-11-15"
STATE = re.compile(r"<instanceState>.*?<name>([a-z-]+)</name>", re.DOTALL)
ENDED = "terminated"
"""The only state that no machine comes back from: a stopped one may start again, with its disk."""


def instance() -> str:
    """i-0123456789abcdef0."""
    return metadata("/latest/meta-data/instance-id")


def provider_id() -> str:
    """aws:///ZONE/INSTANCE."""
    return f"aws:///{metadata('/latest/meta-data/placement/availability-zone')}/{instance()}"


def secret(run: Run, name: str) -> str:
    """The current version."""
    return _secrets(run, "GetSecretValue", SecretId=name)["SecretString"]


def put_secret(run: Run, name: str, text: str) -> None:
    """A new version; the service keeps the one before, and no more."""
    _secrets(run, "PutSecretValue", SecretId=name, SecretString=text, ClientRequestToken=str(uuid4()))


def _secrets(run: Run, action: str, **body: str) -> dict[str, str]:
    service = run.value("facts.secret_service")
    headers = {"content_type": "application/x-amz-json-1.1", "x_amz_target": f"secretsmanager.{action}"}
    return json.loads(run.ask("secrets", service, "POST", json.dumps(body).encode(), **headers))


def gone(run: Run, machine: str) -> bool:
    """By filter: a machine that is forgotten gives an empty answer, an id in its place an error."""
    asked = {"Action": "DescribeInstances", "Version": VERSION}
    asked |= {"Filter.1.Name": "instance-id", "Filter.1.Value.1": machine}
    kind = "application/x-www-form-urlencoded"
    url = run.value("facts.compute_service")
    said = run.ask("compute", url, "POST", urlencode(asked).encode(), content_type=kind).decode()
    if "</DescribeInstancesResponse>" not in said:
        raise ValueError(f"it says no more of {machine} than: {said[:200]}")
    return set(STATE.findall(said)) <= {ENDED}
