"""EC2: DescribeInstances of the Query API. Source: Amazon EC2 API reference, version 2016-11-15."""

import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from sandbox.aws.network import INSTANCE, SUBNET
from sandbox.aws.regions import ACCOUNT
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services import xml
from sandbox.services.aws.access import require
from sandbox.services.calls import Answer, Call, Codes, Refused, worded
from sandbox.services.credentials import Caller

VERSION = "2016-11-15"
CODES: Codes = {
    "anonymous": (401, "AuthFailure"),
    "malformed": (400, "IncompleteSignature"),
    "bad-token": (401, "AuthFailure"),
    "unknown-key": (401, "AuthFailure"),
    "expired": (400, "RequestExpired"),
    "skewed": (400, "RequestExpired"),
    "scope": (401, "AuthFailure"),
    "mismatch": (401, "AuthFailure"),
    "unsigned-headers": (401, "AuthFailure"),
    "wrong-digest": (401, "AuthFailure"),
    "denied": (403, "UnauthorizedOperation"),
    "throttled": (503, "RequestLimitExceeded"),
    "failed": (500, "InternalError"),
}
_LISTED = re.compile(r"(?:InstanceId|Filter)\.\d+(?:\.Name|\.Value\.\d+)?")


def _vpc(cloud_state: CloudState, one: Record) -> str:
    subnet = cloud_state.find(SUBNET, one.outputs.get("subnetId") or "")
    return str(subnet.inputs["vpcId"]) if subnet else ""


FILTERS: Mapping[str, Callable[[CloudState, Record], str]] = {
    "instance-id": lambda _, one: one.id,
    "instance-state-name": lambda _, one: "running",
    "private-ip-address": lambda _, one: one.outputs["privateIp"],
    "subnet-id": lambda _, one: one.outputs.get("subnetId") or "",
    "vpc-id": _vpc,
}


@dataclass(frozen=True)
class Compute:
    """The instances of one cloud state and region."""

    cloud_state: CloudState
    region: str

    def answer(self, call: Call, caller: Caller | None) -> Answer:
        """Answer a call, with the identity that signed it."""
        fields = dict(parse_qsl(call.body.decode() if call.method == "POST" else call.query, keep_blank_values=True))
        action, version = fields.pop("Action", ""), fields.pop("Version", "")
        if action != "DescribeInstances" or version != VERSION:
            raise Refused("InvalidAction", f"The action {action} is not valid for this web service: {version}")
        unknown = [name for name in fields if not _LISTED.fullmatch(name)]
        if unknown:
            raise Refused("UnknownParameter", f"The parameter {unknown[0]} is not recognized")
        require(self.cloud_state, caller, "ec2:DescribeInstances", "*")
        found = [one for one in self._named(fields) if _passes(self.cloud_state, one, fields)]
        reservations = [self._reservation(one) for one in found]
        content = {"requestId": str(uuid.uuid4()), "reservationSet": {"item": reservations}}
        namespace = f"http://ec2.amazonaws.com/doc/{VERSION}/"
        body = xml.document("DescribeInstancesResponse", content, namespace)
        return Answer(200, body, {"content-type": "text/xml;charset=UTF-8"})

    def _named(self, fields: dict[str, str]) -> list[Record]:
        """Return the instances with the given ids, or all."""
        known = {one.id: one for one in self.cloud_state.resources(INSTANCE) if one.region == self.region}
        ids = [value for name, value in fields.items() if name.startswith("InstanceId.")]
        missing = [id for id in ids if id not in known]
        if missing:
            text = f"The instance ID '{missing[0]}' does not exist"
            raise Refused("InvalidInstanceID.NotFound", text)
        return [known[id] for id in ids] if ids else list(known.values())

    def _reservation(self, one: Record) -> dict[str, Any]:
        given, subnet = one.outputs, self.cloud_state.find(SUBNET, one.outputs.get("subnetId") or "")
        public = {"ipAddress": given["publicIp"]} if given.get("publicIp") else {}
        network = {"subnetId": subnet.id, "vpcId": subnet.inputs["vpcId"]} if subnet else {}
        instance = {
            "instanceId": one.id,
            "imageId": given["ami"],
            "instanceState": {"code": 16, "name": "running"},
            "privateDnsName": given["privateDns"],
            "instanceType": given["instanceType"],
            "launchTime": one.created.replace("Z", ".000Z"),
            "placement": {"availabilityZone": given["availabilityZone"], "tenancy": given["tenancy"]},
            **network,
            "privateIpAddress": given["privateIp"],
            **public,
            "blockDeviceMapping": {"item": [_mapping(disk) for disk in given.get("ebsBlockDevices") or ()]},
            "tagSet": {"item": [{"key": key, "value": value} for key, value in one.tags.items()]},
        }
        id = f"r-{one.id.removeprefix('i-')}"
        return {"reservationId": id, "ownerId": ACCOUNT, "groupSet": "", "instancesSet": {"item": [instance]}}


def _mapping(disk: Mapping[str, Any]) -> dict[str, Any]:
    """Return a further disk (EC2 API reference, InstanceBlockDeviceMapping)."""
    ends = bool(disk.get("deleteOnTermination", True))
    volume = {"volumeId": disk["volumeId"], "status": "attached", "deleteOnTermination": ends}
    return {"deviceName": disk["deviceName"], "ebs": volume}


def _passes(cloud_state: CloudState, one: Record, fields: dict[str, str]) -> bool:
    """Return whether an instance passes every filter: one of the filter's values is the instance's."""
    for place, name in fields.items():
        number = re.fullmatch(r"(Filter\.\d+)\.Name", place)
        if number:
            wanted = [value for key, value in fields.items() if key.startswith(f"{number[1]}.Value.")]
            if not name.startswith("tag:") and name not in FILTERS:
                raise Refused("InvalidParameterValue", f"The filter '{name}' is invalid")
            tag = name.removeprefix("tag:")
            has = one.tags.get(tag) if tag != name else FILTERS[name](cloud_state, one)
            if has not in wanted:
                return False
    return True


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal in EC2's format, and its code."""
    status, code = worded(refused, CODES)
    errors = {"Errors": {"Error": {"Code": code, "Message": refused.message}}, "RequestID": str(uuid.uuid4())}
    return Answer(status, xml.document("Response", errors), {"content-type": "text/xml;charset=UTF-8"}), code
