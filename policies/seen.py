"""Conversion of pulumi_policy's resources to plain values, with UNKNOWN where reading one would raise."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pulumi import Archive, Asset, FileAsset, StringAsset
from pulumi_policy.proxy import UnknownValueError

from policies.rules.rule import UNKNOWN, Content, Resource


def resource(described: Any) -> Resource:
    """Return a resource of ResourceValidationArgs, or of a PolicyResource, which also has dependencies."""
    inputs_from = getattr(described, "property_dependencies", {})
    return Resource(
        urn=described.urn,
        type=described.resource_type,
        properties={key: _value(described.props, key) for key in described.props},
        protect=described.opts.protect,
        ignore_changes=frozenset(described.opts.ignore_changes),
        depends_on=frozenset(each.urn for each in getattr(described, "dependencies", ())),
        inputs_from={key: frozenset(each.urn for each in urns) for key, urns in inputs_from.items()},
    )


def _value(holder: Any, key: Any) -> Any:
    """Return a value of pulumi_policy's mapping or list, or UNKNOWN if it is not known yet."""
    try:
        value = holder[key]
    except UnknownValueError:
        return UNKNOWN
    if isinstance(value, (Asset, Archive)):
        return Content(_content(value))
    if isinstance(value, Mapping):
        return {each: _value(value, each) for each in value}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_value(value, index) for index in range(len(value))]
    return value


def _content(asset: Asset | Archive) -> bytes | None:
    if isinstance(asset, StringAsset):
        return str(asset.text).encode()
    path = Path(str(asset.path)) if isinstance(asset, FileAsset) else None
    return path.read_bytes() if path and path.is_file() else None
