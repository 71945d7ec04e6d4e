"""Which clouds the sandbox has. A cloud's tables are read when it is asked for."""

import importlib
from collections.abc import Mapping
from typing import NamedTuple, cast

from sandbox.cloud import Cloud


class Part(NamedTuple):
    """A cloud's provider as the engine calls it, the Pulumi SDK whose version it asks for, and the cloud's tables here.

    package: has `cloud` (CLOUD) and `types` (TYPES, PROPERTIES).
    """

    provider: str
    sdk: str
    package: str


CLOUDS = {
    "aws": Part("aws", "pulumi_aws", "sandbox.aws"),
    "azure": Part("azure-native", "pulumi_azure_native", "sandbox.azure"),
    "gcp": Part("gcp", "pulumi_gcp", "sandbox.gcp"),
}
"""By the names that a spec calls them."""
_PROVIDERS = {part.provider: name for name, part in CLOUDS.items()}


def of(name: str) -> Cloud:
    """The cloud that a spec calls so; KeyError where the sandbox has none."""
    return cast("Cloud", importlib.import_module(f"{CLOUDS[name].package}.cloud").CLOUD)


def of_type(token: str) -> Cloud:
    """The cloud that a type belongs to, by its token (`aws:ec2/vpc:Vpc`)."""
    return of(_PROVIDERS[token.partition(":")[0]])


def package(token: str) -> str:
    """Where the tables of that cloud are."""
    return CLOUDS[_PROVIDERS[token.partition(":")[0]]].package


def images(name: str, region: str) -> Mapping[str, str]:
    """What the public images of a region hold, by the id that a spec names one by."""
    return importlib.import_module(f"{CLOUDS[name].package}.regions").images(region)


def seconds(type: str, kind: str) -> float:
    """Seconds that a `create`, `update` or `delete` of a type takes on its cloud.

    What is no cloud's (the engine's own types: a Stash) takes none.
    """
    return of_type(type).seconds(type, kind) if type.partition(":")[0] in _PROVIDERS else 0.0
