"""The plug-in of Container Credential Guard (CCG) on Windows machines: its DLL, and its registration.

A machine in no domain has no account that may read a gMSA's password. CCG then asks a plug-in for an account, in a
process of its own (DllSurrogate). Which keys that needs: Microsoft's reference of ICcgDomainAuthCredentials, and
registerplugin.reg of microsoft/Azure-Key-Vault-Plugin-gMSA (432b719), which AKS imports.
"""

import base64
from collections.abc import Iterator

from components.node.kinds import OnChange, Step, step
from components.node.plan import Phase, Scope
from components.node.role import Role

DOWNLOAD = "ccg-plugin"
"""Name of the DLL among the downloads."""
FOLDER = r"C:\Program Files\ccg-plugin"
"""Everybody may read it: Windows loads the DLL with the account that starts the process."""
FILE = f"{DOWNLOAD}.dll"
DLL = rf"{FOLDER}\{FILE}"

_CLASSES = r"HKLM\SOFTWARE\Classes"
_INTERFACE = "{6ECDA518-2010-4437-8BC3-46E752B7B172}"
"""IID of ICcgDomainAuthCredentials (ccgplugins.h)."""
_PROXY = "{A6FF50C0-56C0-71CA-5732-BED303A59628}"
"""Windows' proxy of that interface, which carries its calls between the two processes."""
_ALLOWED = r"HKLM\SYSTEM\CurrentControlSet\Control\CCG\COMClasses"
"""Classes that CCG may start."""

_SERVICE, _SYSTEM, _ADMINISTRATORS = bytes((6, 0, 0, 0)), bytes((18, 0, 0, 0)), bytes((32, 0, 0, 0, 32, 2, 0, 0))


def phases(role: Role) -> tuple[Phase, ...]:
    """Return the phase that registers the plug-in, or looks whether the image has it; empty without one."""
    plugin = role.spec.gmsa.plugin
    if plugin is None:
        return ()
    if plugin.preinstalled:
        return (Phase("gmsa-plugin", Scope.NODE, (_installed(plugin.clsid),)),)
    return (Phase("gmsa-plugin", Scope.IMAGE, tuple(_steps(plugin.clsid.upper()))),)


def _installed(clsid: str) -> Step:
    argv = ["reg.exe", "query", rf"{_ALLOWED}\{clsid}"]
    message = f"the image has no plug-in {clsid} (gmsa.plugin.preinstalled)"
    # replace: machines from before may have an image without it, and on Azure they lack the identity that it uses
    replace = OnChange.REPLACE
    return step("probe", "gmsa-plugin-installed", argv=argv, expect="(?s:.*)", message=message, on_change=replace)


def _steps(clsid: str) -> Iterator[Step]:
    application, server = rf"{_CLASSES}\AppID\{clsid}", rf"{_CLASSES}\CLSID\{clsid}"
    interface = rf"{_CLASSES}\Interface\{_INTERFACE}"
    yield _value("interface", interface, "", "ICcgDomainAuthCredentials")
    yield _value("interface-proxy", rf"{interface}\ProxyStubClsid32", "", _PROXY)
    for name in ("AccessPermission", "LaunchPermission"):
        yield _value(name, application, name, base64.b64encode(services_only()).decode(), "Binary")
    yield _value("surrogate", application, "DllSurrogate", "")
    yield _value("class", server, "AppID", clsid)
    yield _value("server", rf"{server}\InprocServer32", "", DLL)
    yield _value("threading", rf"{server}\InprocServer32", "ThreadingModel", "Both")
    yield _value("allowed", rf"{_ALLOWED}\{clsid}", "", "")


def _value(name: str, key: str, value: str, data: str, kind: str = "String") -> Step:
    """Return the step of a value. Keys of the interface and of classes may be Windows' own, as image-builder found
    (kubernetes-sigs/image-builder#1576 takes the ownership of every key of the plug-in's registry file).
    """
    return step("registry", f"gmsa-plugin-{name}", key=key, value=value, type=kind, data=data, owned=True)


def services_only() -> bytes:
    """Return the security descriptor by which SYSTEM and services may start and call the class, and nobody else.

    As a string: O:BAG:BAD:(A;;0xb;;;SY)(A;;0xb;;;SU), where 0xb is to execute, execute locally and activate locally
    (COM_RIGHTS_* of objbase.h).
    """
    administrators = bytes((1, 2, 0, 0, 0, 0, 0, 5)) + _ADMINISTRATORS
    entries = [bytes((0, 0, 20, 0, 0xB, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 5)) + who for who in (_SYSTEM, _SERVICE)]
    rules = bytes((2, 0, 8 + sum(map(len, entries)), 0, len(entries), 0, 0, 0)) + b"".join(entries)
    header, owner = 20, 20 + len(rules)
    offsets = (owner, owner + len(administrators), 0, header)
    return b"\1\0\4\x80" + b"".join(each.to_bytes(4, "little") for each in offsets) + rules + administrators * 2
