"""A cluster of `mullion up --sandbox`, its services in a network of their own, and its machines' addresses there."""

import ipaddress
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from components.machine.bundle import Bundle
from lab.linuxnode import network
from sandbox import tamper
from sandbox.aws.boot_obstacles import MACHINES
from sandbox.aws.network import INSTANCE
from sandbox.aws.s3 import BUCKET, BUCKET_POLICY
from sandbox.boot.network_namespaces import within
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.credentials import role_of
from sandbox.services.server import METADATA_ADDRESS, Services
from tests import clones

STACK = "whole-way"
REGION = "eu-west-1"
SPEC = """\
config:
  aws:region: eu-west-1
  mullion:cluster:
    cloud: aws
    kubernetes: "1.36.4"
    pools:
      linux: {os: ubuntu-24.04, count: 1}
      web: {os: windows-2022, count: 1}
"""


@dataclass
class Lab:
    """The world, its services, and the network that both are reached in."""

    cloud_state: CloudState
    services: Services
    net: str
    public: str
    """Bucket whose objects are for everyone: where artifacts come from."""
    given: dict[str, str]
    """User-data of each machine as the program made it, by instance id."""
    others: dict[str, str] = field(default_factory=dict[str, str])
    """Addresses of names that machines find besides those of the services."""

    def machine(self, pool: str) -> Record:
        """The first machine of a pool."""
        found = [one for one in self.cloud_state.resources(INSTANCE) if self.told(one)["machine"]["pool"] == pool]
        return found[0]

    def told(self, one: Record) -> dict[str, Any]:
        """What the program put into a machine's user-data."""
        found = MACHINES.document(one.inputs)
        assert found is not None, one.name
        return found

    def join(self, one: Record) -> str:
        """The network namespace of a machine, with its own address."""
        network.add(self.net, one.id, one.outputs["privateIp"])
        return f"{self.net}-{one.id}"

    def name_bundle(self, one: Record, made: Bundle) -> None:
        """Let the machine's user-data name this bundle in the place of its own; nothing else in it changes."""
        now = self.cloud_state.find(INSTANCE, one.id)
        assert now is not None
        found, text = self.told(now), now.inputs["userData"]
        old, new = found["bundle"], f"{found['facts']['bundle_store']}/{made.key}"
        assert text.count(old["url"]) == 1
        text = text.replace(old["url"], new).replace(old["sha256"], made.sha256)
        tamper.change(self.cloud_state, now, {"userData": text})

    def name_own_bundle(self, one: Record) -> None:
        """Let the user-data be as the program made it."""
        now = self.cloud_state.find(INSTANCE, one.id)
        assert now is not None
        tamper.change(self.cloud_state, now, {"userData": self.given[one.id]})

    def user_data(self, space: str) -> str:
        """What the metadata service gives to the machine there."""

        def ask() -> str:
            base, seconds = f"http://{METADATA_ADDRESS}/latest", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
            with urlopen(Request(f"{base}/api/token", method="PUT", headers=seconds), timeout=10) as answer:
                token = {"X-aws-ec2-metadata-token": answer.read().decode()}
            with urlopen(Request(f"{base}/user-data", headers=token), timeout=10) as answer:
                return answer.read().decode()

        return within(space, ask)

    def store(self, made: Bundle, content: bytes | None = None) -> None:
        """Put a bundle where the cluster's bundles are; `content` instead of its own."""
        self.put(self.bucket, made.key, made.content if content is None else content)

    def put(self, bucket: str, key: str, content: bytes) -> None:
        """Put an object."""
        with self.cloud_state.transaction():
            self.cloud_state.put_object(bucket, key, content, "application/octet-stream", versioned=False)

    @property
    def bucket(self) -> str:
        """The bundle store."""
        return next(one.id for one in self.cloud_state.resources(BUCKET) if "bundles" in one.name)

    def key(self, one: Record) -> str:
        """The key of a machine's status record."""
        role = role_of(self.cloud_state, one)
        assert role is not None
        return f"status/{role.outputs['uniqueId']}:{one.id}.json"

    def record(self, one: Record) -> dict[str, Any]:
        """A machine's status record; empty where there is none."""
        stored = self.cloud_state.objects(self.bucket).get(self.key(one))
        return json.loads(stored.content) if stored else {}

    def forget(self, one: Record) -> None:
        """Take away a machine's record, and what shall fail, and what was asked."""
        with self.cloud_state.transaction():
            self.cloud_state.remove_object(self.bucket, self.key(one))
        self.services.faults.release()
        self.services.asked.clear()

    def set_secret(self, fact: str, one: Record, value: str) -> None:
        """Write a secret's value as the control plane would; `fact` has its name."""
        with self.cloud_state.transaction():
            self.cloud_state.put_secret(self._arn(fact, one), f"{time.time_ns():032}", value)

    def secret(self, fact: str, one: Record) -> str:
        """A secret's newest value; `fact` has its name."""
        return list(self.cloud_state.secret_values(self._arn(fact, one)).values())[-1]

    def _arn(self, fact: str, one: Record) -> str:
        name = self.told(one)["facts"][fact]
        return next(each.id for each in self.cloud_state.resources() if each.outputs.get("name") == name)

    def names(self) -> list[str]:
        """Every host name that the services have."""
        buckets = [f"{one.id}.s3.{REGION}.amazonaws.com" for one in self.cloud_state.resources(BUCKET)]
        return [*buckets, f"secretsmanager.{REGION}.amazonaws.com", f"ec2.{REGION}.amazonaws.com"]

    def hosts(self) -> str:
        """/etc/hosts of a machine: every name of the services."""
        found = {**dict.fromkeys(self.names(), self.services_address), **self.others}
        return "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in found.items())

    @property
    def services_address(self) -> str:
        """The bridge's, which is that of the network's router on AWS."""
        return str(ipaddress.ip_network("10.20.0.0/16")[1])


def _open_to_all(cloud_state: CloudState, bucket: str) -> None:
    """A bucket of somebody else's, whose objects everyone may read."""
    arn = f"arn:aws:s3:::{bucket}"
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"{arn}/*"}
    policy = {"bucket": bucket, "policy": json.dumps({"Version": "2012-10-17", "Statement": [statement]})}
    with cloud_state.transaction():
        for type, inputs in ((BUCKET, {"bucket": bucket}), (BUCKET_POLICY, policy)):
            number, urn = cloud_state.next_sequence(), f"urn:pulumi:other::other::{type}::{bucket}"
            cloud_state.put(Record(number, type, bucket, bucket, urn, REGION, inputs, inputs, "2026-01-01T00:00:00Z"))
            if type == BUCKET_POLICY:
                cloud_state.link(number, [("bucket", BUCKET, bucket, "vanish")])


@contextmanager
def lab(folder: Path, spec: str = SPEC) -> Iterator[Lab]:
    """A lab whose cluster is up; it ends with its network."""
    net = f"way{os.getpid()}"
    network.up(net, "10.20.0.0/16")
    try:
        network.run("-n", net, "addr", "add", f"{METADATA_ADDRESS}/32", "dev", "br0")
        cloud_state = clones.up(folder, STACK, spec)
        _open_to_all(cloud_state, "publisher")
        with Services(cloud_state.path) as services:
            within(net, lambda: services.listen("0.0.0.0", 80))
            given = {one.id: one.inputs["userData"] for one in cloud_state.resources(INSTANCE)}
            yield Lab(cloud_state, services, net, "publisher", given)
        cloud_state.close()
    finally:
        network.down(net)
