"""Other values of options of `pod_identity`, for the test of change effects."""

from typing import Any

VALUES: dict[str, Any] = {
    "pod_identity.issuer": "accepted",
    "pod_identity.service_accounts": [{"namespace": "shop", "name": "uploads"}],
}
