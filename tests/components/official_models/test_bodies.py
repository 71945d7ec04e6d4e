"""Models that the clouds publish judge the body of every resource of every stack: names, types, enums, limits."""

import importlib
import inspect
import re
from collections import Counter

import pytest

from sandbox import clouds as sandbox_clouds
from tests.components.official_models import azure_models
from tests.components.official_models.cases import Body, bodies
from tests.components.official_models.clouds import (
    EXCUSED,
    NOT_REGISTERED,
    TABLES,
    WITHOUT_JUDGE,
    cloud,
    excused,
    faults,
    row,
)

PACKAGES = {"aws": "aws", "azure": "azure-native", "gcp": "gcp"}
TYPES = [f"{PACKAGES[name]}:{type_}" for name, rows in TABLES.items() for type_ in rows]
JUDGED_IN_ANOTHER_VERSION = {
    "resources:ResourceGroup": "no release of azure-mgmt-resource has models of 2024-03-01 in a package of its own",
}


def of_type(type_: str) -> list[Body]:
    return [body for body in bodies(cloud(type_)) if body.type == type_]


@pytest.mark.parametrize("type_", TYPES)
def test_the_clouds_models_accept_every_body(type_: str) -> None:
    found = of_type(type_)
    assert found, "no stack registers it: add a case, or remove the row"
    wrong = Counter(f"{body.case}: {body.name}: {fault}" for body in found for fault in faults(body))
    assert not wrong


@pytest.mark.parametrize("name", TABLES)
def test_every_registered_type_has_a_judge_or_a_reason(name: str) -> None:
    registered = {body.type for body in bodies(name)}
    judged = {type_ for type_ in TYPES if cloud(type_) == name}
    reasons = {type_ for type_ in WITHOUT_JUDGE if cloud(type_) == name}
    assert registered == judged | reasons
    assert not judged & reasons


@pytest.mark.parametrize("name", TABLES)
def test_the_cases_register_every_type_of_the_sandbox(name: str) -> None:
    known, registered = set(sandbox_clouds.of(name).types), {body.type for body in bodies(name)}
    assert known - registered == {type_ for type_ in NOT_REGISTERED if cloud(type_) == name}


def test_every_excuse_is_still_needed() -> None:
    needed = {key for type_ in {key[0] for key in EXCUSED} for body in of_type(type_) for key in excused(body)}
    assert needed == set(EXCUSED)


@pytest.mark.parametrize("type_", TABLES["azure"])
def test_azures_models_are_of_the_version_that_the_provider_sends(type_: str) -> None:
    module, _, name = type_.partition(":")
    package = importlib.import_module(f"pulumi_azure_native.{module}")
    source = inspect.getsource(inspect.getmodule(getattr(package, name)))  # type: ignore[arg-type]
    [sent] = set(re.findall(r"Uses Azure REST API version ([\w-]+)\.", source))
    same = azure_models.api_version(row(f"azure-native:{type_}")) == sent
    assert same != (type_ in JUDGED_IN_ANOTHER_VERSION)
