"""Refusals of spot machines: scene, changes, error code, words (refusals.py says how rows are written)."""

from tests.sandbox.scenes import Row

SPOT: dict[str, Row] = {
    "eviction of a machine that is not spot": (
        "vm",
        {"evictionPolicy": "Delete"},
        "InvalidParameter",
        "only on Azure Spot",
    ),
    "spot capacity of the B series": (
        "vm",
        {"priority": "Spot", "hardwareProfile": {"vmSize": "Standard_B2ms"}},
        "OperationNotAllowed",
        "'Standard_B2ms' is not supported for Azure Spot",
    ),
}
