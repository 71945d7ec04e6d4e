"""Fixtures of the executors' own tests, for both runners."""

from tests.cloud_init.conftest import pytest_configure, winhns, winpwsh

__all__ = ["pytest_configure", "winhns", "winpwsh"]
