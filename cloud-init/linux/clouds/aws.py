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
"""The only final state: a stopped machine may start again with its disk."""


def instance() -> str:
    """Return the instance id (i-0123456789abcdef0)."""
    return metadata("/latest/meta-data/instance-id")


def provider_id() -> str:
    """Return aws:///ZONE/INSTANCE."""
    return f"aws:///{metadata('/latest/meta-data/placement/availability-zone')}/{instance()}"


def secret(run: Run, name: str) -> str:
    """Return the current version."""
    return _secrets(run, "GetSecretValue", SecretId=name)["SecretString"]


def put_secret(run: Run, name: str, text: str) -> None:
    """Store a new version; the service keeps the previous one (AWSPREVIOUS) and deletes older ones."""
    _secrets(run, "PutSecretValue", SecretId=name, SecretString=text, ClientRequestToken=str(uuid4()))


def _secrets(run: Run, action: str, **body: str) -> dict[str, str]:
    service = run.value("facts.secret_service")
    headers = {"content_type": "application/x-amz-json-1.1", "x_amz_target": f"secretsmanager.{action}"}
    return json.loads(run.ask("secrets", service, "POST", json.dumps(body).encode(), **headers))


def gone(run: Run, machine: str) -> bool:
    """Query with a filter: for an unknown machine it returns an empty list, while a query by id would fail."""
    asked = {"Action": "DescribeInstances", "Version": VERSION}
    asked |= {"Filter.1.Name": "instance-id", "Filter.1.Value.1": machine}
    kind = "application/x-www-form-urlencoded"
    url = run.value("facts.compute_service")
    said = run.ask("compute", url, "POST", urlencode(asked).encode(), content_type=kind).decode()
    if "</DescribeInstancesResponse>" not in said:
        raise ValueError(f"unexpected answer for {machine}: {said[:200]}")
    return set(STATE.findall(said)) <= {ENDED}
