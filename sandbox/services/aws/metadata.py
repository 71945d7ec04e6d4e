"""The instance metadata service: tokens, the tree of values, credentials of the role, user-data.

Source: EC2 user guide, "Instance metadata categories" and "Use the Instance Metadata Service". The answer to a token
request leaves with the instance's hop limit as its IP time to live, so machines further away do not receive it.
"""

import base64
import binascii
import hmac
import json
from dataclasses import dataclass
from typing import Any

from sandbox import interruptions
from sandbox.aws import offerings
from sandbox.aws.iam import PROFILE
from sandbox.aws.network import INSTANCE, SUBNET
from sandbox.aws.regions import ACCOUNT
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.calls import Answer, Call, Refused
from sandbox.services.credentials import LIFETIME, iso, issue, may_assume, role_of, signing_key

TOKEN, TTL = "x-aws-ec2-metadata-token", "x-aws-ec2-metadata-token-ttl-seconds"
LONGEST = 21600
"""Longest lifetime of a token in seconds."""
VERSIONS = ("1.0", "2009-04-04", "2016-09-02", "2018-09-24", "2021-03-23", "2022-09-24", "latest")
PLAIN = {"content-type": "text/plain"}
LATER = 503
"""HTTP status that asks a machine to try again (EC2 user guide, "Use the Instance Metadata Service")."""


def find(cloud_state: CloudState, call: Call) -> Record | None:
    """Return the instance of the listener, or else the instance with the caller's address."""
    if call.machine:
        return cloud_state.find(INSTANCE, call.machine)
    found = [one for one in cloud_state.resources(INSTANCE) if one.outputs.get("privateIp") == call.source]
    return found[-1] if found else None


@dataclass(frozen=True)
class Metadata:
    """The service for the machines of one cloud state."""

    cloud_state: CloudState
    lifetime: int = LIFETIME
    """Lifetime of role credentials in seconds."""

    def answer(self, call: Call, now: float) -> Answer:
        """Answer one request; a refusal is an answer with an empty body, as on EC2."""
        try:
            return self._answer(call, self._machine(call), now)
        except Refused as refused:
            return Answer(refused.status, refused.message.encode(), PLAIN)

    def _machine(self, call: Call) -> Record:
        """Return the instance of the listener, or else the instance with the caller's address."""
        found = find(self.cloud_state, call)
        if found is None:
            raise Refused("", f"the sandbox has no instance {call.machine or call.source}\n", 404)
        return found

    def _answer(self, call: Call, machine: Record, now: float) -> Answer:
        options = machine.inputs.get("metadataOptions") or {}
        if options.get("httpEndpoint") == "disabled" or "x-forwarded-for" in call.headers:
            raise Refused("", "", 403)
        version, _, path = call.path.lstrip("/").partition("/")
        if call.path == "/latest/api/token":
            return self._token(call, machine, now, int(options.get("httpPutResponseHopLimit") or 1))
        if call.method not in ("GET", "HEAD"):
            raise Refused("", "", 405)
        token = call.headers.get(TOKEN)
        known = token is not None and self._is_good(token, machine, now)
        if not known and (token is not None or options.get("httpTokens") == "required"):
            raise Refused("", "", 401)
        if not version:
            return Answer(200, "\n".join(VERSIONS).encode(), PLAIN)
        if version not in VERSIONS:
            raise Refused("", "", 404)
        return self._value(machine, path, now)

    def _token(self, call: Call, machine: Record, now: float, hops: int) -> Answer:
        if call.method != "PUT":
            raise Refused("", "", 405)
        seconds = call.headers.get(TTL, "")
        if not seconds.isdigit() or not 1 <= int(seconds) <= LONGEST:
            raise Refused("", "", 400)
        until = str(int(now) + int(seconds))
        token = base64.urlsafe_b64encode(f"{until}/{self._mac(machine, until)}".encode())
        return Answer(200, token, {**PLAIN, TTL: seconds}, hops)

    def _is_good(self, token: str, machine: Record, now: float) -> bool:
        try:
            until, _, mac = base64.urlsafe_b64decode(token).decode().partition("/")
        except (binascii.Error, ValueError):
            return False
        return hmac.compare_digest(self._mac(machine, until), mac) and now < int(until)

    def _mac(self, machine: Record, text: str) -> str:
        return hmac.new(signing_key(self.cloud_state), f"{machine.id}/{text}".encode(), "sha256").hexdigest()

    def _value(self, machine: Record, path: str, now: float) -> Answer:
        value: Any = self._tree(machine, now)
        for part in filter(None, path.split("/")):
            value = value.get(part) if isinstance(value, dict) else None
        if value is None:
            raise Refused("", "", 404)
        if isinstance(value, dict):
            value = "\n".join(f"{name}/" if isinstance(each, dict) else name for name, each in value.items())
        body = value if isinstance(value, bytes) else value.encode()
        return Answer(200, body, {"content-type": "application/octet-stream"} if isinstance(value, bytes) else PLAIN)

    def _tree(self, machine: Record, now: float) -> dict[str, Any]:
        """Return everything below a version: folders are dicts; values that the instance lacks are left out."""
        tree: dict[str, Any] = {
            "dynamic": {"instance-identity": {"document": json.dumps(_document(machine), indent=2)}},
            "meta-data": _values(self.cloud_state, machine) | self._identity(machine, now),
            "user-data": _user_data(machine.inputs),
        }
        return {name: value for name, value in tree.items() if value}

    def _identity(self, machine: Record, now: float) -> dict[str, Any]:
        role = role_of(self.cloud_state, machine)
        if role is None:
            return {}
        if not may_assume(role):
            message = f"EC2 cannot assume the role {role.id}. Please see documentation"
            code, given = "AssumeRoleUnauthorizedAccess", {"Message": message}
        else:
            made, code = issue(self.cloud_state, machine.id, role, now, self.lifetime), "Success"
            given = {"Type": "AWS-HMAC", "AccessKeyId": made.key_id, "SecretAccessKey": made.secret}
            given |= {"Token": made.token, "Expiration": iso(made.expires)}
        info: dict[str, Any] = {"Code": code, "LastUpdated": iso(now)}
        if profile := self.cloud_state.find(PROFILE, machine.inputs["iamInstanceProfile"]):
            info |= {"InstanceProfileArn": profile.outputs["arn"], "InstanceProfileId": profile.outputs["uniqueId"]}
        document = {"Code": code, "LastUpdated": iso(now), **given}
        return {"iam": {"info": json.dumps(info), "security-credentials": {role.id: json.dumps(document, indent=2)}}}


def _values(cloud_state: CloudState, machine: Record) -> dict[str, Any]:
    given, private = machine.outputs, machine.outputs["privateIp"]
    subnet = cloud_state.find(SUBNET, given.get("subnetId") or "")
    public = {"public-hostname": given["publicDns"], "public-ipv4": given["publicIp"]} if given.get("publicIp") else {}
    mac, end = _hardware_address(private), interruptions.announced(cloud_state, machine)
    notice = {"action": "terminate", "time": iso(end)} if end else {}
    interface = {"device-number": "0", "interface-id": given["primaryNetworkInterfaceId"], "mac": mac}
    interface |= {"local-hostname": given["privateDns"], "local-ipv4s": private, "owner-id": ACCOUNT}
    interface |= {"security-group-ids": "\n".join(given.get("vpcSecurityGroupIds") or [])}
    if subnet:
        interface |= {"subnet-id": subnet.id, "subnet-ipv4-cidr-block": subnet.inputs["cidrBlock"]}
        interface |= {"vpc-id": subnet.inputs["vpcId"]}
    return {
        "ami-id": given["ami"],
        "ami-launch-index": "0",
        "block-device-mapping": {"ami": "/dev/sda1", "root": "/dev/sda1"},
        "hostname": given["privateDns"],
        "instance-action": "none",
        "instance-id": machine.id,
        "instance-life-cycle": "spot" if interruptions.is_spot(machine) else "on-demand",
        "instance-type": given["instanceType"],
        "local-hostname": given["privateDns"],
        "local-ipv4": private,
        "mac": mac,
        "network": {"interfaces": {"macs": {mac: interface}}},
        "placement": {"availability-zone": given["availabilityZone"], "region": machine.region},
        **public,
        "reservation-id": f"r-{machine.id.removeprefix('i-')}",
        "services": {"domain": "amazonaws.com", "partition": "aws"},
        **({"spot": {"instance-action": json.dumps(notice), "termination-time": notice["time"]}} if notice else {}),
    }


def _document(machine: Record) -> dict[str, Any]:
    given = machine.outputs
    return {
        "accountId": ACCOUNT,
        "architecture": offerings.architecture(given["instanceType"]),
        "availabilityZone": given["availabilityZone"],
        "imageId": given["ami"],
        "instanceId": machine.id,
        "instanceType": given["instanceType"],
        "pendingTime": machine.created,
        "privateIp": given["privateIp"],
        "region": machine.region,
        "version": "2017-09-30",
    }


def _user_data(inputs: dict[str, Any]) -> bytes:
    """Return user-data as given: the provider encodes it unless it is base64, and the service decodes it once."""
    text = inputs.get("userDataBase64") or inputs.get("userData") or ""
    if not isinstance(text, str):
        return b""  # user-data is a secret that the cloud state does not keep
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text.encode()


def _hardware_address(address: str) -> str:
    """Return a MAC address of its own for each machine: 02, then 0a and the IP address."""
    return ":".join(f"{part:02x}" for part in (0x02, 0x0A, *map(int, address.split("."))))


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal: its HTTP status alone."""
    return Answer(LATER if refused.why == "throttled" else refused.status or 500), ""
