"""Other values of the options that have modules of their own, and the stacks around them (test_change_effects.py)."""

from typing import Any

from tests.components.spec import (
    etcd_disk_values,
    existing_values,
    gmsa_values,
    ingress_values,
    pod_identity_values,
    snapshot_values,
)

VALUES: dict[str, Any] = {
    **etcd_disk_values.VALUES,
    **existing_values.VALUES,
    **gmsa_values.VALUES,
    **ingress_values.VALUES,
    **pod_identity_values.VALUES,
    **snapshot_values.VALUES,
}
"""Another value for each option."""
CONTEXT: dict[str, Any] = {
    **etcd_disk_values.CONTEXT,
    **existing_values.CONTEXT,
    **gmsa_values.CONTEXT,
    **dict.fromkeys(ingress_values.VALUES, ingress_values.INGRESS),
    **snapshot_values.CONTEXT,
}
"""Further options by option, set before and after the change."""
