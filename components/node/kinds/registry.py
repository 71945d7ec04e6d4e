"""The kind that sets a registry value."""

from components.node.kinds.model import Cut, Field, Kind, When
from components.node.kinds.values import DOCUMENT, FLAG, TEXT, one_of

_ONE = (Cut.BEFORE_SET, Cut.AFTER_SET)
_WINDOWS = ("windows",)

REGISTRY: dict[str, Kind] = {
    "registry": Kind(
        "The registry value has the type and the data.",
        {
            "key": Field({"type": "string", "pattern": r"^(HKLM:?|HKEY_LOCAL_MACHINE)\\."}, "Key below HKLM."),
            "value": Field(TEXT, "Name of the value; empty for the key's default value."),
            "type": Field(
                one_of("DWord", "QWord", "String", "ExpandString", "MultiString", "Binary"), "Type of the value."
            ),
            "data": Field(DOCUMENT, "A number, a string, a list of strings, or bytes in base64, by type."),
            "bits": Field(
                FLAG, "DWord: whether data has the bits to set, and the value's other bits stay.", required=False
            ),
            "restart": Field(FLAG, "Whether Windows reads the value only at its start.", required=False),
            "owned": Field(
                FLAG,
                "Whether the key above may belong to Windows' installer, which gives no other account write access.",
                required=False,
            ),
        },
        compares="Type and data, without expanding variables.",
        sets="Creates the key and writes the value; with restart, requests a restart. With owned, if Windows refuses:"
        " takes the ownership of the nearest existing key, allows SYSTEM to write, writes, and gives both back.",
        undo="an earlier value of that name",
        cuts=_ONE,
        systems=_WINDOWS,
        whens=(
            When("bits", True, {"type": one_of("DWord")}),
            When("type", "DWord", {"data": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1}}),
            When("type", "QWord", {"data": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}}),
            When("type", "String", {"data": TEXT}),
            When("type", "ExpandString", {"data": TEXT}),
            When("type", "MultiString", {"data": {"type": "array", "items": TEXT}}),
            When(
                "type",
                "Binary",
                {
                    "data": {
                        "type": "string",
                        "pattern": r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
                    }
                },
            ),
        ),
    ),
}
