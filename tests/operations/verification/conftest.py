"""Fixtures for `mullion verify`: Windows machines for the scripts that run in pods, and no waits."""

import pytest

from operations.verification import run
from tests.cloud_init.conftest import pytest_configure, winpwsh

__all__ = ["pytest_configure", "winpwsh"]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip all waits, because the fake API never changes by itself."""
    monkeypatch.setattr(run, "PULL", {"linux": 0.01, "windows": 0.01})
    monkeypatch.setattr(run, "ASKING", 0.01)
    monkeypatch.setattr(run, "WORKING", 0.01)
    monkeypatch.setattr("operations.verification.cluster.POLL_SECONDS", 0.001)
