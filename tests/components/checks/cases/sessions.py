"""Sessions on machines."""

from typing import Any

from tests.components.spec.documents import Case, Change, azure, both, linux, net
from tests.existing_networks import BASTION, EXISTING

_SESSION = {"access": "session"}
_PROXY = {"proxy": {"http": "http://proxy.example.com:3128", "https": "http://proxy.example.com:3128"}}
_ALLOW = ["198.18.0.0/24"]
_PUBLIC = {"api": {"access": "public", "allow": _ALLOW}}
_WHERE = "network.existing.bastion"


def _hub(**fields: Any) -> Change:
    """Return sessions in an existing network with this Bastion host."""
    return azure(both(_SESSION, net(existing={**EXISTING["azure"], "bastion": {**BASTION, **fields}})))


_WITHOUT = azure(both(_SESSION, net(existing=EXISTING["azure"])))
_UNUSED = azure(net(existing={**EXISTING["azure"], "bastion": BASTION}))

CASES = (
    Case("session-behind-proxy", both(_SESSION, _PROXY), "access", _SESSION),
    Case("session-without-agent", both(_SESSION, linux(os="debian-12")), "pools.linux.os", _SESSION),
    Case("session-to-public-api", azure(both(_SESSION, _PUBLIC)), "access", both(_SESSION, _PUBLIC)),
    Case("session-from-nowhere", azure(both(_SESSION, {"api": {"allow": []}})), "api.allow", azure(_SESSION)),
    Case("session-without-bastion", _WITHOUT, "network.existing", _hub()),
    Case("bastion-unused", _UNUSED, _WHERE, _hub()),
    Case("bastion-id", _hub(id="hub"), f"{_WHERE}.id", _hub()),
    Case("bastion-range", _hub(range="10.30.0.0/26"), f"{_WHERE}.range", _hub()),
    Case("bastion-range", _hub(range="10.100.0.0/26"), f"{_WHERE}.range", _hub(range="10.31.0.0/24")),
)
