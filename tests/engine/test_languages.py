"""Programs of examples/ in other languages make the same cluster as the Python program of stacks/Pulumi.aws-dev.yaml.

Each language's program runs once, on the real engine in a sandbox of its own; the tests look at the recorded results.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import pytest

from components.stack_files.stack import stack_file_config
from operations.engine.locate import Engine
from operations.recorder.recorder import record
from operations.stacks.paths import REPOSITORY

from .languages import GO, JAVA, TYPESCRIPT, YAML, Journey, Language, travel

SECRET = "4dabf18193072939515e22adb298388d"
ENCRYPTED = "1b47061264138c4ac30d75fd1eb44270"
"""Value of the key SECRET that marks an encrypted value in a state."""


HEAVY = (pytest.mark.lab, pytest.mark.soak)
"""Marks of languages whose compilers take minutes."""
LANGUAGES = [
    pytest.param(YAML, id="yaml", marks=pytest.mark.engine),
    *(pytest.param(each, id=each.name, marks=HEAVY) for each in (TYPESCRIPT, GO, JAVA)),
]


@pytest.fixture(scope="module", params=LANGUAGES)
def journey(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    engine: Engine,
    missing: Callable[[str, str], NoReturn],
) -> Journey:
    """Give the recorded results of one language's program."""
    language: Language = request.param
    if lacks := language.lacks():
        missing("languages", lacks)
    return travel(language, tmp_path_factory.mktemp(language.name), engine)


@pytest.fixture(scope="module")
def python() -> Mapping[str, Any]:
    """Give the resources of the Python program, by type and name."""
    recorded = record("aws-dev", stack_file_config(REPOSITORY / "stacks" / "Pulumi.aws-dev.yaml"))
    return {
        named(each.urn): each.inputs for each in recorded.resources.values() if "pulumi:" not in named(each.urn)[:7]
    }


def named(urn: str) -> str:
    """Return a URN's types and name, without stack and project."""
    return "::".join(urn.split("::")[2:])


def resources(state: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the inputs of the resources of the cluster in a state, by type and name."""
    every = {named(each["urn"]): each.get("inputs", {}) for each in state.get("resources") or []}
    return {name: inputs for name, inputs in every.items() if not name.startswith("pulumi:")}


def test_a_wrong_input_is_refused_with_its_path_and_the_remedy(journey: Journey) -> None:
    refused = " ".join(journey.refused.split())
    assert "kubernetes: Mullion builds Kubernetes 1.20 to 1.37" in refused
    assert "write 1.37.0 or an older version" in refused
    assert "Traceback" not in refused
    assert 'File "' not in refused


def test_a_preview_creates_nothing(journey: Journey) -> None:
    assert journey.previewed == []


def test_up_makes_the_resources_of_the_python_program(journey: Journey, python: Mapping[str, Any]) -> None:
    assert set(resources(journey.built)) == set(python)


def test_machines_get_the_bundles_of_the_python_program(journey: Journey, python: Mapping[str, Any]) -> None:
    def keys(found: Mapping[str, Any]) -> dict[str, str]:
        return {name: each["key"] for name, each in found.items() if "-bundle-" in name}

    assert keys(resources(journey.built)) == keys(python)
    assert len(keys(python)) == 3


def test_kubeconfig_is_encrypted_in_the_state_and_hidden_in_the_output(journey: Journey) -> None:
    [stack] = [each for each in journey.built["resources"] if each["type"] == "pulumi:pulumi:Stack"]
    assert stack["outputs"]["kubeconfig"][SECRET] == ENCRYPTED
    assert json.loads(journey.shown)["kubeconfig"] == "[secret]"
    assert not re.search(r"client-key-data|PRIVATE KEY", json.dumps(journey.built))


def test_a_second_up_changes_nothing(journey: Journey) -> None:
    assert set(journey.repeated) == {"same"}


def test_a_second_windows_worker_is_the_only_new_resource(journey: Journey) -> None:
    new = set(resources(journey.grown)) - set(resources(journey.built))
    assert [name.rpartition("::")[2] for name in new] == ["aws-dev-web-1"]
    assert not set(resources(journey.built)) - set(resources(journey.grown))


def test_destroy_leaves_only_the_bucket_of_snapshots(journey: Journey) -> None:
    assert not resources(journey.removed)
    assert {each.split()[1] for each in journey.left} == {"aws-dev-snapshots"}
