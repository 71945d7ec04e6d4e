"""Instance types: their vCPUs and memory, and complete tables."""

import pytest

from components.catalogue import instance_sizes
from components.spec import defaults
from sandbox.gcp import regions

KNOWN = (
    ("m6i.large", 2, 8, "amd64"),
    ("m6i.xlarge", 4, 16, "amd64"),
    ("m6i.2xlarge", 8, 32, "amd64"),
    ("m6i.32xlarge", 128, 512, "amd64"),
    ("m5.24xlarge", 96, 384, "amd64"),
    ("c6i.large", 2, 4, "amd64"),
    ("c5.9xlarge", 36, 72, "amd64"),
    ("c5a.8xlarge", 32, 64, "amd64"),
    ("r6i.large", 2, 16, "amd64"),
    ("m7i-flex.large", 2, 8, "amd64"),
    ("m7a.medium", 1, 4, "amd64"),
    ("m7g.medium", 1, 4, "arm64"),
    ("c8g.48xlarge", 192, 384, "arm64"),
    ("t3.micro", 2, 1, "amd64"),
    ("t3.medium", 2, 4, "amd64"),
    ("t3.large", 2, 8, "amd64"),
    ("t4g.2xlarge", 8, 32, "arm64"),
    ("t2.small", 1, 2, "amd64"),
    ("e2-micro", 2, 1, "amd64"),
    ("e2-standard-2", 2, 8, "amd64"),
    ("n2-standard-4", 4, 16, "amd64"),
    ("n2-highmem-8", 8, 64, "amd64"),
    ("n1-standard-2", 2, 7.5, "amd64"),
    ("c3-standard-4", 4, 16, "amd64"),
    ("t2a-standard-4", 4, 16, "arm64"),
    ("Standard_D2s_v5", 2, 8, "amd64"),
    ("Standard_E20ads_v6", 20, 160, "amd64"),
    ("Standard_F8s_v2", 8, 16, "amd64"),
    ("Standard_B2ms", 2, 8, "amd64"),
    ("Standard_B1ms", 1, 2, "amd64"),
    ("Standard_D4ps_v5", 4, 16, "arm64"),
)


@pytest.mark.parametrize(("name", "vcpu", "gib", "architecture"), KNOWN)
def test_a_size_has_the_publishers_figures(name: str, vcpu: int, gib: float, architecture: str) -> None:
    assert instance_sizes.size(name) == instance_sizes.Size(name, vcpu, int(gib * instance_sizes.GIB), architecture)


@pytest.mark.parametrize("name", ["", "m6i", "m6i.huge", "m6i.9xlarge", "Standard_D3s_v5"])
def test_size_returns_none_for_an_unknown_type(name: str) -> None:
    assert instance_sizes.size(name) is None


def test_every_family_has_sizes_and_no_type_is_listed_twice() -> None:
    rows = [(family, names) for families, _, names in instance_sizes.FAMILIES for family in families.split()]
    families = [family for family, _ in rows] + list(instance_sizes.BURSTABLE_FAMILIES)
    assert len(families) == len(set(families))
    assert len(instance_sizes.AWS) == sum(len(names.split()) for _, names in rows) + 4 * len(instance_sizes.BURSTABLE)


def test_default_sizes_are_known_and_amd64() -> None:
    """OS-04: no check refuses a default."""
    for cloud, table in instance_sizes.TABLES.items():
        sizes = [table.get(name) for name in defaults.SIZES[cloud].values()]
        assert all(each and each.architecture == "amd64" for each in sizes), cloud


def test_no_instance_type_is_listed_for_two_clouds() -> None:
    names = [name for table in instance_sizes.TABLES.values() for name in table]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("series", ["n4", "n4a", "n4d", "c4", "c4a", "c4d", "h4d", "m4", "a4", "x9"])
def test_series_without_persistent_disks_boot_from_hyperdisk(series: str) -> None:
    """A series that the table does not know is newer than the table, so it has no persistent disks."""
    assert instance_sizes.gcp_disk(f"{series}-standard-4") == "hyperdisk-balanced"


@pytest.mark.parametrize("series", ["e2", "n1", "n2", "n2d", "c2", "c2d", "c3", "c3d", "t2d", "t2a"])
def test_older_series_boot_from_a_persistent_disk(series: str) -> None:
    assert instance_sizes.gcp_disk(f"{series}-standard-4") == "pd-balanced"


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("h4d-highmem-192-lssd", False),
        ("c3-standard-192-metal", False),
        ("z3-highmem-88-standardlssd", False),
        ("z3-highmem-176", False),
        ("z3-highmem-44-standardlssd", True),
        ("z3-highmem-22-highlssd", True),
        ("c3-standard-4", True),
    ],
)
def test_bare_metal_and_large_local_disks_are_not_moved_live(name: str, moved: bool) -> None:
    assert instance_sizes.gcp_is_moved(name) is moved


def test_the_sandbox_boots_every_series_from_its_disk() -> None:
    sizes = [f"{series}-standard-4" for series in regions.SIZES]
    assert [size for size in sizes if not regions.boots_from(size, instance_sizes.gcp_disk(size))] == []
