"""Windows machines, for what has to run on them."""

from tests.cloud_init.conftest import pytest_configure, winpwsh

__all__ = ["pytest_configure", "winpwsh"]
