"""The page about control planes has the sizes of the check."""

import re
from pathlib import Path

from components.catalogue.control_plane_sizes import ROWS, smallest
from components.checks.control_plane import RECORDED
from components.clouds import CLOUDS

PAGE = Path(__file__).parents[2] / "docs/control-plane.md"


def test_the_page_has_the_rows_that_the_checks_read_with_a_size_of_each_cloud() -> None:
    section = PAGE.read_text().partition("## How many nodes a control plane serves")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| \d.+$", section, re.MULTILINE)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    for shown, row in zip(rows, ROWS, strict=True):
        sizes = [smallest(cloud, CLOUDS[cloud].linux_size, row) for cloud in ("aws", "azure", "gcp")]
        disk = f"{row.iops:,}, {row.mb:g}"
        needed = [f"{row.nodes:,}", str(row.vcpu), f"{row.gib:g}"]
        assert shown == [*needed, *sizes, disk, "yes" if row.own_disk else "no"]
    assert f"Above {RECORDED:,} nodes" in section
