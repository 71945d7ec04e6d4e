"""What both runners need from the folder of the scripts' own tests."""

from tests.cloud_init.conftest import pytest_configure, winpwsh

__all__ = ["pytest_configure", "winpwsh"]
