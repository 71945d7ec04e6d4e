"""The machines' web proxy, and the certificate authorities they trust."""

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from ipaddress import ip_network
from urllib.parse import urlsplit

from components.checks.check import Check, Finding, Rule, Subject, at, error, warning
from components.spec.pem import Certificate, read

_HOST = re.compile(r"\.?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
_SCHEMES = ("http", "https")
"""Options of proxy, by the scheme of the URL that is fetched. Connections to the proxy itself are plain http."""


def _addresses(subject: Subject) -> Iterator[tuple[str, str]]:
    proxy = subject.spec.proxy
    for scheme in _SCHEMES if proxy else ():
        if address := getattr(proxy, scheme):
            yield scheme, address


def _empty(subject: Subject) -> Iterator[Finding]:
    if subject.spec.proxy is not None and not any(_addresses(subject)):
        yield at("proxy")


def _is_address(text: str) -> bool:
    """Return whether a text is http://HOST:PORT, with or without a user, and without a path."""
    if not text.isprintable() or " " in text:  # urlsplit() leaves out line breaks, which would begin a new setting
        return False
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
    """Return the certificates of a PEM text; none if a part of it cannot be read."""
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


def _not_an_authority(subject: Subject) -> Iterator[Finding]:
    for index, pem in enumerate(subject.spec.trusted_cas):
        for certificate in _certificates(pem):
            if not certificate.is_authority:
                yield at("trusted_cas", index, name=certificate.subject)


def _expired(subject: Subject) -> Iterator[Finding]:
    for index, pem in enumerate(subject.spec.trusted_cas):
        for certificate in _certificates(pem):
            if certificate.until < datetime.now(timezone.utc):
                yield at("trusted_cas", index, name=certificate.subject, day=f"{certificate.until:%Y-%m-%d}")


_ROWS: tuple[tuple[str, str, Rule, str, str], ...] = (
    (
        "proxy-empty",
        "proxy",
        _empty,
        "proxy has no address",
        "write http, https or both, such as http: http://proxy.example.com:3128; or remove proxy",
    ),
    (
        "proxy-address",
        "proxy.http proxy.https",
        _wrong_address,
        "this is not the address of a proxy: http, host and port, without a path",
        "write http://HOST:PORT, also for the proxy of https URLs",
    ),
    (
        "proxy-password",
        "proxy.http proxy.https",
        _password,
        "the address contains a user or password, which would be readable in plans, bundles and service files",
        "configure the proxy to admit the machines by their addresses, and write http://HOST:PORT",
    ),
    (
        "proxy-direct",
        "proxy.no_proxy",
        _wrong_direct,
        "{value} is not a host, a .suffix, an address or a range; not all programs understand other forms",
        "write example.com (with subdomains), .example.com (only subdomains), 10.1.2.3 or 10.0.0.0/8; no * and no port",
    ),
    (
        "trusted-ca-key",
        "trusted_cas",
        _key,
        "the text contains a private key",
        "write only the certificate, and replace the key: everybody who reads the stack file has seen it",
    ),
    (
        "trusted-ca-unreadable",
        "trusted_cas",
        _unreadable,
        "the text has no readable X.509 certificate in PEM",
        "write the text from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----",
    ),
    (
        "trusted-ca-not-an-authority",
        "trusted_cas",
        _not_an_authority,
        "{name} is not an authority's certificate: basicConstraints CA is not true",
        "write the certificate of the authority that signed it",
    ),
)

CHECKS: tuple[Check, ...] = (
    *(error(slug, reads, rule, text, fix, "OPS-08") for slug, reads, rule, text, fix in _ROWS),
    warning(
        "trusted-ca-over",
        "trusted_cas",
        _expired,
        "{name} expired on {day}: machines refuse every certificate that it signed",
        "write the authority's newer certificate, or remove this one",
        "OPS-08",
    ),
)
