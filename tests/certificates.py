"""Certificates for tests, created once and without their keys, and a function to sign others."""

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIIBPDCB4qADAgECAgEHMAoGCCqGSM49BAMCMBwxGjAYBgNVBAMMEUV4YW1wbGUg
QXV0aG9yaXR5MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAcMRow
GAYDVQQDDBFFeGFtcGxlIEF1dGhvcml0eTBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABGG8AjsFgbJJ/XqarG5GvvJRkaFNwpELMpPCWtBYSuKaP/x4HAYXeE5mbarw
izNu1NbXKRIPMzJh15H3oIvdJXOjEzARMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
zj0EAwIDSQAwRgIhAJ5pbtdvm241R+BYf5PO4kX3mtK2BFue9Y9voAVd0uvtAiEA
tZNfC9GalaZ0dupOCgaLfDDk6ova7cQ/SHmHFa+ZAo4=
-----END CERTIFICATE-----
"""
"""Certificate of an authority, valid until 2120."""

OTHER = """\
-----BEGIN CERTIFICATE-----
MIIBNjCB3qADAgECAgEHMAoGCCqGSM49BAMCMBoxGDAWBgNVBAMMD090aGVyIEF1
dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowGjEYMBYG
A1UEAwwPT3RoZXIgQXV0aG9yaXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
idXqh4ZHyN38IOLiJ012DHwvoLT5oTuaDa9soYSdLJa58eax1WqH1ti43MqH1L/B
Daugfh6XcRJbmboOR4UJuaMTMBEwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQD
AgNHADBEAiABdCzNNJwjS8QptEW9S5LDrODGu5Osz97WYZEv+p9sDQIgXg45/d+c
3v8kHA+zkPps15w6F01nGDGgAcjOnljXSkg=
-----END CERTIFICATE-----
"""
"""Certificate of another authority."""

OVER = """\
-----BEGIN CERTIFICATE-----
MIIBMTCB2KADAgECAgEHMAoGCCqGSM49BAMCMBgxFjAUBgNVBAMMDU9sZCBBdXRo
b3JpdHkwHhcNMjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjAYMRYwFAYDVQQD
DA1PbGQgQXV0aG9yaXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEUXEYgwyj
dyhWbBupxgZnov3glDLGqSGBPi6rFc4GX9eLavapxzk47NhD4sr8vnYvUJwDrBEc
dxifuf6E7xtJwqMTMBEwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBF
AiA9Lxu+4dgRp1cCi3o0N0FmB/7e+zYNxDs+LUIn5ZLtYAIhAJj2LPiyNCMDI4DZ
/smd2J/IHHQfV+leqdTa3Uk3q4nm
-----END CERTIFICATE-----
"""
"""Certificate of an authority, expired in 2021."""

SERVER = """\
-----BEGIN CERTIFICATE-----
MIIBNDCB26ADAgECAgEHMAoGCCqGSM49BAMCMBoxGDAWBgNVBAMMD3d3dy5leGFt
cGxlLmNvbTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowGjEYMBYG
A1UEAwwPd3d3LmV4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
pCcGBZFI63Pv4gn8jWYIvGXH621t6Oh1bN2hi8RyBhNI01K5QpqUDW9p/R3cx3ui
EJFWKyTDs5tyDIn2hB500KMQMA4wDAYDVR0TAQH/BAIwADAKBggqhkjOPQQDAgNI
ADBFAiEAxOdsCStGqwfT8PV2DDvSpcsgAkdIt/wjxTV1h02aMNsCIDPQD2mQCUXe
WhGoubdq2AgIb+NYXVawyHOnzZW1MwVz
-----END CERTIFICATE-----
"""
"""Certificate of a server."""


def signed(build: x509.CertificateBuilder, key: EllipticCurvePrivateKey) -> x509.Certificate:
    """Sign with a P-256 key until both numbers of the signature fill 32 bytes.

    Wine rejects a certificate whose numbers are shorter, about one in 128 (tried with Wine 8.0).
    """
    while True:
        made = build.sign(key, hashes.SHA256())
        if min(decode_dss_signature(made.signature)).bit_length() > 31 * 8:
            return made
