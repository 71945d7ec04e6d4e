"""Pools that join a cluster of somebody else, on the real engine: built, unchanged, scaled, rolled, removed."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from components.rollout import bootstrap_tokens
from components.stack_files.stack import CLUSTER, read_stack
from operations.__main__ import app
from operations.engine.locate import Engine
from operations.stacks import target
from sandbox import existing_network
from sandbox.cloud_state import CloudState
from tests import clones
from tests.components.aws.test_joined import INSTANCE, SPEC

pytestmark = pytest.mark.engine

NAME = "joined"
SECRET = "aws:secretsmanager/secret:Secret"


@pytest.fixture(scope="module")
def built(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, CloudState]]:
    """Return the clone and the sandbox of a built pool."""
    folder = tmp_path_factory.mktemp("joined") / "clone"
    config = {"aws:region": "eu-west-1", CLUSTER: SPEC}
    stack = read_stack(NAME, config)
    text = yaml.safe_dump({"config": config})
    cloud_state = clones.up(folder, NAME, text, lambda made: existing_network.create(made, stack.spec, stack.region))
    yield folder, cloud_state
    cloud_state.close()


@pytest.fixture
def run(built: tuple[Path, CloudState], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Return a function that runs a command in the sandbox of the clone."""
    clones.work_in(built[0], monkeypatch)

    def command(*words: str) -> Result:
        done = CliRunner().invoke(app, [*words, "--sandbox", "--yes"])
        assert done.exit_code == 0, done.output
        return done

    return command


def instances(cloud_state: CloudState) -> dict[str, str]:
    """Return the ids of the machines, by name."""
    return {each.name.removeprefix(f"{NAME}-"): each.id for each in cloud_state.resources(INSTANCE)}


def token(cloud_state: CloudState) -> str:
    """Return the text of the only secret."""
    (secret,) = cloud_state.resources(SECRET)
    (value,) = cloud_state.secret_values(secret.id).values()
    return value


def test_the_secret_store_has_a_token_and_the_state_has_it_encrypted(built: tuple[Path, CloudState]) -> None:
    folder, cloud_state = built
    text = token(cloud_state)
    assert re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}", text)
    (state,) = (folder / ".mullion").rglob(f"stacks/*/{NAME}.json")
    assert json.loads(state.read_text("utf-8"))["checkpoint"]
    # not the sandbox's databases: whoever closes such a file in this process drops SQLite's locks
    own = [each for each in (folder / ".mullion").rglob("*") if each.is_file() and ".db" not in each.name]
    assert [each for each in own if text.partition(".")[2].encode() in each.read_bytes()] == []


def test_a_second_run_changes_nothing_and_a_scaled_pool_gets_one_machine(
    built: tuple[Path, CloudState], run: Callable[..., Result]
) -> None:
    before, text = instances(built[1]), token(built[1])
    assert "no changes" in run("up", NAME).output
    run("scale", NAME, "web", "3")
    after = instances(built[1])
    assert {*after} == {*before, "web-2"}
    assert {name: after[name] for name in before} == before
    assert token(built[1]) == text, "it is valid for half a day more"


def test_after_half_its_life_the_token_is_replaced_and_no_machine_is(
    built: tuple[Path, CloudState], run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, text, now = instances(built[1]), token(built[1]), bootstrap_tokens.period
    monkeypatch.setattr(bootstrap_tokens, "period", lambda moment: now(moment) + 1)
    run("up", NAME)
    assert token(built[1]) != text
    assert instances(built[1]) == before


def test_changed_labels_roll_the_pool(built: tuple[Path, CloudState], run: Callable[..., Result]) -> None:
    folder, cloud_state = built
    before, file = instances(cloud_state), folder / "stacks" / f"Pulumi.{NAME}.yaml"
    document = yaml.safe_load(file.read_text("utf-8"))
    document["config"][CLUSTER]["pools"]["web"]["labels"] = {"team": "billing"}
    file.write_text(yaml.safe_dump(document))
    run("up", NAME)
    assert not {*instances(cloud_state).values()} & {*before.values()}


def test_a_roll_replaces_every_machine_and_the_removal_leaves_the_users_network(
    built: tuple[Path, CloudState], run: Callable[..., Result]
) -> None:
    cloud_state = built[1]
    before = instances(cloud_state)
    assert "replaced and ready" in run("roll", NAME, "web").output
    assert {*instances(cloud_state)} == {*before}
    assert not {*instances(cloud_state).values()} & {*before.values()}
    assert target.in_sandbox(NAME)
    run("down", NAME)
    assert all(existing_network.is_yours(each.urn) for each in cloud_state.resources())
