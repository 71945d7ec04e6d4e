"""A cluster of `mullion up --sandbox`, its cloud services in their own network, and its machines' addresses there."""

import ipaddress
import json
import os
import time
from collections.abc import Callable, Iterator
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
from sandbox.aws.s3 import ACCESS_BLOCK, BUCKET, BUCKET_POLICY
from sandbox.boot.network_namespaces import within
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.credentials import role_of
from sandbox.services.server import METADATA_ADDRESS, Services
from tests import clones

STACK = "boot-to-ready"
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
    """The cloud's state, its services, and the network in which machines reach them."""

    cloud_state: CloudState
    services: Services
    net: str
    public: str
    """Bucket with public objects, for artifacts."""
    given: dict[str, str]
    """User-data of each machine as the program wrote it, by instance id."""
    others: dict[str, str] = field(default_factory=dict[str, str])
    """Addresses of more host names that machines resolve, besides those of the services."""

    def machine(self, pool: str) -> Record:
        """Return the first machine of a pool."""
        machines = [
            instance
            for instance in self.cloud_state.resources(INSTANCE)
            if self.told(instance)["machine"]["pool"] == pool
        ]
        return machines[0]

    def told(self, instance: Record) -> dict[str, Any]:
        """Return the document in a machine's user-data."""
        document = MACHINES.document(instance.inputs)
        assert document is not None, instance.name
        return document

    def join(self, instance: Record) -> str:
        """Create the machine's network namespace with its own address, and return the namespace's name."""
        network.add(self.net, instance.id, instance.outputs["privateIp"])
        return f"{self.net}-{instance.id}"

    def name_bundle(self, instance: Record, bundle: Bundle) -> None:
        """Replace the bundle's URL and digest in the machine's user-data; the rest stays."""
        now = self.cloud_state.find(INSTANCE, instance.id)
        assert now is not None
        document, text = self.told(now), now.inputs["userData"]
        old, new = document["bundle"], f"{document['facts']['bundle_store']}/{bundle.key}"
        assert text.count(old["url"]) == 1
        text = text.replace(old["url"], new).replace(old["sha256"], bundle.sha256)
        tamper.change(self.cloud_state, now, {"userData": text})

    def name_own_bundle(self, instance: Record) -> None:
        """Restore the user-data that the program wrote."""
        now = self.cloud_state.find(INSTANCE, instance.id)
        assert now is not None
        tamper.change(self.cloud_state, now, {"userData": self.given[instance.id]})

    def user_data(self, space: str) -> str:
        """Return the user-data that the metadata service serves in this namespace."""

        def ask() -> str:
            base, seconds = f"http://{METADATA_ADDRESS}/latest", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
            with urlopen(Request(f"{base}/api/token", method="PUT", headers=seconds), timeout=10) as answer:
                token = {"X-aws-ec2-metadata-token": answer.read().decode()}
            with urlopen(Request(f"{base}/user-data", headers=token), timeout=10) as answer:
                return answer.read().decode()

        return within(space, ask)

    def store(self, bundle: Bundle, content: bytes | None = None) -> None:
        """Store a bundle in the cluster's bundle store; `content` replaces its bytes."""
        self.put(self.bucket, bundle.key, bundle.content if content is None else content)

    def put(self, bucket: str, key: str, content: bytes) -> None:
        """Store an object."""
        with self.cloud_state.transaction():
            self.cloud_state.put_object(bucket, key, content, "application/octet-stream", versioned=False)

    @property
    def bucket(self) -> str:
        """Return the bucket of the bundle store."""
        return next(bucket.id for bucket in self.cloud_state.resources(BUCKET) if "bundles" in bucket.name)

    def key(self, instance: Record) -> str:
        """Return the key of a machine's status record."""
        role = role_of(self.cloud_state, instance)
        assert role is not None
        return f"status/{role.outputs['uniqueId']}:{instance.id}.json"

    def record(self, instance: Record) -> dict[str, Any]:
        """Return a machine's status record; empty if it has none."""
        stored = self.cloud_state.objects(self.bucket).get(self.key(instance))
        return json.loads(stored.content) if stored else {}

    def forget(self, instance: Record) -> None:
        """Remove a machine's record, pending faults, and the list of requests."""
        with self.cloud_state.transaction():
            self.cloud_state.remove_object(self.bucket, self.key(instance))
        self.services.faults.release()
        self.services.asked.clear()

    def set_secret(self, fact: str, instance: Record, value: str) -> None:
        """Write a secret's value, as the control plane would; `fact` contains its name."""
        with self.cloud_state.transaction():
            self.cloud_state.put_secret(self._arn(fact, instance), f"{time.time_ns():032}", value)

    def secret(self, fact: str, instance: Record) -> str:
        """Return a secret's newest value; `fact` contains its name."""
        return list(self.cloud_state.secret_values(self._arn(fact, instance)).values())[-1]

    def _arn(self, fact: str, instance: Record) -> str:
        name = self.told(instance)["facts"][fact]
        return next(each.id for each in self.cloud_state.resources() if each.outputs.get("name") == name)

    def names(self) -> list[str]:
        """Return all host names of the services."""
        buckets = [f"{bucket.id}.s3.{REGION}.amazonaws.com" for bucket in self.cloud_state.resources(BUCKET)]
        return [*buckets, f"secretsmanager.{REGION}.amazonaws.com", f"ec2.{REGION}.amazonaws.com"]

    def hosts(self) -> str:
        """Return /etc/hosts of a machine: all names of the services."""
        addresses = {**dict.fromkeys(self.names(), self.services_address), **self.others}
        return "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in addresses.items())

    @property
    def services_address(self) -> str:
        """Return the bridge's address, which is the router's address on AWS."""
        return str(ipaddress.ip_network("10.20.0.0/16")[1])


def _open_to_all(cloud_state: CloudState, bucket: str) -> None:
    """Create a bucket outside the cluster whose objects everyone may read."""
    arn = f"arn:aws:s3:::{bucket}"
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"{arn}/*"}
    policy = {"bucket": bucket, "policy": json.dumps({"Version": "2012-10-17", "Statement": [statement]})}
    opened = {"bucket": bucket, "blockPublicPolicy": False, "restrictPublicBuckets": False}
    with cloud_state.transaction():
        for type, inputs in ((BUCKET, {"bucket": bucket}), (ACCESS_BLOCK, opened), (BUCKET_POLICY, policy)):
            number, urn = cloud_state.next_sequence(), f"urn:pulumi:other::other::{type}::{bucket}"
            cloud_state.put(Record(number, type, bucket, bucket, urn, REGION, inputs, inputs, "2026-01-01T00:00:00Z"))
            if type != BUCKET:
                cloud_state.link(number, [("bucket", BUCKET, bucket, "vanish")])


@contextmanager
def lab(folder: Path, spec: str = SPEC) -> Iterator[Lab]:
    """Create a lab whose cluster is up; remove its network at the end."""
    with lab_network("way") as net, lab_in(net, folder, spec) as made:
        yield made


@contextmanager
def lab_network(prefix: str) -> Iterator[str]:
    """Create a network with the address of the metadata service, and yield its name; remove it at the end."""
    net = f"{prefix}{os.getpid()}"
    network.up(net, "10.20.0.0/16")
    try:
        network.run("-n", net, "addr", "add", f"{METADATA_ADDRESS}/32", "dev", "br0")
        yield net
    finally:
        network.down(net)


@contextmanager
def lab_in(
    net: str, folder: Path, spec: str, before: Callable[[CloudState], None] = lambda cloud_state: None
) -> Iterator[Lab]:
    """Create a lab in this network, whose cluster is up. before: creates in the sandbox what the stack needs."""
    cloud_state = clones.up(folder, STACK, spec, before)
    try:
        _open_to_all(cloud_state, "publisher")
        with Services(cloud_state.path) as services:
            within(net, lambda: services.listen("0.0.0.0", 80))
            user_data = {instance.id: instance.inputs["userData"] for instance in cloud_state.resources(INSTANCE)}
            yield Lab(cloud_state, services, net, "publisher", user_data)
    finally:
        cloud_state.close()
