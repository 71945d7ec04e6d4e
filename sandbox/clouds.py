"""The clouds of the sandbox. A cloud's tables are imported at first use."""

import importlib
from collections.abc import Mapping
from typing import NamedTuple, cast

from sandbox.cloud import Cloud


class Part(NamedTuple):
    """Names of a cloud's provider, of its Pulumi SDK, and of the package with its tables.

    package: has modules `cloud` (CLOUD) and `types` (TYPES, PROPERTIES).
    """

    provider: str
    sdk: str
    package: str


CLOUDS = {
    "aws": Part("aws", "pulumi_aws", "sandbox.aws"),
    "azure": Part("azure-native", "pulumi_azure_native", "sandbox.azure"),
    "gcp": Part("gcp", "pulumi_gcp", "sandbox.gcp"),
}
"""By the name of the cloud in a spec."""
_PROVIDERS = {part.provider: name for name, part in CLOUDS.items()}


def of(name: str) -> Cloud:
    """Return the cloud of this name in a spec. Raises KeyError if the sandbox has none."""
    return cast("Cloud", importlib.import_module(f"{CLOUDS[name].package}.cloud").CLOUD)


def of_type(token: str) -> Cloud:
    """Return the cloud of a type's token (`aws:ec2/vpc:Vpc`)."""
    return of(_PROVIDERS[token.partition(":")[0]])


def package(token: str) -> str:
    """Return the package with the tables of a type's cloud."""
    return CLOUDS[_PROVIDERS[token.partition(":")[0]]].package


def images(name: str, region: str) -> Mapping[str, str]:
    """Return the operating system of each public image of a region, by image id."""
    return importlib.import_module(f"{CLOUDS[name].package}.regions").images(region)


def seconds(type: str, kind: str) -> float:
    """Return the seconds of a `create`, `update` or `delete` of a type; 0 for types of the engine (Stash)."""
    return of_type(type).seconds(type, kind) if type.partition(":")[0] in _PROVIDERS else 0.0
