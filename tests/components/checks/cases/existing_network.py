"""Existing networks."""

from typing import Any

from tests.components.spec.documents import Case, Change, azure, both, gcp, net
from tests.existing_networks import EXISTING

_AWS, _AZURE, _GCP = (EXISTING[cloud] for cloud in ("aws", "azure", "gcp"))
_MACHINES = [f"network.existing.subnets.{index}" for index in range(3)]
_EDGE = ["subnet-0fedcba9876543210"]
_PUBLIC: Change = {"api": {"access": "public", "allow": ["198.18.0.0/24"]}}


def existing(network: dict[str, Any] = _AWS, /, **fields: Any) -> Change:
    return net(existing={**network, **fields})


def subnets(network: dict[str, Any] = _AWS, /, index: int = 0, **fields: Any) -> Change:
    """Return an existing network with changed fields of one subnet."""
    listed = [dict(each) for each in network["subnets"]]
    listed[index].update(fields)
    return existing(network, subnets=listed)


CASES = (
    Case("existing-network-id", existing(network="vpc-1"), "network.existing.network", existing()),
    Case("existing-network-id", azure(existing()), "network.existing.network", azure(existing(_AZURE))),
    Case("existing-subnet-id", subnets(id="nodes"), f"{_MACHINES[0]}.id", existing()),
    Case(
        "existing-subnet-id",
        both(_PUBLIC, existing(public_subnets=["edge"])),
        "network.existing.public_subnets.0",
        both(_PUBLIC, existing(public_subnets=_EDGE)),
    ),
    Case(
        "existing-subnet-elsewhere",
        azure(subnets(_AZURE, id=_AZURE["subnets"][0]["id"].replace("shared", "other"))),
        f"{_MACHINES[0]}.id",
        azure(existing(_AZURE)),
    ),
    Case(
        "existing-subnet-elsewhere",
        gcp(subnets(_GCP, id="projects/host-project/regions/europe-west4/subnetworks/nodes")),
        f"{_MACHINES[0]}.id",
        gcp(existing(_GCP)),
    ),
    Case(
        "existing-subnet-count",
        both(existing(subnets=_AWS["subnets"][:1]), net(zones=3)),
        "network.existing.subnets",
        existing(),
    ),
    Case("existing-subnet-count", existing(subnets=[]), "network.existing.subnets", gcp(existing(_GCP))),
    Case("existing-subnet-twice", subnets(index=1, id=_AWS["subnets"][0]["id"]), f"{_MACHINES[1]}.id", existing()),
    Case(
        "existing-public-subnets-shared",
        both(_PUBLIC, existing(public_subnets=[_AWS["subnets"][0]["id"]])),
        "network.existing.public_subnets.0",
        both(_PUBLIC, existing(public_subnets=_EDGE)),
    ),
    Case(
        "existing-subnet-twice",
        both(_PUBLIC, existing(public_subnets=[*_EDGE, *_EDGE])),
        "network.existing.public_subnets.1",
        both(_PUBLIC, existing(public_subnets=_EDGE)),
    ),
    Case(
        "existing-subnets-overlap",
        subnets(index=1, range="10.30.64.0/21"),
        f"{_MACHINES[1]}.range",
        subnets(index=1, range="10.30.80.0/21"),
    ),
    Case(
        "existing-subnet-outside-nodes",
        both(existing(), net(nodes="10.30.64.0/18")),
        f"{_MACHINES[1]}.range",
        both(existing(), net(nodes="10.30.0.0/16")),
    ),
    Case(
        "existing-subnet-too-small",
        subnets(index=1, range="10.30.128.0/26"),
        f"{_MACHINES[1]}.range",
        subnets(index=1, range="10.30.128.0/25"),
    ),
    Case(
        "existing-subnet-too-small",
        gcp(subnets(_GCP, range="10.30.0.0/24")),
        f"{_MACHINES[0]}.range",
        gcp(subnets(_GCP, range="10.30.0.0/23")),
    ),
    Case(
        "existing-network-routed",
        both(existing(), net(mode="l2bridge", pods="10.128.0.0/9")),
        "network.mode",
        gcp(both(existing(_GCP), net(mode="l2bridge", pods="10.128.0.0/9"))),
    ),
    Case(
        "existing-network-zonal-nat",
        both(existing(), net(nat_gateways="zonal")),
        "network.nat_gateways",
        existing(),
    ),
    Case(
        "existing-public-subnets-missing",
        both(_PUBLIC, existing()),
        "network.existing.public_subnets",
        both(_PUBLIC, existing(public_subnets=_EDGE)),
    ),
    Case(
        "existing-public-subnets-unused",
        existing(public_subnets=_EDGE),
        "network.existing.public_subnets",
        existing(),
    ),
    Case(
        "existing-private-zone-unused",
        azure(existing(_AZURE, private_zone="Z0123456789")),
        "network.existing.private_zone",
        existing(private_zone="Z0123456789"),
    ),
    Case("existing-network-packet-size", gcp(existing(_GCP)), "network.existing.network", azure(existing(_AZURE))),
)
