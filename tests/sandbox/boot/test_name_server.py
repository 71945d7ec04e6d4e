"""The name server of a booted cluster."""

import struct
from pathlib import Path

import pytest

from sandbox.aws.boot_services import RECORD
from sandbox.aws.network import BALANCER, INSTANCE
from sandbox.aws.route53 import ZONE
from sandbox.boot import name_server
from sandbox.cloud_state import CloudState
from sandbox.records import Record

SERVICES = "10.20.0.1"


def question(name: str, kind: int = name_server.A, number: int = 7) -> bytes:
    labels = b"".join(bytes([len(each)]) + each.encode() for each in name.split("."))
    return (
        struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, name_server.IN)
    )


@pytest.fixture
def cloud_state(tmp_path: Path) -> CloudState:
    """A private zone with a name at a machine and one at a load balancer."""
    cloud_state = CloudState(tmp_path / "world.db")
    balancer = {"subnetMappings": [{"privateIpv4Address": "10.20.0.9"}, {"privateIpv4Address": "10.20.1.9"}]}
    alias = {"zoneId": "Z1", "type": "A", "aliases": [{"name": "Inner-1.elb.eu-west-1.amazonaws.com."}]}
    rows = [
        (ZONE, "Z1", {"name": "c.mullion.internal"}, {}),
        (BALANCER, "b", balancer, {"dnsName": "inner-1.elb.eu-west-1.amazonaws.com"}),
        (
            RECORD,
            "r1",
            {"zoneId": "Z1", "type": "A", "records": ["10.20.0.4"]},
            {"fqdn": "one.c.mullion.internal"},
        ),
        (RECORD, "r2", alias, {"fqdn": "api.c.mullion.internal"}),
    ]
    with cloud_state.transaction():
        for number, (type, id, inputs, outputs) in enumerate(rows):
            cloud_state.put(Record(number, type, id, id, f"urn::{id}", "eu-west-1", inputs, {**inputs, **outputs}, ""))
    return cloud_state


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("one.c.mullion.internal", ["10.20.0.4"]),
        ("api.c.mullion.internal", ["10.20.0.9", "10.20.1.9"]),
        ("inner-1.elb.eu-west-1.amazonaws.com", ["10.20.0.9", "10.20.1.9"]),
        ("bundles-1.s3.eu-west-1.amazonaws.com", [SERVICES]),
        ("secretsmanager.eu-west-1.amazonaws.com", [SERVICES]),
        (name_server.MIRROR, [SERVICES]),
        ("two.c.mullion.internal", None),
        ("example.org", None),
        ("s3.eu-west-1.amazonaws.com.example.org", None),
    ],
)
def test_names_of_zones_services_and_load_balancers_resolve_and_no_others(
    cloud_state: CloudState, name: str, expected: list[str] | None
) -> None:
    assert name_server.addresses(cloud_state, name, SERVICES) == expected


def test_a_service_that_machines_have_no_way_to_has_an_address_that_answers_nothing(cloud_state: CloudState) -> None:
    """A machine in a subnet without routes, and no endpoint: AWS's resolver then gives the public address."""
    inputs = {"subnetId": "subnet-1", "vpcSecurityGroupIds": []}
    with cloud_state.transaction():
        found = Record(9, INSTANCE, "i-1", "m", "urn::m", "eu-west-1", inputs, inputs | {"privateIp": "10.20.0.8"}, "")
        cloud_state.put(found)
    for service in ("bundles-1.s3", "secretsmanager", "ec2"):
        assert name_server.addresses(cloud_state, f"{service}.eu-west-1.amazonaws.com", SERVICES) == [
            name_server.NOWHERE
        ]
    assert name_server.addresses(cloud_state, name_server.MIRROR, SERVICES) == [SERVICES]


def test_an_answer_repeats_the_question_and_has_all_addresses() -> None:
    said = name_server.answer(
        question("API.c.internal"), lambda name: ["10.0.0.1", "10.0.0.2"] if name == "api.c.internal" else None
    )
    number, flags, questions, answers, *_ = struct.unpack_from(">HHHHHH", said)
    assert (number, flags & 0x800F, questions, answers) == (7, 0x8000, 1, 2)
    assert said[12 : len(question("API.c.internal"))] == question("API.c.internal")[12:]
    assert (bytes([10, 0, 0, 1]) in said, said.endswith(bytes([10, 0, 0, 2]))) == (True, True)


def test_a_name_without_ipv6_address_exists_and_an_unknown_name_does_not() -> None:
    ipv6 = name_server.answer(question("a.internal", kind=28), lambda _: ["10.0.0.1"])
    assert (ipv6[3] & 0xF, struct.unpack_from(">H", ipv6, 6)[0]) == (0, 0), (
        "no error and no answer: the name may have A records"
    )
    unknown = name_server.answer(question("b.internal"), lambda _: None)
    assert unknown[3] & 0xF == 3, "NXDOMAIN"


@pytest.mark.parametrize("message", [b"", b"\0" * 12, question("a.b")[:14]], ids=["empty", "no question", "cut"])
def test_an_invalid_message_is_not_answered(message: bytes) -> None:
    with pytest.raises((ValueError, IndexError, struct.error)):
        name_server.answer(message, lambda _: ["10.0.0.1"])
