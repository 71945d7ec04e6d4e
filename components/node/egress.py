"""Egress through a web proxy, and additional certificate authorities (OPS-08).

The executor's downloads use the plan's member `egress`; container runtimes and the kubelet's credential providers use
environment variables of their services; all of them trust the machine's authorities. The cloud's services are reached
without the proxy, because they are in the network.
"""

import base64
import struct
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from components import naming
from components.clouds import METADATA_ADDRESS
from components.node.kinds import Step, step
from components.node.role import Role
from components.spec import pem as certificates
from components.spec.models import ClusterSpec
from components.spec.pem import Certificate

_TRUSTED = r"HKLM\SOFTWARE\Microsoft\SystemCertificates\ROOT\Certificates"
"""The machine's trusted authorities, each below its SHA-1 (Microsoft, "System Store Locations")."""

_CERTIFICATE = 0x20
"""CERT_CERT_PROP_ID (wincrypt.h): the certificate itself, in a store's element of properties."""


_CONNECTIONS = r"HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\Internet Settings\Connections"

_DIRECT, _BY_PROXY = 1, 2
"""PROXY_TYPE_DIRECT, PROXY_TYPE_PROXY (wininet.h)."""


def document(cluster: str, spec: ClusterSpec) -> dict[str, Any]:
    """Return the plan's member egress; empty without proxy and trusted_cas."""
    members = {"proxy": _proxy(cluster, spec), "trusted_cas": spec.trusted_cas}
    return {name: value for name, value in members.items() if value}


def variables(role: Role) -> dict[str, Any]:
    """Return the environment of a service that downloads; empty without a proxy."""
    values = _values(role)
    return {"environment": values} if values else {}


def machine_wide(role: Role) -> tuple[Step, ...]:
    """Return steps that set the proxy on the whole Windows machine: variables for tools, and WinHTTP (OPS-08)."""
    variables = tuple(
        step("environment", name.lower().replace("_", "-"), variable=name, value=value)
        for name, value in _values(role).items()
    )
    return (*variables, _winhttp(role)) if variables else ()


def _winhttp(role: Role) -> Step:
    """Return the step for WinHTTP, by which Windows fetches root certificates that it lacks and revocation lists.

    Programs' variables do not reach it (microsoft/Windows-Containers#169). The value is what `netsh winhttp set proxy`
    writes (Microsoft, KB 4494447): version 0x28, 0, flags, then the proxies and the names reached without them, each
    after its length (little-endian).
    """
    proxy = _proxy(role.cluster, role.spec)
    names = ("http", "https")
    servers = ";".join(f"{name}={urlsplit(str(proxy[name])).netloc}" for name in names if name in proxy)
    # WinHTTP knows patterns, and no ranges
    direct = [f"*{each}" if each.startswith(".") else each for each in proxy["no_proxy"] if "/" not in each]
    data = struct.pack("<III", 0x28, 0, _DIRECT | _BY_PROXY)
    for text in (servers, ";".join(("<local>", *direct))):
        data += struct.pack("<I", len(text)) + text.encode("ascii")
    encoded = base64.b64encode(data).decode()
    return step("registry", "winhttp-proxy", key=_CONNECTIONS, value="WinHttpSettings", type="Binary", data=encoded)


def packages(role: Role) -> dict[str, str]:
    """Return the variables for apt, which reads lower-case names and no address ranges."""
    return {name.lower(): value for name, value in _values(role).items()}


def authorities(role: Role) -> tuple[Step, ...]:
    """Return steps that add trusted_cas to the machine's trusted authorities, before any download."""
    make = _on_windows if role.os.is_windows else _on_linux
    by_sha1 = {each.sha1: each for pem in role.spec.trusted_cas for each in certificates.read(pem)}
    return tuple(step for certificate in by_sha1.values() for step in make(certificate))


def trust_files(role: Role) -> list[str]:
    """Return files on Linux whose change needs a restart of running programs."""
    return [each.fields["path"] for each in authorities(role) if each.kind == "file"]


def _values(role: Role) -> dict[str, str]:
    """Return the proxy variables by upper-case name; empty without a proxy."""
    proxy = _proxy(role.cluster, role.spec)
    values = {f"{name.upper()}_PROXY": proxy[name] for name in ("http", "https") if name in proxy}
    return {**values, "NO_PROXY": ",".join(proxy["no_proxy"])} if values else {}


def _proxy(cluster: str, spec: ClusterSpec) -> dict[str, Any]:
    if spec.proxy is None:
        return {}
    net, existing = spec.network, spec.existing_cluster
    ours = (
        *("localhost", "127.0.0.1", METADATA_ADDRESS, *spec.cloud.facts.no_proxy),
        *map(str, (net.nodes, net.pods, net.services, *(existing.nodes if existing else ()))),
        *(".svc", f".{net.domain}", existing.host if existing else naming.api_host(cluster)),
    )
    direct = list(dict.fromkeys((*ours, *spec.proxy.no_proxy)))
    return {**spec.proxy.model_dump(exclude_none=True), "no_proxy": direct}


def _on_linux(authority: Certificate) -> Iterator[Step]:
    """Yield the steps that write the file and run update-ca-certificates(8), which links each file of the folder."""
    name, content = authority.sha1, authority.pem
    path = f"/usr/local/share/ca-certificates/mullion-{name}.crt"
    yield step("file", f"authority-{name}", path=path, content=content)
    argv, done = ["/usr/sbin/update-ca-certificates"], f"/etc/ssl/certs/mullion-{name}.pem"
    yield step("command", f"trust-{name}", argv=argv, creates=done)


def _on_windows(authority: Certificate) -> Iterator[Step]:
    """Yield the step that writes an element of the store: property id, 1, length, value (little-endian)."""
    element = struct.pack("<III", _CERTIFICATE, 1, len(authority.der)) + authority.der
    data = base64.b64encode(element).decode()
    key = rf"{_TRUSTED}\{authority.sha1.upper()}"
    yield step("registry", f"authority-{authority.sha1}", key=key, value="Blob", type="Binary", data=data)
