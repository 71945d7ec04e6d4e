"""Refusals of spot machines: scene, changes, error code, words (refusals.py says how rows are written)."""

from tests.sandbox.scenes import Row

SPOT: dict[str, Row] = {
    "spot machine that restarts": (
        "machine",
        {"scheduling": {"provisioningModel": "SPOT", "preemptible": True}},
        "invalid",
        "automatic restart be false",
    ),
    "spot machine that migrates": (
        "machine",
        {"scheduling": {"provisioningModel": "SPOT", "automaticRestart": False, "onHostMaintenance": "MIGRATE"}},
        "invalid",
        "cannot be migrated",
    ),
    "end of a machine that is not spot": (
        "machine",
        {"scheduling": {"instanceTerminationAction": "DELETE"}},
        "invalid",
        "only for Spot VMs",
    ),
}
