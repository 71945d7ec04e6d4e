"""The tables against the installed SDK: no property of ours that the SDK has not, none of its that ours lack."""

import importlib
import inspect
import json

import pytest

from sandbox import generate
from sandbox.aws.types import TYPES as AWS_TYPES
from sandbox.cloud import ResourceType
from sandbox.clouds import CLOUDS, of, of_type

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # SDKs say it of names while imported
TYPES = {token: row for name in CLOUDS for token, row in of(name).types.items()}


@pytest.fixture(scope="module")
def sdk() -> dict:
    return generate.describe(AWS_TYPES)


@pytest.mark.parametrize("name", CLOUDS)
def test_the_property_file_is_what_the_installed_sdk_says(name: str) -> None:
    types = importlib.import_module(f"{CLOUDS[name].package}.types")
    described = generate.describe(types.TYPES)
    assert json.loads(types.PROPERTIES.read_text()) == described, "run python -m sandbox.generate"
    assert types.PROPERTIES.read_text() == generate.dumps(described)


@pytest.mark.parametrize("token", TYPES)
def test_each_token_is_the_one_the_sdk_registers(token: str) -> None:
    source = inspect.getsource(generate.resource_class(token)._internal_init)
    assert f"'{token}'" in source, "the SDK registers this class under another token"


def test_a_required_property_is_one_without_default_in_the_sdk(sdk: dict) -> None:
    """Spot checks by hand, so that the generator itself is judged by something else than itself."""
    inputs = {token.rsplit(":", 1)[-1]: row["inputs"] for token, row in sdk["resources"].items()}
    assert inputs["Subnet"]["vpcId"] == "string!"
    assert inputs["Subnet"]["cidrBlock"] == "string"
    assert inputs["Listener"]["defaultActions"] == "[#lb/ListenerDefaultAction]!"
    assert inputs["Instance"]["rootBlockDevice"] == "#ec2/InstanceRootBlockDevice"
    assert inputs["BucketVersioning"]["versioningConfiguration"].endswith("!")
    assert inputs["BucketObjectv2"]["source"] == "asset"
    assert inputs["Role"]["assumeRolePolicy"] == "#iam/PolicyDocument|string!"
    assert sdk["objects"]["ec2/InstanceMetadataOptions"]["httpPutResponseHopLimit"] == "integer"
    assert "primaryNetworkInterfaceId" in sdk["resources"][TYPES_BY_NAME["Instance"]]["outputs"]


TYPES_BY_NAME = {token.rsplit(":", 1)[-1]: token for token in AWS_TYPES}


def _named(row: ResourceType) -> dict[str, tuple[str, ...]]:
    """Every property name a row mentions, by where."""
    paths = [*row.immutable, *row.fallback, *row.chosen, *row.unordered, *row.documents, *row.patterns]
    groups = [name for group in (*row.at_most_one, *row.at_least_one) for name in group]
    references = [reference.path for reference in row.references]
    unique = [key for one in row.unique for key in one.keys]
    return {"inputs": (*paths, *groups, *references, *unique), "outputs": (*row.outputs, *row.volatile, *row.completed)}


@pytest.mark.parametrize("token", TYPES)
def test_every_property_a_row_names_exists(token: str) -> None:
    shapes, row = of_type(token).shapes, TYPES[token]
    known = shapes.inputs(token)
    for path in _named(row)["inputs"]:
        rows = known
        for part in path.split("."):
            name = part.removesuffix("[]")
            assert name in rows, f"{token}: {path} is no property"
            inner = rows[name].strip("[]!")
            rows = shapes.objects.get(inner.removeprefix("#"), {})
    for name in _named(row)["outputs"]:
        assert name in known or name in shapes.outputs(token), f"{token}: {name} is no output"


@pytest.mark.parametrize("token", TYPES)
def test_every_reference_is_to_a_type_of_the_sandbox(token: str) -> None:
    assert {reference.target for reference in TYPES[token].references} <= set(TYPES)


@pytest.mark.parametrize("token", TYPES)
def test_what_the_cloud_chooses_is_never_required(token: str) -> None:
    required = {name for name, shape in of_type(token).shapes.inputs(token).items() if shape.endswith("!")}
    assert not required & set(TYPES[token].chosen)
