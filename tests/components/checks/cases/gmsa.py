"""Group managed service accounts."""

from copy import deepcopy
from typing import Any

from tests.components.spec.documents import Case, Only
from tests.components.spec.gmsa_values import CLSID, CONTENTS, PLUGIN, PREINSTALLED, dll, named, with_input

_AT = "gmsa.credential_specs.web"
_GOOD = named()


def _without(*path: str) -> dict[str, Any]:
    changed = deepcopy(CONTENTS)
    place = changed
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return changed


def _with(value: object, *path: str) -> dict[str, Any]:
    changed = deepcopy(CONTENTS)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


_HOST = ("ActiveDirectoryConfig", "HostAccountConfig")
_LARGE = {f"web{index}": {"contents": with_input(9000 * "\\"), "users": ["web/default"]} for index in range(7)}
_OTHER = {"clsid": "{E4781092-F116-4B79-B55E-28EB6A224E26}", "version": "1.1.3"}

CASES = (
    Case("gmsa-name", named("Web_App"), "gmsa.credential_specs.Web_App", named("web-app")),
    Case("gmsa-contents", named(contents=_without("CmsPlugins")), f"{_AT}.contents", _GOOD),
    Case("gmsa-contents", named(contents=_with("x", "CmsPlugins")), f"{_AT}.contents.CmsPlugins", _GOOD),
    Case("gmsa-contents", named(contents=_with(["x"], "CmsPlugins")), f"{_AT}.contents.CmsPlugins.0", _GOOD),
    Case(
        "gmsa-contents",
        named(contents=_without("DomainJoinConfig", "Sid")),
        f"{_AT}.contents.DomainJoinConfig",
        _GOOD,
    ),
    Case(
        "gmsa-contents",
        named(contents=_with("S-1-5-18", "DomainJoinConfig", "Sid")),
        f"{_AT}.contents.DomainJoinConfig.Sid",
        named(contents=_with("S-1-5-21-1-2-3", "DomainJoinConfig", "Sid")),
    ),
    Case("gmsa-contents", named(contents=_with(1, "Password")), f"{_AT}.contents.Password", _GOOD),
    Case("gmsa-contents", named(contents=_with("x", *_HOST)), f"{_AT}.contents.{'.'.join(_HOST)}", _GOOD),
    Case("gmsa-domain-join", named(contents=_without(*_HOST)), f"{_AT}.contents", _GOOD),
    Case("gmsa-plugin", {"gmsa": {"credential_specs": _GOOD["gmsa"]["credential_specs"]}}, f"{_AT}.contents", _GOOD),
    Case(
        "gmsa-plugin",
        {**_GOOD, "gmsa": {**_GOOD["gmsa"], "plugin": _OTHER}},
        f"{_AT}.contents",
        {**_GOOD, "gmsa": {**_GOOD["gmsa"], "plugin": {"clsid": CLSID.lower(), "version": "1.1.3"}}},
    ),
    Case("gmsa-plugin-download", {"gmsa": PLUGIN["gmsa"]}, "gmsa.plugin.version", PLUGIN),
    Case(
        "gmsa-plugin-download",
        {**PLUGIN, "artifacts": {"entries": [{**dll("1.1.3"), "os": "linux"}]}},
        "gmsa.plugin.version",
        PLUGIN,
    ),
    Case("gmsa-plugin-source", {"gmsa": {"plugin": {"clsid": CLSID}}}, "gmsa.plugin", PREINSTALLED),
    Case(
        "gmsa-plugin-source",
        {**PLUGIN, "gmsa": {"plugin": {**PLUGIN["gmsa"]["plugin"], "preinstalled": True}}},
        "gmsa.plugin",
        PLUGIN,
    ),
    Case(
        "gmsa-secret",
        named(contents=with_input("contoso.com:gmsaccg:secret")),
        f"{_AT}.contents.{'.'.join(_HOST)}.PluginInput",
        named(contents=with_input("ObjectId=1;SecretUri=https://vault.example.com:443/secrets/a")),
    ),
    Case("gmsa-user", named(users=["default"]), f"{_AT}.users.0", named(users=["web/default"])),
    Case("gmsa-user", named(users=["web/default", "a/b/c"]), f"{_AT}.users.1", named(users=["web/a.b"])),
    Case("gmsa-user-twice", named(users=["web/a", "web/a"]), f"{_AT}.users.1", named(users=["web/a", "other/a"])),
    Case("gmsa-without-users", named(users=[]), f"{_AT}.users", _GOOD),
    Case("gmsa-early", {**_GOOD, "kubernetes": "1.29.15"}, "gmsa", {**_GOOD, "kubernetes": "1.30.14"}),
    Case("gmsa-early", {**PLUGIN, "kubernetes": "1.29.15"}, "gmsa", {**PLUGIN, "kubernetes": "1.30.14"}),
    Case(
        "gmsa-early",
        {"gmsa": {"keep_policy": True}, "kubernetes": "1.29.15"},
        "gmsa",
        {"gmsa": {"keep_policy": True}, "kubernetes": "1.30.14"},
    ),
    Case(
        "gmsa-large",
        {**PLUGIN, "gmsa": {**PLUGIN["gmsa"], "credential_specs": _LARGE}},
        "gmsa.credential_specs",
        {**PLUGIN, "gmsa": {**PLUGIN["gmsa"], "credential_specs": {"web": _LARGE["web0"]}}},
    ),
    Case("gmsa-without-windows", {**_GOOD, "pools": Only({"linux": {"os": "ubuntu-24.04"}})}, "gmsa", _GOOD),
)
