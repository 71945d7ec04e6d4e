"""What a machine on AWS talks to, for one test: the sandbox's services with one machine, all on loopback.

Tests put objects and secrets in by name. `/public/...` is for everyone; all else takes the machine's signature.
"""

import json
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.aws import network
from sandbox.aws.iam import PROFILE, ROLE, ROLE_POLICY
from sandbox.aws.regions import ACCOUNT
from sandbox.aws.s3 import BUCKET, BUCKET_POLICY
from sandbox.aws.secretsmanager import ENTRY
from sandbox.records import Record
from sandbox.services.server import Asked, Services
from sandbox.world import SERVICES, World

REGION = "eu-west-1"
ROLE_NAME = "web"
INSTANCE = "i-0123456789abcdef0"
BUCKETS = ("bundles", "public", "snapshots", "status")
TRUST = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}
EVERYTHING = {"Effect": "Allow", "Action": ["s3:*", "secretsmanager:*", "ec2:DescribeInstances"], "Resource": "*"}
PUBLIC = ["arn:aws:s3:::public", "arn:aws:s3:::public/*"]
FOR_ALL = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": PUBLIC, "Principal": "*"}


def _document(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


class Objects(MutableMapping[str, bytes]):
    """Objects by path: /BUCKET/KEY."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __getitem__(self, path: str) -> bytes:
        bucket, _, key = path[1:].partition("/")
        return self.world.objects(bucket)[key].content

    def __setitem__(self, path: str, content: bytes) -> None:
        bucket, _, key = path[1:].partition("/")
        assert bucket in BUCKETS, path
        with self.world.transaction():
            self.world.put_object(bucket, key, content, "application/octet-stream", versioned=False)

    def __delitem__(self, path: str) -> None:
        bucket, _, key = path[1:].partition("/")
        self.world.remove_object(bucket, key)

    def __iter__(self) -> Iterator[str]:
        return (f"/{bucket}/{key}" for bucket in BUCKETS for key in self.world.objects(bucket))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __ior__(self, others: dict[str, bytes]) -> "Objects":
        self.update(others)
        return self


class Secrets(MutableMapping[str, str]):
    """Current values by name."""

    def __init__(self, world: World) -> None:
        self.world = world

    def _arn(self, name: str) -> str:
        return f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:{name}-abcdef"

    def __getitem__(self, name: str) -> str:
        return list(self.world.secret_values(self._arn(name)).values())[-1]

    def __setitem__(self, name: str, value: str) -> None:
        with self.world.transaction():
            if not self.world.find(ENTRY, self._arn(name)):
                put(self.world, ENTRY, self._arn(name), {"name": name})
            self.world.put_secret(self._arn(name), f"{len(self.world.secret_values(self._arn(name))):032}", value)

    def __delitem__(self, name: str) -> None:
        self.world.remove_secret(self._arn(name))

    def __iter__(self) -> Iterator[str]:
        return (one.inputs["name"] for one in self.world.resources(ENTRY))

    def __len__(self) -> int:
        return len(self.world.resources(ENTRY))

    def __ior__(self, others: dict[str, str]) -> "Secrets":
        self.update(others)
        return self


class Texts(list[Any]):
    """Requests as tests compare them: `GET /bundles/x 200`, with `refused` before what was not let in."""

    def append(self, asked: Asked) -> None:
        unknown = asked.code and not asked.caller and asked.status != 404
        refused = "refused " if asked.status in (401, 403) or unknown else ""
        super().append(f"{refused}{asked.method} {asked.path} {asked.status}")


@dataclass
class Cloud:
    """Its content, and what it was asked. url: of all services alike."""

    url: str
    services: Services
    objects: Objects
    secrets: Secrets

    @property
    def asked(self) -> list[Any]:
        """Requests so far, as texts; may be cleared."""
        return self.services.asked

    def refused(self) -> list[str]:
        """Requests whose signature, token or right was wrong."""
        return [each for each in self.asked if each.startswith("refused")]

    def fail(self, path: str, statuses: Iterable[int]) -> None:
        """Answer the next requests for a path with these statuses, in order, and do nothing."""
        for nth, status in enumerate(statuses, 1):
            self.services.faults.plan(f"* {path}", "status", status, nth=nth)

    def failing(self) -> bool:
        """Whether some of these statuses were not asked for."""
        return bool(self.services.faults.left())

    def hang(self, path: str) -> None:
        """Answers for a path stop in the middle, until `release`."""
        self.services.faults.plan(f"* {path}", "stall", times=1000)

    def release(self) -> None:
        """Let go what hangs, and forget what shall fail."""
        self.services.faults.release()


def put(world: World, type: str, id: str, inputs: dict[str, Any], /, **computed: Any) -> None:
    """A thing as the provider would have made it."""
    urn = f"urn:pulumi:test::mullion::{type}::{id}"
    sequence = world.next_sequence()
    world.put(Record(sequence, type, id, id, urn, REGION, inputs, inputs | computed, "2026-01-01T00:00:00Z"))
    links = {ROLE_POLICY: ("role", ROLE), BUCKET_POLICY: ("bucket", BUCKET)}
    if type in links:
        path, target = links[type]
        world.link(sequence, [(path, target, inputs[path], "vanish")])


def _fill(world: World) -> None:
    """One machine, its role, the buckets."""
    role = f"arn:aws:iam::{ACCOUNT}:role/{ROLE_NAME}"
    with world.transaction():
        world.set_setting(SERVICES, "http")
        for name in BUCKETS:
            put(world, BUCKET, name, {"bucket": name})
        put(world, BUCKET_POLICY, "public", {"bucket": "public", "policy": _document(FOR_ALL)})
        put(world, ROLE, ROLE_NAME, {"assumeRolePolicy": _document(TRUST)}, arn=role, uniqueId="AROAEXAMPLE")
        put(world, ROLE_POLICY, "all", {"role": ROLE_NAME, "policy": _document(EVERYTHING)})
        put(
            world,
            PROFILE,
            ROLE_NAME,
            {"role": ROLE_NAME},
            arn=role.replace("role/", "instance-profile/"),
            uniqueId="AIPA",
        )
        given: dict[str, Any] = {"iamInstanceProfile": ROLE_NAME, "ami": "ami-0", "instanceType": "m6i.large"}
        given["metadataOptions"] = {"httpTokens": "required", "httpPutResponseHopLimit": 1}
        addresses = {"privateIp": "10.20.1.4", "privateDns": "ip-10-20-1-4.eu-west-1.compute.internal"}
        more = {"primaryNetworkInterfaceId": "eni-0", "availabilityZone": f"{REGION}a", "tenancy": "default"}
        put(world, network.INSTANCE, INSTANCE, given, **addresses, **more)


@contextmanager
def serving(
    folder: Path, address: str = "127.0.0.1", here: Callable[[Callable[[], str]], str] = lambda call: call()
) -> Iterator[Cloud]:
    """A cloud on a free port; its world is a file of the folder. `here` opens its socket where that shall be."""
    world = World(folder / "world")
    _fill(world)
    with Services(world.path) as services:
        services.asked = Texts()
        url = here(lambda: services.listen(address, machine=INSTANCE))
        yield Cloud(url, services, Objects(world), Secrets(world))
    world.close()
