"""Fixture of tests of clouds: the program that makes Windows machines."""

from tests.cloud_init.conftest import pytest_configure, winpwsh

__all__ = ["pytest_configure", "winpwsh"]
