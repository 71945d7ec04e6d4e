"""The page about control planes has the sizes of the check."""

import re
from pathlib import Path

from components.checks.control_plane import RECORDED, VCPU_BY_NODES

PAGE = Path(__file__).parents[2] / "docs/control-plane.md"


def test_the_page_has_the_sizes_by_number_of_workers_that_the_check_asks_for() -> None:
    section = PAGE.read_text().partition("## How many nodes a control plane serves")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| (\d+) \|$", section, re.MULTILINE)
    assert [(int(most), int(vcpu)) for most, vcpu in rows] == sorted(VCPU_BY_NODES)
    assert f"Above {RECORDED:,} nodes" in section
