"""Group managed service accounts (`gmsa`): credential specs, their users, and the plug-in of machines in no domain."""

import re
from collections.abc import Callable, Iterator
from typing import Any, cast

from components import releases
from components.catalogue.artifacts import UnknownArtifact, catalogue
from components.checks.check import Finding, Path, Subject, at, error, warning
from components.checks.versions import supported
from components.node.gmsa import texts
from components.node.gmsa_plugin import DOWNLOAD
from components.node.gmsa_policies import literal
from components.spec.gmsa import NamedGmsa

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_GUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SID = re.compile(r"S-1-5-21(-\d{1,10}){3}")
_PASSWORD = re.compile(r"(?i)pass(word|wd)?\s*=|^[^:/=;\s]+:[^:/=;\s]+:[^:/\s]+$")

MOST_CHARACTERS = 90_000
"""Characters of all credential specs in one expression of a policy. The API server reads expressions of up to 100 000
(cel-go, option ExpressionSizeCodePointLimit of its parser)."""

Shape = dict[str, Any]
"""Fields and their shapes: a pattern of a text, a list with the shape of its items, or a further shape."""

_TEXT = re.compile(r".+", re.DOTALL)
_ACCOUNTS: Shape = {"Name": _TEXT, "Scope": _TEXT}
_HOST: Shape = {"PortableCcgVersion": re.compile("1"), "PluginGUID": re.compile(r"\{.+\}"), "PluginInput": _TEXT}
SHAPE: Shape = {
    "CmsPlugins": [re.compile("ActiveDirectory")],
    "DomainJoinConfig": {
        "Sid": _SID,
        "MachineAccountName": _TEXT,
        "Guid": _GUID,
        "DnsTreeName": _TEXT,
        "DnsName": _TEXT,
        "NetBiosName": _TEXT,
    },
    "ActiveDirectoryConfig": {"GroupManagedServiceAccounts": [_ACCOUNTS], "HostAccountConfig": _HOST},
}
"""A credential spec, as New-CredentialSpec of Microsoft's module CredentialSpec writes it and as
kubernetes-sigs/windows-gmsa (admission-webhook/deploy/gmsa-crd.yml) takes it; HostAccountConfig from Microsoft's
reference of ICcgDomainAuthCredentials."""
_OPTIONAL = ("HostAccountConfig",)
"""Judged by a check of its own."""


def _specs(subject: Subject) -> Iterator[tuple[str, NamedGmsa]]:
    yield from subject.spec.gmsa.credential_specs.items()


def _in(name: str, *path: object, **values: object) -> Finding:
    return at("gmsa", "credential_specs", name, *path, name=name, **values)


def _names(subject: Subject) -> Iterator[Finding]:
    for name, _ in _specs(subject):
        if not _LABEL.fullmatch(name):
            yield _in(name)


def _shapes(subject: Subject) -> Iterator[Finding]:
    for name, spec in _specs(subject):
        for path, what in _wrong(spec.contents, SHAPE, ()):
            yield _in(name, "contents", *path, what=what)


def _wrong(value: Any, shape: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the places where a part of a credential spec has another shape, and what is wrong there."""
    if isinstance(shape, re.Pattern):
        if not isinstance(value, str) or not cast(re.Pattern[str], shape).fullmatch(value):
            yield path, f"{value!r} is no text of the form {cast(re.Pattern[str], shape).pattern}"
    elif isinstance(shape, list):
        if not isinstance(value, list) or not value:
            yield path, "it is no list with an item"
            return
        for index, item in enumerate(cast(list[Any], value)):
            yield from _wrong(item, shape[0], (*path, str(index)))
    else:
        yield from _wrong_fields(value, shape, path)


def _wrong_fields(value: Any, shape: Shape, path: Path) -> Iterator[tuple[Path, str]]:
    if not isinstance(value, dict):
        yield path, "it is no mapping"
        return
    found = cast(dict[str, Any], value)
    for name in sorted({*found, *shape}):
        if name not in shape:
            yield (*path, name), f"no field of a credential spec; here are {', '.join(shape)}"
        elif name in found:
            yield from _wrong(found[name], shape[name], (*path, name))
        elif name not in _OPTIONAL:
            yield path, f"{name} is missing"


def _host(spec: NamedGmsa) -> dict[str, Any] | None:
    """Return HostAccountConfig; None if the contents have none, or another shape."""
    directory = spec.contents.get("ActiveDirectoryConfig")
    found = cast(dict[str, Any], directory).get("HostAccountConfig") if isinstance(directory, dict) else None
    return cast(dict[str, Any], found) if isinstance(found, dict) else None


def _without_host(subject: Subject) -> Iterator[Finding]:
    for name, spec in _specs(subject):
        if _host(spec) is None:
            yield _in(name, "contents")


def _other_plugin(subject: Subject) -> Iterator[Finding]:
    plugin = subject.spec.gmsa.plugin
    for name, spec in _specs(subject):
        wanted = (_host(spec) or {}).get("PluginGUID")
        if wanted and (plugin is None or str(wanted).lower() != plugin.clsid.lower()):
            has = plugin.clsid if plugin else "missing"
            yield _in(name, "contents", wanted=wanted, has=has)


def _secret(subject: Subject) -> Iterator[Finding]:
    for name, spec in _specs(subject):
        if _PASSWORD.search(str((_host(spec) or {}).get("PluginInput", ""))):
            yield _in(name, "contents", "ActiveDirectoryConfig", "HostAccountConfig", "PluginInput")


def _users(subject: Subject) -> Iterator[Finding]:
    for name, spec in _specs(subject):
        for index, user in enumerate(spec.users):
            parts = user.split("/")
            if len(parts) != 2 or not all(_LABEL.fullmatch(each) for each in parts[:1]) or not _account(parts[1]):
                yield _in(name, "users", index, user=user)


def _account(name: str) -> bool:
    return len(name) <= 253 and all(_LABEL.fullmatch(each) for each in name.split("."))


def _twice(subject: Subject) -> Iterator[Finding]:
    for name, spec in _specs(subject):
        for index, user in enumerate(spec.users):
            if user in spec.users[:index]:
                yield _in(name, "users", index, user=user)


def _no_download(subject: Subject) -> Iterator[Finding]:
    plugin = subject.spec.gmsa.plugin
    if plugin is None or plugin.version is None:
        return
    try:
        catalogue(subject.spec.artifacts).find(DOWNLOAD, plugin.version, "windows")
    except UnknownArtifact:
        yield at("gmsa", "plugin", "version", name=DOWNLOAD, version=plugin.version)


def _no_source(subject: Subject) -> Iterator[Finding]:
    plugin = subject.spec.gmsa.plugin
    if plugin and plugin.preinstalled is (plugin.version is not None):
        yield at("gmsa", "plugin", has="both" if plugin.preinstalled else "neither")


def _early(subject: Subject) -> Iterator[Finding]:
    used = subject.spec.gmsa.judges_pods and supported(subject)
    if used and not releases.release(subject.minor).admission_policies:
        yield at("gmsa", minor=subject.minor)


def _large(subject: Subject) -> Iterator[Finding]:
    size = len(literal(texts(subject.spec.gmsa.credential_specs)))
    if size > MOST_CHARACTERS:
        yield at("gmsa", "credential_specs", size=size, most=MOST_CHARACTERS)


def _no_windows(subject: Subject) -> Iterator[Finding]:
    if subject.spec.gmsa.credential_specs and not any(group.os.is_windows for group in subject.workers):
        yield at("gmsa")


def _unused(subject: Subject) -> Iterator[Finding]:
    for name, spec in _specs(subject):
        if not spec.users:
            yield _in(name, "users")


_CONTENTS = "gmsa.credential_specs"
_Rule = Callable[[Subject], Iterator[Finding]]

CHECKS = (
    error(
        "gmsa-name",
        _CONTENTS,
        _names,
        "{name!r} cannot name a credential spec",
        "write lower-case letters, digits and hyphens, at most 63, with a letter or digit at both ends",
        "SEC-03",
    ),
    error(
        "gmsa-contents",
        _CONTENTS,
        _shapes,
        "{what}",
        "copy the file that New-CredentialSpec writes; JSON is YAML (docs/gmsa.md)",
        "SEC-03",
    ),
    error(
        "gmsa-domain-join",
        _CONTENTS,
        _without_host,
        "the credential spec {name} has no HostAccountConfig, so it works on machines of the domain only, and Mullion"
        " joins none: each roll makes new machines, and each would need an account that may add computers",
        "add ActiveDirectoryConfig.HostAccountConfig, and name its plug-in in gmsa.plugin (docs/gmsa.md)",
        "SEC-03",
    ),
    error(
        "gmsa-plugin",
        f"{_CONTENTS} gmsa.plugin",
        _other_plugin,
        "the credential spec {name} asks for the plug-in {wanted}, and gmsa.plugin is {has}: no pod with it starts",
        "write one clsid as PluginGUID and in gmsa.plugin",
        "SEC-03",
    ),
    error(
        "gmsa-plugin-download",
        "gmsa.plugin artifacts",
        _no_download,
        "no entry of artifacts.entries is {name} {version} for windows, the DLL of the plug-in",
        "add {{name: {name}, version: ..., os: windows, url: ..., sha256: ...}} to artifacts.entries",
        "SEC-03",
    ),
    error(
        "gmsa-plugin-source",
        "gmsa.plugin",
        _no_source,
        "the plug-in is either downloaded (version) or in the image (preinstalled), and this has {has}",
        "write version with an entry in artifacts.entries, or preinstalled: true",
        "SEC-03",
    ),
    warning(
        "gmsa-secret",
        _CONTENTS,
        _secret,
        "PluginInput of the credential spec {name} looks as if it has a password: it is in the bundle, in objects of"
        " the cluster and in each pod that has the gMSA",
        "use a plug-in that reads the password in a secret store, and name the secret",
        "SEC-03",
    ),
    error(
        "gmsa-user",
        _CONTENTS,
        _users,
        "{user!r} is no service account",
        "write NAMESPACE/NAME, such as web/default",
        "SEC-03",
    ),
    error(
        "gmsa-user-twice",
        _CONTENTS,
        _twice,
        "{user} is listed twice",
        "remove one of the two",
        "SEC-03",
    ),
    warning(
        "gmsa-without-users",
        _CONTENTS,
        _unused,
        "no service account may use the credential spec {name}, so the API server refuses every pod that names it",
        "list service accounts as NAMESPACE/NAME, or bind a role of your own and acknowledge this",
        "SEC-03",
    ),
    error(
        "gmsa-early",
        "gmsa kubernetes",
        _early,
        "Kubernetes {minor} has no ValidatingAdmissionPolicy, so nothing would keep a pod from any gMSA; it came with"
        " 1.30",
        "upgrade Kubernetes, or remove gmsa",
        "SEC-03",
    ),
    error(
        "gmsa-large",
        _CONTENTS,
        _large,
        "the credential specs have {size} characters as an expression; the API server takes {most}",
        "remove some of them",
        "SEC-03",
    ),
    warning(
        "gmsa-without-windows",
        f"{_CONTENTS} pools",
        _no_windows,
        "no pool runs Windows, and only Windows pods have a gMSA",
        "add a Windows pool, or remove gmsa",
        "SEC-03",
    ),
)
