"""The web proxy that machines must use, and the authorities they trust."""

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from ipaddress import ip_network
from urllib.parse import urlsplit

from components.checks.check import Check, Finding, Rule, Subject, at, error, warning
from components.spec.pem import Certificate, read

_HOST = re.compile(r"\.?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
_SCHEMES = ("http", "https")
"""Members of proxy: of what is fetched. The proxy itself is always asked by plain http."""


def _addresses(subject: Subject) -> Iterator[tuple[str, str]]:
    proxy = subject.spec.proxy
    for scheme in _SCHEMES if proxy else ():
        if address := getattr(proxy, scheme):
            yield scheme, address


def _empty(subject: Subject) -> Iterator[Finding]:
    if subject.spec.proxy is not None and not any(_addresses(subject)):
        yield at("proxy")


def _is_address(text: str) -> bool:
    """Whether it is http://HOST:PORT, with or without a user, and nothing behind it."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    whole = (parts.path in ("", "/"), not parts.query, not parts.fragment, parts.scheme == "http", port)
    return all(whole) and _HOST.fullmatch(parts.hostname or "") is not None


def _wrong_address(subject: Subject) -> Iterator[Finding]:
    for scheme, address in _addresses(subject):
        if not _is_address(address):
            yield at("proxy", scheme)


def _password(subject: Subject) -> Iterator[Finding]:
    for scheme, address in _addresses(subject):
        if "@" in address:
            yield at("proxy", scheme)


def _is_direct(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return _HOST.fullmatch(text) is not None
    return True


def _wrong_direct(subject: Subject) -> Iterator[Finding]:
    for index, each in enumerate(subject.spec.proxy.no_proxy if subject.spec.proxy else ()):
        if not _is_direct(each):
            yield at("proxy", "no_proxy", index, value=each)


def _certificates(pem: str) -> tuple[Certificate, ...]:
    """Those of a PEM text; none where anything of it cannot be read."""
    try:
        return read(pem)
    except ValueError:
        return ()


def _holds_a_key(pem: str) -> bool:
    return "PRIVATE KEY-----" in pem


def _key(subject: Subject) -> Iterator[Finding]:
    for index, pem in enumerate(subject.spec.trusted_cas):
        if _holds_a_key(pem):
            yield at("trusted_cas", index)


def _unreadable(subject: Subject) -> Iterator[Finding]:
    for index, pem in enumerate(subject.spec.trusted_cas):
        if not _holds_a_key(pem) and not _certificates(pem):
            yield at("trusted_cas", index)


def _no_authority(subject: Subject) -> Iterator[Finding]:
    for index, pem in enumerate(subject.spec.trusted_cas):
        for each in _certificates(pem):
            if not each.is_authority:
                yield at("trusted_cas", index, name=each.subject)


def _over(subject: Subject) -> Iterator[Finding]:
    for index, pem in enumerate(subject.spec.trusted_cas):
        for each in _certificates(pem):
            if each.until < datetime.now(timezone.utc):
                yield at("trusted_cas", index, name=each.subject, day=f"{each.until:%Y-%m-%d}")


_ROWS: tuple[tuple[str, str, Rule, str, str], ...] = (
    (
        "proxy-empty",
        "proxy",
        _empty,
        "a proxy without an address is used for nothing",
        "give http, https or both: http://proxy.example.com:3128; or remove proxy",
    ),
    (
        "proxy-address",
        "proxy.http proxy.https",
        _wrong_address,
        "this is no address of a proxy: the scheme http, a host and a port, and nothing behind them",
        "write http://HOST:PORT; what is fetched through it may be https all the same",
    ),
    (
        "proxy-password",
        "proxy.http proxy.https",
        _password,
        "a user or password in an address would stand in plans, bundles and services, where it is no secret",
        "let the proxy know the machines by their address, and write http://HOST:PORT",
    ),
    (
        "proxy-direct",
        "proxy.no_proxy",
        _wrong_direct,
        "{value} is no host, no .suffix, no address and no range, which is all that every program understands",
        "write example.com (and all below it), .example.com (only below it), 10.1.2.3 or 10.0.0.0/8; no * and no port",
    ),
    (
        "trusted-ca-key",
        "trusted_cas",
        _key,
        "it holds a private key, which no machine may have",
        "give the certificate alone; the key has been where it does not belong, so consider it known",
    ),
    (
        "trusted-ca-unreadable",
        "trusted_cas",
        _unreadable,
        "it is no PEM of X.509 certificates",
        "give the text from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----",
    ),
    (
        "trusted-ca-not-an-authority",
        "trusted_cas",
        _no_authority,
        "{name} is a server's certificate, which signs no others (basicConstraints CA is not true)",
        "give the certificate of the authority that signed it",
    ),
)

CHECKS: tuple[Check, ...] = (
    *(error(slug, reads, rule, text, fix, "OPS-08") for slug, reads, rule, text, fix in _ROWS),
    warning(
        "trusted-ca-over",
        "trusted_cas",
        _over,
        "{name} is out of date since {day}: whatever it signed is refused",
        "give the newer certificate of that authority, or remove it",
        "OPS-08",
    ),
)
