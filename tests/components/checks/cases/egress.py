"""The web proxy, and authorities that machines trust."""

from tests.certificates import AUTHORITY, OVER, SERVER
from tests.components.spec.documents import Case, Change

_URL = "http://proxy.example.com:3128"


def _proxy(**fields: object) -> Change:
    return {"proxy": {"https": _URL, **fields}}


def _trusted(*pems: str) -> Change:
    return {"trusted_cas": list(pems)}


_ADDRESSES = (
    "proxy.example.com:3128",
    "https://proxy.example.com:3128",
    "http://proxy.example.com",
    "http://proxy.example.com:3128/path",
    "http://proxy.example.com:port",
    "http://:3128",
    "http://proxy_1.example.com:3128",
)

CASES = (
    Case("proxy-empty", {"proxy": {}}, "proxy", {"proxy": None}),
    Case("proxy-empty", {"proxy": {"no_proxy": [".corp"]}}, "proxy", _proxy(no_proxy=[".corp"])),
    *(Case("proxy-address", _proxy(https=each), "proxy.https", _proxy()) for each in _ADDRESSES),
    Case("proxy-address", _proxy(http="http://10.1.2.3"), "proxy.http", _proxy(http="http://10.1.2.3:80/")),
    Case("proxy-password", _proxy(https="http://me:word@proxy.example.com:3128"), "proxy.https", _proxy()),
    *(
        Case("proxy-direct", _proxy(no_proxy=["a.example", destination]), "proxy.no_proxy.1", _proxy(no_proxy=[good]))
        for destination, good in (
            ("*.example.com", ".example.com"),
            ("example.com:443", "example.com"),
            ("10.0.0.0/33", "10.0.0.0/8"),
            ("10.0.0.1/8", "10.0.0.1"),
            ("", "localhost"),
        )
    ),
    Case(
        "trusted-ca-key",
        _trusted(AUTHORITY, f"{AUTHORITY}-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"),
        "trusted_cas.1",
        _trusted(AUTHORITY),
    ),
    Case("trusted-ca-unreadable", _trusted("pem"), "trusted_cas.0", _trusted(AUTHORITY)),
    Case("trusted-ca-unreadable", _trusted(AUTHORITY[:-60]), "trusted_cas.0", _trusted(AUTHORITY * 2)),
    Case("trusted-ca-not-an-authority", _trusted(AUTHORITY + SERVER), "trusted_cas.0", _trusted(AUTHORITY)),
    Case("trusted-ca-over", _trusted(OVER), "trusted_cas.0", _trusted(AUTHORITY)),
)
