"""Ways out of an existing VPC that are not one route to 0.0.0.0/0: two halves of it, and prefix lists."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.spec.models import Egress
from sandbox.aws.network import TABLE
from sandbox.aws.private_ways import HALVES
from sandbox.cloud_state import CloudState
from tests import existing_networks
from tests.components.wiring.test_existing_network import LOOKS, ZONES, Asked, asked, changed

TO_GATEWAY: dict[str, Any] = {"natGatewayId": None, "gatewayId": "igw-0123456789abcdef0"}
LIST: dict[str, Any] = {"destinationCidrBlock": None, "destinationPrefixListId": "pl-0123456789abcdef0"}


def halved(**second: Any) -> Callable[[CloudState], None]:
    """Return the division by hand of default routes into two halves. second: values of the second half."""

    def halve(cloud_state: CloudState) -> None:
        number = max(each.sequence for each in cloud_state.resources())
        for part in existing_networks.yours(cloud_state):
            if part.type.endswith(":Route"):
                number += 1
                first = {**part.inputs, "destinationCidrBlock": HALVES[0]}
                other = {**part.inputs, **second, "destinationCidrBlock": HALVES[1]}
                cloud_state.put(replace(part, inputs=first, outputs={**part.outputs, **first}))
                place = {"sequence": number, "id": f"{part.id}-half", "urn": f"{part.urn}-half"}
                cloud_state.put(replace(part, **place, inputs=other, outputs={**part.outputs, **other}))
                cloud_state.link(number, [("routeTableId", TABLE, part.inputs["routeTableId"], "refuse")])

    return halve


def looked_at(folder: Path, drift: Callable[[CloudState], None], *, closed: bool = False, **network: Any) -> Asked:
    """Return the lookups after their look at the changed network. closed: the network has no way to the internet."""
    lookups = asked("aws", folder, drift, **network)
    if closed:
        without = lookups.spec.network.model_copy(update={"egress": Egress.NONE})
        lookups.spec = lookups.spec.model_copy(update={"network": without})
    asyncio.run(LOOKS["aws"](lookups))
    return lookups


ACCEPTED: dict[str, tuple[dict[str, Any], Callable[[CloudState], None], str]] = {
    "halves": ({}, halved(), ""),
    "prefix list": ({}, changed("Route", **LIST), "a route of subnet-0123456789abcdef1 to nat-"),
    "prefix list of public machines": (
        {"egress": "public"},
        changed("Route", **LIST, **TO_GATEWAY),
        "subnet-0123456789abcdef1 to igw-0123456789abcdef0 has a prefix list",
    ),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_a_way_out_in_parts_is_accepted_and_an_unknown_one_is_a_warning(case: str, tmp_path: Path) -> None:
    fields, drift, warning = ACCEPTED[case]
    lookups = asked("aws", tmp_path, drift, **fields)
    assert asyncio.run(LOOKS["aws"](lookups)) == ZONES["aws"]
    lookups.finish()
    assert bool(lookups.warnings) == bool(warning) and warning in "\n".join(lookups.warnings)


REFUSED: dict[str, tuple[dict[str, Any], Callable[[CloudState], None], str]] = {
    "half to an internet gateway": ({}, halved(**TO_GATEWAY), "can use: nat-"),
    "one half": ({}, changed("Route", destinationCidrBlock=HALVES[0]), "can use: none"),
    "public machines with a half behind NAT": ({"egress": "public"}, halved(), "not to an internet gateway"),
    "no way out, and halves": ({"closed": True}, halved(), "egress: none says that there is no way out"),
    "no way out, and one half": (
        {"closed": True},
        changed("Route", destinationCidrBlock=HALVES[1]),
        "egress: none says that there is no way out",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_way_out_in_parts_that_does_not_fit_is_refused(case: str, tmp_path: Path) -> None:
    fields, drift, text = REFUSED[case]
    lookups = looked_at(tmp_path, drift, **fields)
    with pytest.raises(pulumi.RunError) as refused:
        lookups.finish()
    lines = str(refused.value).split("\n  network.existing.")
    assert any(line.startswith("subnets.0.id: ") and text in line for line in lines), str(refused.value)


def test_without_a_way_out_a_prefix_list_is_a_warning(tmp_path: Path) -> None:
    lookups = looked_at(tmp_path, changed("Route", **LIST), closed=True)
    assert "they may be the way to the internet" in "\n".join(lookups.warnings)
