"""Parser of certificate requests (PKCS #10), for what the issued certificate would say.

It parses DER, not openssl's text, in which a name with a comma could look like two names.
"""

import base64
import binascii
from collections.abc import Iterator
from typing import NamedTuple

from x509 import elements

BEGIN, END = "-----BEGIN CERTIFICATE REQUEST-----", "-----END CERTIFICATE REQUEST-----"
SEQUENCE, SET, OID, OCTETS, TRUTH, ATTRIBUTES = 0x30, 0x31, 0x06, 0x04, 0x01, 0xA0
TEXTS = (0x0C, 0x13)
"""Tags of UTF8String and PrintableString, which Go uses for names."""
SUBJECT = {bytes.fromhex("550403"): "CN", bytes.fromhex("55040a"): "O"}
EXTENSION_REQUEST = bytes.fromhex("2a864886f70d01090e")
ALTERNATIVE_NAMES = bytes.fromhex("551d11")
DNS, ADDRESS = 0x82, 0x87
LARGEST = 16384
"""Characters of a request that is parsed; kubelets' have about 500 (an ECDSA key, at most a name and an address)."""


class Malformed(Exception):
    """Not a certificate request, or one with parts that kubelets' requests never have."""


class Request(NamedTuple):
    """Content of a request."""

    subject: tuple[tuple[str, str], ...]
    """(CN or O, value), sorted."""
    names: tuple[str, ...]
    """DNS names in subjectAltName."""
    addresses: tuple[str, ...]
    """IPv4 addresses in subjectAltName."""


def parsed(pem: str) -> Request:
    """Return the request in a PEM block without other text. Raise Malformed for any unexpected part."""
    if len(pem) > LARGEST:
        raise Malformed(f"the request has more than {LARGEST} characters")
    try:
        head, begin, rest = pem.partition(BEGIN)
        body, end, tail = rest.partition(END)
        if not begin or not end or head.strip() or tail.strip():
            raise Malformed("not one PEM block of a certificate request")
        ((tag, whole, _),) = elements(base64.b64decode("".join(body.split()), validate=True))
        information = inner(next(elements(expect(SEQUENCE, tag, whole)))[2], SEQUENCE)
        _, (_, name, _), _, *more = information
        subject = tuple(sorted(attribute for _, each, _ in elements(name) for attribute in named(each)))
        names, addresses = alternatives(more)
    except (binascii.Error, ValueError, IndexError, StopIteration) as error:
        raise Malformed(f"the request cannot be parsed: {type(error).__name__}") from None
    return Request(subject, names, addresses)


def expect(wanted: int, tag: int, body: bytes) -> bytes:
    """Return the body of an element with this tag."""
    if tag != wanted:
        raise Malformed(f"element {tag:#x} instead of {wanted:#x}")
    return body


def inner(element: bytes, wanted: int) -> list[tuple[int, bytes, bytes]]:
    """Return the elements inside an element with this tag."""
    ((tag, body, _),) = elements(element)
    return list(elements(expect(wanted, tag, body)))


def named(attributes: bytes) -> Iterator[tuple[str, str]]:
    """Yield the attributes of one relative distinguished name."""
    for _, _, pair in elements(attributes):
        (kind, oid, _), (tag, text, _) = inner(pair, SEQUENCE)
        if kind != OID or oid not in SUBJECT or tag not in TEXTS:
            raise Malformed("the subject has more than CN and O")
        yield SUBJECT[oid], text.decode("ascii")


def alternatives(attributes: list[tuple[int, bytes, bytes]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the DNS names and addresses of subjectAltName, the only extension allowed."""
    listed = [each for tag, body, _ in attributes for each in elements(expect(ATTRIBUTES, tag, body))]
    if not listed:
        return (), ()
    ((_, _, attribute),) = listed
    (_, oid, _), (_, _, values) = inner(attribute, SEQUENCE)
    if oid != EXTENSION_REQUEST:
        raise Malformed("an attribute is not a list of extensions")
    ((_, _, extensions),) = inner(values, SET)
    wanted = inner(extensions, SEQUENCE)
    if not wanted:
        return (), ()
    ((_, _, extension),) = wanted
    (_, oid, _), *critical, (tag, content, _) = inner(extension, SEQUENCE)
    if oid != ALTERNATIVE_NAMES or any(each[0] != TRUTH for each in critical):
        raise Malformed("it requests an extension other than subjectAltName")
    found = inner(expect(OCTETS, tag, content), SEQUENCE)
    if any(tag not in (DNS, ADDRESS) or (tag == ADDRESS and len(body) != 4) for tag, body, _ in found):
        raise Malformed("subjectAltName has more than DNS names and IPv4 addresses")
    names = tuple(body.decode("ascii") for tag, body, _ in found if tag == DNS)
    return names, tuple(".".join(map(str, body)) for tag, body, _ in found if tag == ADDRESS)
