"""Kinds that Windows alone has."""

from components.node.kinds.model import Cut, Field, Kind, When
from components.node.kinds.values import COUNT, DOCUMENT, NAME, PATHS, PORT, PROTOCOL, TEXT, one_of

_ONE = (Cut.BEFORE_SET, Cut.AFTER_SET)
_WINDOWS = ("windows",)
_MEGABYTES = {"type": "integer", "minimum": 512, "maximum": 1048576}

WINDOWS: dict[str, Kind] = {
    "build": Kind(
        "The machine runs this Windows build with at least this update revision; anything else ends the run (501).",
        {
            "build": Field({"type": "string", "pattern": r"^10\.0\.\d{5}$"}, "10.0.17763 and so on."),
            "minimum_ubr": Field(COUNT, "The fourth part of the version, at least.", required=False),
        },
        compares="CurrentBuildNumber and UBR in the registry.",
        sets="nothing",
        cuts=(),
        systems=_WINDOWS,
    ),
    "registry": Kind(
        "The registry value has the type and the data.",
        {
            "key": Field({"type": "string", "pattern": r"^(HKLM:?|HKEY_LOCAL_MACHINE)\\."}, "Key below HKLM."),
            "value": Field(TEXT, "Name of the value; empty: the key's default."),
            "type": Field(one_of("DWord", "QWord", "String", "ExpandString", "MultiString", "Binary"), "Its type."),
            "data": Field(DOCUMENT, "A number, a text, a list of texts, or bytes in base64, as the type wants."),
        },
        compares="Type and data, without expanding variables.",
        sets="Makes the key and writes the value.",
        undo="an older value of that name",
        cuts=_ONE,
        systems=_WINDOWS,
        whens=(
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
    "feature": Kind(
        "The Windows feature is installed.",
        {"feature": Field(NAME, "Its name.")},
        compares="Get-WindowsFeature: Installed, or InstallPending, which asks for a reboot step.",
        sets="Install-WindowsFeature; asks for a reboot step when it says so.",
        cuts=_ONE,
        systems=_WINDOWS,
        seconds=1800,
    ),
    "pagefile": Kind(
        "The page file of C: has this fixed size; Windows nodes must have one (RES-07).",
        {
            "initial_mb": Field(_MEGABYTES, "Size at boot, in MiB."),
            "maximum_mb": Field(_MEGABYTES, "It grows up to this, in MiB; at least initial_mb."),
        },
        compares="PagingFiles in the registry (Session Manager\\Memory Management) and that Windows does not choose the"
        " size itself.",
        sets="Writes them and asks for a reboot step.",
        undo="page files on other drives",
        cuts=_ONE,
        systems=_WINDOWS,
    ),
    "port-range": Kind(
        "Dynamic ports of the protocol lie in this range.",
        {
            "protocol": Field(PROTOCOL, "tcp or udp."),
            "start": Field(PORT, "The first."),
            "count": Field(PORT, "How many; start + count is at most 65536."),
        },
        compares="netsh's dynamic port range (IPv4).",
        sets="Sets it.",
        cuts=_ONE,
        systems=_WINDOWS,
    ),
    "defender-exclusion": Kind(
        "Defender, where it runs, leaves these alone.",
        {"processes": Field(PATHS, "Programs."), "paths": Field(PATHS, "Files and folders.")},
        compares="Get-MpPreference; holds where Defender is not there or does not run.",
        sets="Adds what is missing; others stay.",
        cuts=_ONE,
        systems=_WINDOWS,
    ),
}
