"""The gate of a rotation of authorities reads the machines and their status records from the cloud, in plain `up`."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from pulumi import automation as auto

from components import cluster
from components.rollout import simulation
from components.rollout.authority_gate import fingerprint
from sandbox.boot.cloud_services import services_of

from . import sampling

pytestmark = [
    pytest.mark.engine,
    # after a refused run the SDK skips closing its event loop
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


@pytest.fixture(scope="module", params=sampling.one(sampling.FOR_CI))
def stack(request: pytest.FixtureRequest, new_stack: Callable[[str], Any]) -> Iterator[Any]:
    """A cluster with a control plane and a worker whose records are judged as those of booted machines."""
    built = new_stack(sampling.drawn(request.param, sampling.FOR_CI, "authorities"))
    built.up()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "is_simulated", lambda target: False)
        yield built


def report(stack: Any, **machines: str) -> None:
    """Write authorities into the status records of machines; their names have _ for -."""
    with closing(stack.cloud_state) as cloud_state, cloud_state.transaction():
        services = services_of(cloud_state)
        for record in services.records(cloud_state):
            document = services.machines.document(record.inputs)
            assert document
            name = document["machine"]["name"]
            place = services.status(record)
            if place is None or name.replace("-", "_") not in machines:
                continue
            stored = cloud_state.object(*place)
            assert stored, name
            content = {**json.loads(stored.content), "authorities": machines[name.replace("-", "_")]}
            cloud_state.put_object(*place, json.dumps(content).encode(), "application/json", versioned=False)


def refused(stack: Any, number: int, *whys: str) -> None:
    """Check that preview and up refuse a number, for these reasons, and change no resource."""
    stack.edit(rotation={"certificate_authorities": number})
    for attempt in (stack.preview, stack.up):
        with pytest.raises(auto.CommandError) as error:
            attempt()
        assert f"rotation.certificate_authorities: {number} is refused, and nothing was changed" in str(error.value)
        assert not [why for why in whys if why not in str(error.value)]


def test_a_number_waits_for_every_machines_record(stack: Any) -> None:
    refused(stack, 2, "from 0 to 2 is more than one step; write 1")
    refused(stack, 1, "control-plane-0: it has not reported its authorities", "windows-0: it runs scripts from before")
    stack.edit()
    old = fingerprint(stack.up().outputs["ca_certificate"])
    report(stack, control_plane_0=old, windows_0=old)
    stack.edit(rotation={"certificate_authorities": 1})
    both = stack.up().outputs["ca_certificate"]
    assert both.count("BEGIN CERTIFICATE") == 2
    refused(
        stack, 2, "control-plane-0: it has not reported", "windows-0: it does not trust"
    )  # it follows the pointer anew


def test_a_program_that_fails_before_it_can_call_the_cloud_ends_with_its_own_error(stack: Any) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("the network has no zone")

    stack.edit(rotation={"certificate_authorities": 1})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "_builder", lambda cloud: fails)
        for attempt in (stack.preview, stack.up):
            with pytest.raises(auto.CommandError, match="the network has no zone"):
                attempt()
