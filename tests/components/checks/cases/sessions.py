"""Sessions on machines."""

from tests.components.spec.documents import Case, azure, both, linux

_SESSION = {"access": "session"}
_PROXY = {"proxy": {"http": "http://proxy.example.com:3128", "https": "http://proxy.example.com:3128"}}

CASES = (
    Case("not-built-session-access", azure(_SESSION), "access", azure({"access": "none"})),
    Case("session-behind-proxy", both(_SESSION, _PROXY), "access", _SESSION),
    Case("session-without-agent", both(_SESSION, linux(os="debian-12")), "pools.linux.os", _SESSION),
)
