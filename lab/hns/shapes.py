"""Shapes of HCN's documents: fields and their types, as in HcnSchema and hcsshim hcn/*.go.

HcnSchema: MicrosoftDocs/Virtualization-Documentation, virtualization/api/hcn/HNS_Schema.md. hcsshim and Windows write
flags and protocols as numbers. Unknown fields are refused, although Windows may ignore them, so tests find misspelt
fields of a plan.
"""

import json
from collections.abc import Mapping
from typing import Any

from lab.hns.errors import Code, HnsError

TEXT, NUMBER, TRUTH, TEXTS, ANY = "text", "number", "truth", "texts", "any"

Shape = Mapping[str, Any]
"""Field -> its type: one of the constants above, a Shape, or a list with the Shape of its items."""

VERSION: Shape = {"Major": NUMBER, "Minor": NUMBER}
DNS: Shape = {"Domain": TEXT, "Search": TEXTS, "ServerList": TEXTS, "Options": TEXTS}
ROUTE: Shape = {"NextHop": TEXT, "DestinationPrefix": TEXT, "Metric": NUMBER}
POLICY: Shape = {"Type": TEXT, "Settings": ANY}
HEALTH: Shape = {"Data": ANY, "Extra": ANY}
SUBNET: Shape = {"IpAddressPrefix": TEXT, "Policies": [POLICY], "Routes": [ROUTE]}
RANGE: Shape = {"StartMacAddress": TEXT, "EndMacAddress": TEXT}
_BASE: Shape = {"ID": TEXT, "Name": TEXT, "Health": HEALTH, "SchemaVersion": VERSION, "Owner": TEXT, "Flags": NUMBER}

OBJECTS: Mapping[str, Shape] = {
    "Network": {
        **_BASE,
        "Type": TEXT,
        "Policies": [POLICY],
        "MacPool": {"Ranges": [RANGE]},
        "Dns": DNS,
        "Ipams": [{"Type": TEXT, "Subnets": [SUBNET]}],
    },
    "Endpoint": {
        **_BASE,
        "HostComputeNetwork": TEXT,
        "HostComputeNamespace": TEXT,
        "Policies": [POLICY],
        "IpConfigurations": [{"IpAddress": TEXT, "PrefixLength": NUMBER}],
        "Dns": DNS,
        "Routes": [ROUTE],
        "MacAddress": TEXT,
    },
    "Namespace": {**_BASE, "NamespaceId": NUMBER, "Type": TEXT, "Resources": [{"Type": TEXT, "Data": ANY}]},
    "LoadBalancer": {
        **_BASE,
        "HostComputeEndpoints": TEXTS,
        "SourceVIP": TEXT,
        "FrontendVIPs": TEXTS,
        "PortMappings": [
            {
                "Protocol": NUMBER,
                "InternalPort": NUMBER,
                "ExternalPort": NUMBER,
                "DistributionType": NUMBER,
                "Flags": NUMBER,
            }
        ],
    },
    "Request": {"ResourceType": TEXT, "RequestType": TEXT, "Settings": ANY},
}

_TUPLE: Shape = dict.fromkeys(("Protocols", "LocalAddresses", "RemoteAddresses", "LocalPorts", "RemotePorts"), TEXT)
_ACL: Shape = {**_TUPLE, "Action": TEXT, "Direction": TEXT, "RuleType": TEXT, "Priority": NUMBER, "Id": TEXT}

SETTINGS: Mapping[str, Mapping[str, Shape]] = {
    "Network": {
        "NetAdapterName": {"NetworkAdapterName": TEXT},
        "InterfaceConstraint": {"InterfaceGuid": TEXT, "InterfaceAlias": TEXT, "InterfaceIndex": NUMBER},
        "ProviderAddress": {"ProviderAddress": TEXT},
        "DrMacAddress": {"Address": TEXT},
        "SourceMacAddress": {"SourceMacAddress": TEXT},
        "AutomaticDNS": {"Enable": TRUTH},
        "VSwitchExtension": {"ExtensionID": TEXT, "Enable": TRUTH},
        "RemoteSubnetRoute": {
            "DestinationPrefix": TEXT,
            "IsolationId": NUMBER,
            "ProviderAddress": TEXT,
            "DistributedRouterMacAddress": TEXT,
        },
        "VxlanPort": {"Port": NUMBER},
        "HostRoute": {},
    },
    "Subnet": {"VLAN": {"IsolationId": NUMBER}, "VSID": {"IsolationId": NUMBER}},
    "Endpoint": {
        "OutBoundNAT": {
            "VirtualIP": TEXT,
            "Exceptions": TEXTS,
            "Destinations": TEXTS,
            "Flags": NUMBER,
            "MaxPortPoolUsage": NUMBER,
        },
        "SDNRoute": {"DestinationPrefix": TEXT, "NextHop": TEXT, "NeedEncap": TRUTH},
        "ProviderAddress": {"ProviderAddress": TEXT},
        "ACL": _ACL,
        "PortMapping": {
            "Protocol": NUMBER,
            "InternalPort": NUMBER,
            "ExternalPort": NUMBER,
            "VIP": TEXT,
            "Flags": NUMBER,
        },
        "QOS": {"MaximumOutgoingBandwidthInBytes": NUMBER},
        "L2Driver": {},
        "PortName": {"Name": TEXT},
        "EncapOverhead": {"Overhead": NUMBER},
    },
}
"""Settings of policies by the object that has them, and their type."""

WORDS: Mapping[str, frozenset[str]] = {
    "Action": frozenset({"Allow", "Block", "Pass"}),
    "Direction": frozenset({"In", "Out"}),
    "RuleType": frozenset({"Host", "Switch"}),
}
"""Enumerations among the settings."""


def read(kind: str, text: str) -> dict[str, Any]:
    """Return the document of a kind of object. Raises HnsError (INVALID_JSON, or that of its policies)."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise HnsError(Code.INVALID_JSON, f"{kind}: {error}") from None
    check(document, OBJECTS[kind], kind)
    for place, policy in _policies(kind, document):
        check_policy(place, policy)
    return document


def _policies(kind: str, document: Mapping[str, Any]) -> list[tuple[str, Any]]:
    own = [(kind, policy) for policy in document.get("Policies") or ()]
    subnets = [subnet for ipam in document.get("Ipams") or () for subnet in ipam.get("Subnets") or ()]
    return own + [("Subnet", policy) for subnet in subnets for policy in subnet.get("Policies") or ()]


def check_policy(place: str, policy: Mapping[str, Any]) -> None:
    """Check type and settings of a policy of a Network, Subnet or Endpoint."""
    kind, settings = str(policy.get("Type")), policy.get("Settings") or {}
    if kind not in SETTINGS[place]:
        raise HnsError(Code.INVALID_POLICY_TYPE, f"{place} has no policy {kind}")
    check(settings, SETTINGS[place][kind], f"{kind}.Settings", Code.INVALID_POLICY)
    for field, words in WORDS.items():
        if field in settings and settings[field] not in words:
            raise HnsError(Code.INVALID_POLICY, f"{kind}.Settings.{field} is {settings[field]}")


_TYPES: Mapping[str, type] = {TEXT: str, NUMBER: int, TRUTH: bool, ANY: object}


def _is(value: Any, word: str) -> bool:
    if word == TEXTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, _TYPES[word]) and not (word == NUMBER and isinstance(value, bool))


def check(document: Any, shape: Any, path: str, code: Code = Code.INVALID_JSON) -> None:
    """Check fields and types of a document against its Shape. Raises HnsError with the code and the path."""
    if isinstance(shape, str):
        if not _is(document, shape):
            raise HnsError(code, f"{path} is no {shape}: {document!r}")
    elif isinstance(shape, list):
        if not isinstance(document, list):
            raise HnsError(code, f"{path} is no list: {document!r}")
        for index, item in enumerate(document):
            check(item, shape[0], f"{path}[{index}]", code)
    else:
        if not isinstance(document, dict):
            raise HnsError(code, f"{path} is no object: {document!r}")
        for field, value in document.items():
            if field not in shape:
                raise HnsError(code, f"{path} has no field {field}")
            if value is not None:
                check(value, shape[field], f"{path}.{field}", code)
