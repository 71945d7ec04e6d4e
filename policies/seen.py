"""What pulumi_policy shows of a resource, as the rules see it: plain values, with UNKNOWN where it would raise."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pulumi import Archive, Asset, FileAsset, StringAsset
from pulumi_policy.proxy import UnknownValueError

from policies.rules.rule import UNKNOWN, Content, Resource


def resource(given: Any) -> Resource:
    """A resource from ResourceValidationArgs, or from a PolicyResource, which alone knows dependencies."""
    inputs_from = getattr(given, "property_dependencies", {})
    return Resource(
        urn=given.urn,
        type=given.resource_type,
        properties={key: _value(given.props, key) for key in given.props},
        protect=given.opts.protect,
        ignore_changes=frozenset(given.opts.ignore_changes),
        depends_on=frozenset(each.urn for each in getattr(given, "dependencies", ())),
        inputs_from={key: frozenset(each.urn for each in urns) for key, urns in inputs_from.items()},
    )


def _value(holder: Any, key: Any) -> Any:
    """One value of a mapping or list of pulumi_policy, which raises where the value is not known yet."""
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
