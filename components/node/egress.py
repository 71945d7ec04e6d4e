"""The way out behind a web proxy, and authorities besides the system's (OPS-08).

Machines fetch by several hands. The executor's own downloads are told by the plan's member `egress`; runtimes, which
pull images, and the kubelet, whose credential providers ask the cloud, by variables of their services; and all of them
trust what the machine trusts. The cloud's own services are in the network, so nothing goes there by a proxy.
"""

import base64
import struct
from collections.abc import Iterator
from typing import Any

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


def document(cluster: str, spec: ClusterSpec) -> dict[str, Any]:
    """The plan's member egress, as far as the spec says anything."""
    members = {"proxy": _proxy(cluster, spec), "trusted_cas": spec.trusted_cas}
    return {name: value for name, value in members.items() if value}


def variables(role: Role) -> dict[str, Any]:
    """Fields of a service that fetches: none without a proxy."""
    values = _values(role)
    return {"environment": values} if values else {}


def machine_wide(role: Role) -> tuple[Step, ...]:
    """The same for all that people start on a Windows machine, as its own tools want it (OPS-08)."""
    return tuple(
        step("environment", name.lower().replace("_", "-"), variable=name, value=value)
        for name, value in _values(role).items()
    )


def packages(role: Role) -> dict[str, str]:
    """Variables of apt, which reads small letters, and ranges not at all."""
    return {name.lower(): value for name, value in _values(role).items()}


def authorities(role: Role) -> tuple[Step, ...]:
    """Each of trusted_cas is among the machine's trusted authorities, before anything is fetched."""
    make = _on_windows if role.os.is_windows else _on_linux
    found = {each.sha1: each for pem in role.spec.trusted_cas for each in certificates.read(pem)}
    return tuple(one for each in found.values() for one in make(each))


def trust_files(role: Role) -> list[str]:
    """Files on Linux whose change a running program sees only after a restart."""
    return [each.fields["path"] for each in authorities(role) if each.kind == "file"]


def _values(role: Role) -> dict[str, str]:
    """By name, as most programs read them; empty without a proxy."""
    proxy = _proxy(role.cluster, role.spec)
    values = {f"{name.upper()}_PROXY": proxy[name] for name in ("http", "https") if name in proxy}
    return {**values, "NO_PROXY": ",".join(proxy["no_proxy"])} if values else {}


def _proxy(cluster: str, spec: ClusterSpec) -> dict[str, Any]:
    if spec.proxy is None:
        return {}
    net = spec.network
    ours = (
        *("localhost", "127.0.0.1", METADATA_ADDRESS, *spec.cloud.facts.no_proxy),
        *map(str, (net.nodes, net.pods, net.services)),
        *(".svc", f".{net.domain}", naming.api_host(cluster)),
    )
    direct = list(dict.fromkeys((*ours, *spec.proxy.no_proxy)))
    return {**spec.proxy.model_dump(exclude_none=True), "no_proxy": direct}


def _on_linux(authority: Certificate) -> Iterator[Step]:
    """update-ca-certificates(8) makes a link for each file of its folder."""
    name, content = authority.sha1, authority.pem
    path = f"/usr/local/share/ca-certificates/mullion-{name}.crt"
    yield step("file", f"authority-{name}", path=path, content=content)
    argv, done = ["/usr/sbin/update-ca-certificates"], f"/etc/ssl/certs/mullion-{name}.pem"
    yield step("command", f"trust-{name}", argv=argv, creates=done)


def _on_windows(authority: Certificate) -> Iterator[Step]:
    """An element of a certificate store: property, a one, length, value, all little-endian."""
    element = struct.pack("<III", _CERTIFICATE, 1, len(authority.der)) + authority.der
    data = base64.b64encode(element).decode()
    key = rf"{_TRUSTED}\{authority.sha1.upper()}"
    yield step("registry", f"authority-{authority.sha1}", key=key, value="Blob", type="Binary", data=data)
