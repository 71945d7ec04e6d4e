"""Every stack on the real engine: preview and up agree, nothing changes twice, secrets stay hidden, down empties."""

import base64
import json
from typing import Any

import pytest

from sandbox.existing_network import is_yours
from tests import existing_networks

from . import sampling, variants
from .conftest import Run, Stack
from .things import THINGS

pytestmark = pytest.mark.engine

DRAWN = sampling.two((*sampling.KINDS, "docker", existing_networks.KIND, *variants.KINDS))
"""Kinds of stacks of `make test`; `make soak` takes all stacks."""
ALL = (*sampling.STACKS, *sampling.EXISTING, *sampling.VARIANTS)
STACKS = (*DRAWN, *(pytest.param(each, marks=pytest.mark.soak) for each in ALL))


class Life:
    """The runs of one stack: created, unchanged, removed, created again, removed."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.network = existing_networks.yours(stack.cloud_state)
        self.preview = stack.preview()
        self.up = stack.up()
        self.first_machines = stack.machines()
        self.secrets = stack.secrets_of_the_state()
        self.again = stack.up()
        self.down = stack.down()
        self.left = [(each.type, each.id) for each in stack.cloud_state.resources() if not is_yours(each.urn)]
        self.network_left = existing_networks.yours(stack.cloud_state)
        self.state_left = stack.state().get("resources", [])
        self.second = stack.up()
        self.second_machines = stack.machines()
        stack.down()


@pytest.fixture(scope="module", params=STACKS)
def life(request: pytest.FixtureRequest, new_stack: Any) -> Life:
    kind = DRAWN.get(request.param)
    return Life(new_stack(sampling.stack(f"{sampling.SAMPLED}-{kind}", kind) if kind else request.param))


def test_preview_and_up_do_the_same_to_the_same_resources(life: Life) -> None:
    assert life.preview.steps == life.up.steps
    assert {operation for step in life.up.steps.values() for operation in step.operations} == {"create"}


def test_a_second_up_changes_nothing(life: Life) -> None:
    assert life.again.steps == {}


def test_down_deletes_everything_except_snapshots(life: Life) -> None:
    kept = {type for type, _ in life.left}
    assert kept == (set() if life.stack.is_temporary else THINGS[life.stack.cloud.name].kept)
    assert len(life.left) == len(kept), "one snapshot bucket and its settings"
    assert all("snapshots" in id for _, id in life.left)
    assert life.state_left == []


def test_the_network_of_the_user_is_unchanged_after_up_and_down(life: Life) -> None:
    assert bool(life.network) is life.stack.name.endswith(existing_networks.KIND)
    assert life.network_left == life.network


def test_the_same_name_can_be_built_again(life: Life) -> None:
    assert life.second.steps == life.up.steps
    assert life.second_machines.keys() == life.first_machines.keys()
    assert not set(life.second_machines.values()) & set(life.first_machines.values())


def test_secrets_are_in_the_secret_table_and_nowhere_else(life: Life) -> None:
    """SEC: searches the real values in every file of the stack and the sandbox, in the log and in the shown outputs."""
    wanted = fragments(life.secrets)
    assert len(wanted) > 20, "keys, kubeconfig and the control plane's secret were there to look for"
    hidden = life.stack.folder / "world.db.secrets"
    places = {each: each.read_bytes() for each in life.stack.folder.rglob("*") if each.is_file() and each != hidden}
    places[life.stack.folder / "log"] = "\n".join(life.stack.log).encode()
    assert any(path.name == "world.db" for path in places) and any(path.suffix == ".json" for path in places)
    found = sorted({str(path) for path, content in places.items() for each in wanted if each in content})
    assert found == []
    assert hidden.stat().st_mode & 0o777 == 0o600


def fragments(secrets: list[str]) -> set[bytes]:
    """Yield each secret in plain text, JSON-escaped, in base64, and by line; certificates are public."""
    wanted: set[str] = set()
    for secret in secrets:
        if len(secret) < 20 or secret.startswith(("-----BEGIN CERTIFICATE", "-----BEGIN PUBLIC")):
            continue
        wanted |= {secret, json.dumps(secret)[1:-1], base64.b64encode(secret.encode()).decode()}
        if "PRIVATE KEY" in secret and "CERTIFICATE" not in secret:
            wanted |= {line for line in secret.splitlines() if len(line) > 30 and "-----" not in line}
    return {each.encode() for each in wanted}


def test_user_data_holds_no_secret_and_stays_small(life: Life) -> None:
    machine = life.stack.cloud.machine
    instances = [each for each in life.stack.state().get("resources", []) if each["type"] == machine]
    assert instances == [], "all are gone"
    creates = [each for each in life.stack.cloud_state.operations() if each.type == machine and each.kind == "create"]
    assert len(creates) == 2 * len(life.first_machines) and not any(each.error for each in creates)


def test_outputs_have_the_addresses_of_the_cluster(life: Life) -> None:
    outputs: Run = life.up
    assert outputs.outputs["endpoint"] == f"https://api.{life.stack.name}.mullion.internal:6443"
    assert set(outputs.outputs["machines"]) == set(life.first_machines)
    assert "client-key-data" in outputs.outputs["kubeconfig"]
