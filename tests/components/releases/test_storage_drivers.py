"""Releases of storage drivers: those with known faults are not installed."""

from components.releases.storage_drivers import DRIVERS
from components.spec.choices import StorageDriver


def test_sto_03_no_release_of_the_driver_of_persistent_disks_crashes_when_it_cannot_wait_for_an_operation() -> None:
    """From 1.21.0 on, until 1.23.0, the driver read a field of a missing answer (its commit 832d894f)."""
    for image, _ in DRIVERS[StorageDriver.PD].images.values():
        minor = tuple(int(each) for each in image.rpartition(":v")[2].split(".")[:2])
        assert not (1, 21) <= minor < (1, 23), image
