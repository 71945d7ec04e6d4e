"""A credential spec and a plug-in as users have them, and other values of their options."""

from copy import deepcopy
from typing import Any

CLSID = "{CCC2A336-D7F3-4818-A213-272B7924213E}"
"""Class of Azure's plug-in for Key Vault (microsoft/Azure-Key-Vault-Plugin-gMSA, README.md)."""
CONTENTS: dict[str, Any] = {
    "CmsPlugins": ["ActiveDirectory"],
    "DomainJoinConfig": {
        "DnsName": "contoso.com",
        "DnsTreeName": "contoso.com",
        "Guid": "244818ae-87ca-4fcd-92ec-e79e5252348a",
        "MachineAccountName": "WebApplication0",
        "NetBiosName": "CONTOSO",
        "Sid": "S-1-5-21-2126729477-2524075714-3094792973",
    },
    "ActiveDirectoryConfig": {
        "GroupManagedServiceAccounts": [
            {"Name": "WebApplication0", "Scope": "CONTOSO"},
            {"Name": "WebApplication0", "Scope": "contoso.com"},
        ],
        "HostAccountConfig": {
            "PortableCcgVersion": "1",
            "PluginGUID": CLSID,
            "PluginInput": "ObjectId=00000000-0000-0000-0000-000000000000;SecretUri=https://v.vault.azure.net/secrets/s",
        },
    },
}
"""The published sample (kubernetes-sigs/windows-gmsa, integration_tests/templates/credspec-0.yml), with a plug-in."""


def dll(version: str) -> dict[str, str]:
    """Return the download of the plug-in."""
    url = f"https://files.example.com/ccg-plugin-{version}.dll"
    return {"name": "ccg-plugin", "version": version, "os": "windows", "url": url, "sha256": version[0] * 64}


PLUGIN: dict[str, Any] = {
    "gmsa": {"plugin": {"clsid": CLSID, "version": "1.1.3"}},
    "artifacts": {"entries": [dll("1.1.3"), dll("2.0.0")]},
}
PREINSTALLED: dict[str, Any] = {"gmsa": {"plugin": {"clsid": CLSID, "preinstalled": True}}}


def named(name: str = "web", contents: dict[str, Any] | None = None, users: list[str] | None = None) -> dict[str, Any]:
    """Return the options of a cluster with one credential spec."""
    spec = {"contents": contents or deepcopy(CONTENTS), "users": ["web/default"] if users is None else users}
    return {**PLUGIN, "gmsa": {**PLUGIN["gmsa"], "credential_specs": {name: spec}}}


def with_input(text: str) -> dict[str, Any]:
    """Return the contents with another input of the plug-in."""
    changed = deepcopy(CONTENTS)
    changed["ActiveDirectoryConfig"]["HostAccountConfig"]["PluginInput"] = text
    return changed


VALUES: dict[str, Any] = {
    "gmsa.credential_specs.*.contents": with_input("another secret"),
    "gmsa.credential_specs.*.users": ["web/iis"],
    "gmsa.plugin.clsid": "{E4781092-F116-4B79-B55E-28EB6A224E26}",
    "gmsa.plugin.version": "2.0.0",
    "gmsa.plugin.preinstalled": True,
    "gmsa.keep_policy": True,
}
CONTEXT: dict[str, Any] = {
    **{f"gmsa.credential_specs.*.{option}": named() for option in ("contents", "users")},
    **{f"gmsa.plugin.{option}": PLUGIN for option in ("clsid", "version")},
}
WITH_IT: dict[str, Any] = {"gmsa.plugin.preinstalled": PREINSTALLED}
