"""AWS: instance metadata, S3, Secrets Manager, EC2."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from uuid import uuid4
from xml.etree import ElementTree

import objects
from failure import Failure
from loader import aws_metadata as metadata

if TYPE_CHECKING:
    from run import Run

MACHINE = re.compile(r"aws:///[a-z0-9-]+/(i-[0-9a-f]+)")
LISTING = objects.S3
ABORT_SECONDS = 20
"""Timeout of the request that aborts an upload."""
UPLOAD = re.compile(r"<UploadId>([^<]+)</UploadId>")
VERSION = "2016-11-15"
FORM = "application/x-www-form-urlencoded"
NVME = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"
"""Link to a volume, whose id without hyphen is the disk's serial number."""
ENDED = "terminated"
"""The only final state: a stopped machine may start again with its disk."""
ENDING = ("shutting-down", ENDED)
"""States of a machine that does not come back."""


def instance() -> str:
    """Return the instance id (i-0123456789abcdef0)."""
    return metadata("/latest/meta-data/instance-id")


def proof(run: Run, number: str) -> dict[str, str]:
    """Return no fields: only this machine may write its announcement."""
    return {}


def disproof(run: Run, announced: dict[str, Any], instance: str) -> str:
    """Return no reason: only the machine may write its announcement."""
    return ""


def interrupted() -> bool:
    """Return whether the notice exists; two minutes before the end (EC2 user guide, "Spot Instance interruption
    notices"). It answers 404 until then.
    """
    try:
        return bool(metadata("/latest/meta-data/spot/instance-action"))
    except HTTPError as error:
        error.close()
        if error.code == HTTPStatus.NOT_FOUND:
            return False
        raise


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
    target, kind = f"secretsmanager.{action}", "application/x-amz-json-1.1"
    said = run.ask("secrets", service, "POST", json.dumps(body).encode(), content_type=kind, x_amz_target=target)
    return json.loads(said)


def put_large(run: Run, url: str, content: memoryview, **condition: Any) -> None:
    """Upload in parts."""
    with upload(run, url, **condition) as send:
        for number, part in objects.parts(content):
            send(number, part)


@contextmanager
def upload(run: Run, url: str, **condition: Any) -> Iterator[Callable[[int, memoryview], None]]:
    """Begin an upload in parts, yield `send(number, part)`, and complete it at the end of the block (Amazon S3 API
    reference, CreateMultipartUpload, UploadPart, ListParts, CompleteMultipartUpload).

    Parts of an upload that was not completed cost money: it is aborted, and the bucket's lifecycle rule deletes what
    an agent that died has left. The request that aborts it has time of its own: the run's may be over.
    """
    begun = run.ask("store", f"{url}?uploads=", "POST", content_type=objects.KIND).decode()
    found = UPLOAD.search(begun)
    if not found:
        raise ValueError(f"unexpected answer: {begun[:200]}")
    named = f"uploadId={quote(found[1], safe='')}"

    def send(number: int, part: memoryview) -> None:
        place, digest = f"{url}?partNumber={number}&{named}", objects.md5(part)
        run.ask("store", place, "PUT", part, content_type=objects.KIND, content_md5=digest)

    try:
        yield send
        _complete(run, f"{url}?{named}", condition)
    except BaseException:
        with suppress(OSError, Failure), run.own_time(ABORT_SECONDS):
            run.ask("store", f"{url}?{named}", "DELETE")
        raise


def _complete(run: Run, upload: str, condition: dict[str, Any]) -> None:
    """Complete an upload with the numbers and ETags of the parts that S3 has."""
    listed = ElementTree.fromstring(run.ask("store", upload))  # noqa: S314  the cloud's answer, over TLS
    whole = ElementTree.Element("CompleteMultipartUpload", xmlns="http://s3.amazonaws.com/doc/2006-03-01/")
    for each in listed.iterfind("{*}Part"):
        part = ElementTree.SubElement(whole, "Part")
        for name in ("PartNumber", "ETag"):
            ElementTree.SubElement(part, name).text = each.findtext(f"{{*}}{name}")
    body, kind = ElementTree.tostring(whole), "application/xml"
    said = run.ask("store", upload, "POST", body, content_type=kind, **condition).decode()
    if "</CompleteMultipartUploadResult>" not in said:  # S3 may answer 200 with an error
        raise ValueError(f"unexpected answer: {said[:200]}")


def gone(run: Run, machine: str) -> bool:
    """Query with a filter: for an unknown machine it returns an empty list, while a query by id would fail."""
    return {state for _, _, state in _instances(run, "instance-id", machine)} <= {ENDED}


def machines(run: Run, addresses: dict[str, str]) -> dict[str, str]:
    """Return the instances of this machine's VPC that have the addresses and are not terminated."""
    vpc = metadata(f"/latest/meta-data/network/interfaces/macs/{metadata('/latest/meta-data/mac')}/vpc-id")
    owners = {address: instance for instance, address, state in _instances(run, "vpc-id", vpc) if state not in ENDING}
    return {name: owners[address] for name, address in addresses.items() if address in owners}


def names(run: Run, machine: str) -> frozenset[str]:
    """Return the instance's DNS names and public address, which a cloud controller adds to the Node's addresses.

    Source: cloud-provider-aws, extractIPv4NodeAddresses in pkg/providers/v1/aws.go.
    """
    fields = ("privateDnsName", "dnsName", "ipAddress")
    found = (each.findtext(f"{{*}}{field}") for each in _described(run, "instance-id", machine) for field in fields)
    return frozenset(filter(None, found))


def disk(run: Run, name: str) -> list[str]:
    """Return the disk's own name and the kernel's on Xen, or the link by the volume's id on Nitro (EBS user guide, "Map
    Amazon EBS volumes to NVMe device names"; systemd, rules.d/60-persistent-storage.rules).

    name: device name in the instance's block device mapping.
    """
    plain = [name, name.replace("/dev/sd", "/dev/xvd")]
    if any(run.path(each).exists() for each in plain):
        return plain
    found = [
        each.findtext("{*}ebs/{*}volumeId") or ""
        for machine in _described(run, "instance-id", instance())
        for each in machine.iterfind("{*}blockDeviceMapping/{*}item")
        if each.findtext("{*}deviceName") == name
    ]
    return [f"{NVME}{volume.replace('-', '')}" for volume in found if volume] or plain


def _instances(run: Run, name: str, value: str) -> Iterator[tuple[str, str, str]]:
    """Yield id, private address (empty once terminated) and state of the instances that pass a filter."""
    for each in _described(run, name, value):
        state = each.findtext("{*}instanceState/{*}name") or ""
        yield each.findtext("{*}instanceId") or "", each.findtext("{*}privateIpAddress") or "", state


def _described(run: Run, name: str, value: str) -> Iterator[ElementTree.Element]:
    """Yield the instances that pass a filter."""
    asked = {"Action": "DescribeInstances", "Version": VERSION}
    asked |= {"Filter.1.Name": name, "Filter.1.Value.1": value}
    page = ""
    while True:
        body = urlencode(asked | ({"NextToken": page} if page else {})).encode()
        said = run.ask("compute", run.value("facts.compute_service"), "POST", body, content_type=FORM).decode()
        if "</DescribeInstancesResponse>" not in said or "<reservationSet" not in said:
            raise ValueError(f"unexpected answer for {name} {value}: {said[:200]}")
        answer = ElementTree.fromstring(said)  # noqa: S314  the cloud's answer, over TLS
        yield from answer.iterfind("{*}reservationSet/{*}item/{*}instancesSet/{*}item")
        page = answer.findtext("{*}nextToken") or ""
        if not page:
            return
