"""Parts of X.509 certificates, read from DER (RFC 5280, 4.1); signatures are not verified."""

import base64
import hashlib
import textwrap
from collections.abc import Iterator
from datetime import datetime

BEGIN, END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
VERSION = 0xA0
"""DER tag of the version field."""
ISSUER, VALIDITY, SUBJECT, KEY = 2, 3, 4, 5
"""Places of fields in a TBSCertificate without the version: serial number, signature, issuer, validity, subject,
subjectPublicKeyInfo."""
UTF8, PRINTABLE = 0x0C, 0x13
"""DER tags of the strings in which names are written."""
UTC_TIME = 0x17


def elements(der: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield (tag, body, whole element) of consecutive DER elements. Raise IndexError if one is cut off."""
    while der:
        length, start = der[1], 2
        if length & 0x80:
            start += length & 0x7F
            length = int.from_bytes(der[2:start], "big")
        if start + length > len(der):
            raise IndexError("an element is cut off")
        yield der[0], der[start : start + length], der[: start + length]
        der = der[start + length :]


def first(pem: str) -> bytes:
    """Return the DER of the first certificate in PEM. Raise binascii.Error, a ValueError, if it is no base64."""
    return base64.b64decode(pem.partition(BEGIN)[2].partition(END)[0])


def fields(der: bytes) -> list[bytes]:
    """Return the fields of a certificate, without the version. Raise ValueError if it is not a certificate."""
    try:
        (_, body, _), *_ = elements(der)
        (_, content, _), *_ = elements(body)
        found = [whole for tag, _, whole in elements(content) if tag != VERSION]
    except IndexError:
        found = []
    if len(found) <= KEY:
        raise ValueError("it is no certificate")
    return found


def key_hash(der: bytes) -> str:
    """Return sha256:<hex> of a certificate's public key, in kubeadm's format. Raise ValueError for anything else."""
    return f"sha256:{hashlib.sha256(fields(der)[KEY]).hexdigest()}"


def end(der: bytes) -> float:
    """Return when a certificate ends, in seconds since 1970. Raise ValueError if it is not a certificate."""
    ((_, validity, _),) = elements(fields(der)[VALIDITY])
    (_, (kind, text, _)) = elements(validity)
    return moment(kind, text.decode("ascii"))


def moment(kind: int, text: str) -> float:
    """Return a UTCTime (YYMMDDHHMMSSZ, the years 1950 to 2049) or GeneralizedTime (YYYYMMDDHHMMSSZ)."""
    century = ("20" if int(text[:2]) < 50 else "19") if kind == UTC_TIME else ""
    return datetime.strptime(f"{century}{text[:-1]}+0000", "%Y%m%d%H%M%S%z").timestamp()


def has_name(der: bytes, name: str) -> bool:
    """Return whether the subject has the name, of at most 127 bytes. Raise ValueError if it is no certificate."""
    text, subject = name.encode(), fields(der)[SUBJECT]
    return any(bytes((tag, len(text))) + text in subject for tag in (UTF8, PRINTABLE))


def subject(der: bytes) -> bytes:
    """Return the subject of a certificate as DER. Raise ValueError if it is no certificate."""
    return fields(der)[SUBJECT]


def issuer(der: bytes) -> bytes:
    """Return the name of a certificate's authority as DER. Raise ValueError if it is no certificate."""
    return fields(der)[ISSUER]


def common_name(name: bytes) -> str:
    """Return the last attribute of a name in DER, the common name in names of certificate authorities.

    Raise ValueError if it is no name.
    """
    try:
        ((_, parts, _),) = elements(name)
        *_, (_, last, _) = elements(parts)
        ((_, pair, _),) = elements(last)
        _, (_, text, _) = elements(pair)
    except IndexError:
        raise ValueError("it is no name") from None
    return text.decode()


def every(pem: str) -> list[bytes]:
    """Return the DER of every certificate in PEM. Raise binascii.Error, a ValueError, if one is no base64."""
    return [base64.b64decode(part.partition(END)[0]) for part in pem.split(BEGIN)[1:]]


def prints(text: str) -> list[str]:
    """Return the SHA-256 (hex) of every certificate in PEM, in order. Raise ValueError if one is no base64."""
    return [hashlib.sha256(der).hexdigest() for der in every(text)]


def pem(der: bytes) -> str:
    """Return a certificate as PEM, in lines of 64 characters."""
    return f"{BEGIN}\n{chr(10).join(textwrap.wrap(base64.b64encode(der).decode(), 64))}\n{END}\n"
