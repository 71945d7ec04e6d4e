"""Types that fields share. A reference may stand for every text that is no choice, and anywhere in a document."""

from components.node.kinds.model import Type

TEXT: Type = {"type": "string"}
NAME: Type = {"type": "string", "minLength": 1}
PATH: Type = {"type": "string", "pattern": r"^(/|[A-Za-z]:\\)"}
"""An absolute path."""
URL: Type = {"type": "string", "pattern": r"^https?://[^/?#\s]+"}
DIGEST: Type = {"type": "string", "pattern": r"^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}|unknown)$"}
"""unknown: nobody published one. It can be planned with; `up` refuses, and so does every executor."""
KEY_HASH: Type = {"type": "string", "pattern": r"^sha256:[0-9a-f]{64}$"}
FLAG: Type = {"type": "boolean"}
COUNT: Type = {"type": "integer", "minimum": 0}
SECONDS: Type = {"type": "integer", "minimum": 1}
PORT: Type = {"type": "integer", "minimum": 1, "maximum": 65535}
PROTOCOL: Type = {"enum": ["tcp", "udp"]}
ACCESS: Type = {"enum": ["private", "public"]}
"""private: root, or SYSTEM and Administrators, alone; public: others may read, and run what can be run."""
DOCUMENT: Type = {}
"""Any JSON value."""
VARIABLES: Type = {"type": "object", "additionalProperties": TEXT}
ARGUMENTS: Type = {"type": "array", "items": TEXT, "minItems": 1}
NAMES: Type = {"type": "array", "items": NAME}
PATHS: Type = {"type": "array", "items": PATH}


def one_of(*values: str) -> Type:
    """One of these words."""
    return {"enum": list(values)}


def exactly_one(properties: dict[str, Type]) -> Type:
    """An object with one of these members."""
    limits = {"minProperties": 1, "maxProperties": 1, "additionalProperties": False}
    return {"type": "object", "properties": properties, **limits}
