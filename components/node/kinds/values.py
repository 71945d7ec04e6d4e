"""Types that fields share. A reference may replace any string that is not an enum, and any value in a document."""

from components.node.kinds.model import Type

TEXT: Type = {"type": "string"}
NAME: Type = {"type": "string", "minLength": 1}
PATH: Type = {"type": "string", "pattern": r"^(/|[A-Za-z]:\\)"}
"""An absolute path."""
ADDRESS: Type = {"type": "string", "pattern": r"^\d{1,3}(\.\d{1,3}){3}$"}
"""An IPv4 address."""
RANGE: Type = {"type": "string", "pattern": r"^\d{1,3}(\.\d{1,3}){3}/\d{1,2}$"}
"""An IPv4 range in CIDR notation."""
VERSION: Type = {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}
"""A version of Kubernetes."""
URL: Type = {"type": "string", "pattern": r"^https?://[^/?#\s]+"}
DIGEST: Type = {"type": "string", "pattern": r"^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}|unknown)$"}
"""`unknown`: the publisher has no digest. Such a plan can be made, but `up` and every executor refuse it."""
KEY_HASH: Type = {"type": "string", "pattern": r"^sha256:[0-9a-f]{64}$"}
FLAG: Type = {"type": "boolean"}
COUNT: Type = {"type": "integer", "minimum": 0}
SECONDS: Type = {"type": "integer", "minimum": 1}
PORT: Type = {"type": "integer", "minimum": 1, "maximum": 65535}
PROTOCOL: Type = {"enum": ["tcp", "udp"]}
ACCESS: Type = {"enum": ["private", "public"]}
"""private: only root, or SYSTEM and Administrators; public: others may read, and execute what is executable."""
DOCUMENT: Type = {}
"""Any JSON value."""
VARIABLES: Type = {"type": "object", "additionalProperties": TEXT}
ARGUMENTS: Type = {"type": "array", "items": TEXT, "minItems": 1}
NAMES: Type = {"type": "array", "items": NAME}
URLS: Type = {"type": "array", "items": URL}
PATHS: Type = {"type": "array", "items": PATH}


def one_of(*values: str) -> Type:
    """Return the type of a choice between these words."""
    return {"enum": list(values)}


def exactly_one(properties: dict[str, Type]) -> Type:
    """Return the type of an object with exactly one of these members."""
    limits = {"minProperties": 1, "maxProperties": 1, "additionalProperties": False}
    return {"type": "object", "properties": properties, **limits}
