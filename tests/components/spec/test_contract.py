"""The models of the options, and the files generated from them."""

import importlib
import json
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_type_hints

import pulumi
import pytest
from pulumi.provider.experimental.component import ComponentProvider
from pydantic import BaseModel

from components import cluster_args
from components.checks import addresses
from components.spec import models
from components.spec.descriptions import descriptions
from components.spec.models import ClusterSpec
from components.stack_files import arguments
from components.stack_files.stack import read_stack
from components.topology import addressing
from tests.components.spec.documents import GOOD, REGION
from tools import generate

MODELS = [each for each in vars(models).values() if isinstance(each, type) and issubclass(each, models.Model)]


def _fields() -> Iterator[tuple[str, str, Any]]:
    return ((model.__name__, name, field) for model in MODELS for name, field in model.model_fields.items())


def test_every_option_and_every_model_is_documented() -> None:
    undescribed = [
        f"{each.__name__}.{name}" for each in MODELS for name in each.model_fields.keys() - descriptions(each)
    ]
    assert undescribed == []
    enums = [each for each in vars(models).values() if isinstance(each, type) and issubclass(each, Enum)]
    assert [each.__name__ for each in (*MODELS, *enums) if not each.__doc__] == []


def test_every_option_is_described_in_the_schema_of_stack_files() -> None:
    definitions = json.loads((generate.ROOT / "stacks" / "schema.json").read_text("utf-8"))["definitions"]
    silent = [
        f"{model}.{name}"
        for model, definition in definitions.items()
        for name, option in definition.get("properties", {}).items()
        if not option.get("description")
    ]
    assert silent == []


def test_the_description_of_an_option_names_its_computed_default() -> None:
    from components.stack_files.schema import FILLED

    silent = {"ClusterSpec.network", "ClusterSpec.control_plane"}
    for model, names in FILLED.items():
        for name in names:
            described = descriptions(getattr(models, model))[name]
            assert "default" in described.lower() or f"{model}.{name}" in silent, f"{model}.{name}"


@pytest.mark.parametrize(
    ("cloud", "machines", "egress", "gateways"),
    [
        ("aws", 3, "nat", "zonal"),
        ("aws", 3, "public", "single"),
        ("aws", 1, "nat", "single"),
        ("gcp", 3, "nat", "single"),
    ],
)
def test_nat_gateways_are_zonal_on_aws_with_three_control_planes_behind_nat(
    cloud: str, machines: int, egress: str, gateways: str
) -> None:
    options = {"cloud": cloud, "control_plane": {"count": machines}, "network": {"egress": egress}}
    spec = ClusterSpec.model_validate({"kubernetes": "1.36.4", **options})
    assert spec.network.nat_gateways.value == gateways


def test_every_option_in_the_table_of_filled_defaults_gets_a_value() -> None:
    """FILLED lists the fields that `defaults.py` fills; the schema and ClusterArgs make them optional."""
    from components.stack_files.schema import FILLED

    smallest = {"cloud": "aws", "kubernetes": "1.36.4", "pools": {"linux": {"os": "ubuntu-24.04"}}}
    spec = read_stack("a", {**REGION, "mullion:cluster": smallest}).spec
    parts = {
        "Network": spec.network,
        "ControlPlane": spec.control_plane,
        "Pool": spec.pools["linux"],
        "ClusterSpec": spec,
    }
    for name, filled in FILLED.items():
        assert all(getattr(parts[name], each) is not None for each in filled)


def test_models_are_frozen_and_refuse_unknown_keys() -> None:
    assert all(model.model_config.get("frozen") and model.model_config.get("extra") == "forbid" for model in MODELS)


@pytest.mark.parametrize(("name", "render"), generate.FILES.items(), ids=list(generate.FILES))
def test_a_generated_file_is_current(name: str, render: Callable[[], str]) -> None:
    text = (Path(generate.ROOT) / name).read_text(encoding="utf-8")
    assert text == render(), f"{name} is stale: run make generate"


def test_the_argument_types_mirror_the_models() -> None:
    for model in MODELS:
        if model in (models.Model, models.MachineOptions):  # bases, which no option has as its type
            continue
        module = importlib.import_module(f"components.{arguments.module_of(model)}")
        mirrored = getattr(module, arguments.args_name(model))
        assert list(get_type_hints(mirrored)) == list(model.model_fields), model.__name__


def test_the_component_analyser_accepts_the_argument_types() -> None:
    class Dummy(pulumi.ComponentResource):
        """A component."""

        endpoint: pulumi.Output[str]

        def __init__(
            self, name: str, args: cluster_args.ClusterArgs, opts: pulumi.ResourceOptions | None = None
        ) -> None:
            raise NotImplementedError

    schema = json.loads(ComponentProvider([Dummy], "mullion", version="0.1.0").schema or "")
    component = schema["resources"]["mullion:index:Dummy"]
    assert component["requiredInputs"] == ["cloud", "kubernetes"]
    assert schema["types"]["mullion:index:PoolArgs"]["required"] == ["os"]
    properties = schema["types"]["mullion:index:KubeletArgs"]["properties"]
    assert properties["config"]["additionalProperties"]["$ref"] == "pulumi.json#/Any"


def test_the_limits_of_the_node_range_equal_those_of_the_addressing() -> None:
    assert (addresses.NODES_LARGEST, addresses.NODES_SMALLEST) == (
        addressing.LARGEST_PREFIX,
        addressing.SMALLEST_PREFIX,
    )


def test_a_complete_spec_is_the_same_after_writing_and_reading() -> None:
    spec = read_stack("a", {**REGION, "mullion:cluster": GOOD}).spec
    again = read_stack("a", {**REGION, "mullion:cluster": spec.model_dump(mode="json")}).spec
    assert again == spec


def test_every_part_of_a_spec_is_a_pydantic_model() -> None:
    assert all(issubclass(model, BaseModel) for model in MODELS)
    assert ClusterSpec in MODELS
