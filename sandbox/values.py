"""Conversion of property values between the engine's wire form (protobuf Struct) and Python.

Values are None, bool, int, float, str, list, dict, and three kinds of the engine: UNKNOWN (not known in a preview),
Secret (a value that the engine encrypts) and Asset (the content of a file).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import struct_pb2
from pulumi.runtime import rpc

SIGNATURE: Final = rpc._special_sig_key
SECRET: Final = rpc._special_secret_sig
ASSETS: Final = (rpc._special_asset_sig, rpc._special_archive_sig)
REDACTED: Final = {"redacted": "a secret, not kept in the world"}
"""Stands for a secret in the cloud state; existing files hold this text."""


class Unknown:
    """The type of UNKNOWN."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Secret:
    """A value marked secret; repr does not show the value."""

    value: Any

    def __repr__(self) -> str:
        return "secret"


@dataclass(frozen=True)
class Asset:
    """A file or archive as the engine sends it: signature, hash, and text or path."""

    signature: str
    hash: str
    text: str | None = None
    path: str | None = None


def decode(value: struct_pb2.Value) -> Any:
    """Convert a wire value to Python; whole numbers become int."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value == rpc.UNKNOWN else value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [decode(item) for item in value.list_value.values]
    if kind == "struct_value":
        return _decode_struct(value.struct_value)
    return None


def decode_map(struct: struct_pb2.Struct) -> dict[str, Any]:
    """Convert a wire struct to a dict."""
    return {name: decode(value) for name, value in struct.fields.items()}


def _decode_struct(struct: struct_pb2.Struct) -> Any:
    fields = struct.fields
    signature = fields[SIGNATURE].string_value if SIGNATURE in fields else ""
    if signature == SECRET:
        return Secret(decode(fields["value"]))
    if signature in ASSETS:
        parts = {name: fields[name].string_value for name in ("text", "path") if name in fields}
        return Asset(signature, fields["hash"].string_value if "hash" in fields else "", **parts)
    if signature:
        raise ValueError(f"the sandbox does not support property values with signature {signature}")
    return decode_map(struct)


def encode(value: Any) -> struct_pb2.Value:
    """Convert a value to wire form."""
    if value is None:
        return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, (int, float)):
        return struct_pb2.Value(number_value=value)
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, (list, tuple)):
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=[encode(item) for item in value]))
    if isinstance(value, Unknown):
        return struct_pb2.Value(string_value=rpc.UNKNOWN)
    if isinstance(value, Secret):
        return encode({SIGNATURE: SECRET, "value": value.value})
    if isinstance(value, Asset):
        parts = {"hash": value.hash, "text": value.text, "path": value.path}
        return encode({SIGNATURE: value.signature} | {name: part for name, part in parts.items() if part is not None})
    return struct_pb2.Value(struct_value=encode_map(value))


def encode_map(values: dict[str, Any]) -> struct_pb2.Struct:
    """Convert a dict to a wire struct."""
    return struct_pb2.Struct(fields={name: encode(value) for name, value in values.items()})


def plain(value: Any) -> Any:
    """Return the value without secret marks and without the engine's `__defaults` keys."""
    if isinstance(value, Secret):
        return plain(value.value)
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items() if name != "__defaults"}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def redacted(value: Any) -> Any:
    """Return the value for JSON, with REDACTED for each secret."""
    if isinstance(value, Secret):
        return REDACTED
    if isinstance(value, dict):
        return {name: redacted(item) for name, item in value.items() if name != "__defaults"}
    if isinstance(value, list):
        return [redacted(item) for item in value]
    if isinstance(value, Asset):
        return {"asset": {"hash": value.hash, "path": value.path}}
    return value


def has_unknown(value: Any) -> bool:
    """Return whether any part is UNKNOWN."""
    if isinstance(value, dict):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return value is UNKNOWN or (isinstance(value, Secret) and has_unknown(value.value))


def select(values: Any, path: str) -> list[Any]:
    """Return all values at a path like `subnetId` or `defaultActions[].targetGroupArn`, without absent ones."""
    selected = [values]
    for part in path.split("."):
        name, is_list = part.removesuffix("[]"), part.endswith("[]")
        selected = [item[name] for item in selected if isinstance(item, dict) and item.get(name) is not None]
        if is_list:
            selected = [item for items in selected if isinstance(items, list) for item in items]
    return selected


def with_tags(tags: Any, added: Mapping[str, str]) -> Any:
    """Return a resource's tags with the added ones; secret tags stay secret."""
    if has_unknown(tags):
        return UNKNOWN
    return Secret(with_tags(tags.value, added)) if isinstance(tags, Secret) else {**added, **(tags or {})}
