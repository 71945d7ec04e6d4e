"""Scripts for Windows are ASCII, define each function once and compare no clock; tests/powershell_lint has the rest."""

import re
from collections import Counter

from components.machine.bundle import CLOUD_INIT
from tests.cloud_init.windows import FILES


def test_scripts_are_ascii_with_short_lines() -> None:
    for file in FILES:
        lines = file.read_bytes().decode("ascii").splitlines()
        assert max(map(len, lines)) <= 120, (file.name, [line for line in lines if len(line) > 120])
        # the loader is user-data, so one file; tests/components/machine/test_user_data.py limits its bytes
        assert len(lines) <= 250 or file.name == "loader.ps1", file.name


def test_no_function_of_the_executor_is_defined_twice() -> None:
    """All files run in one scope: of two functions with one name, the last one loaded would replace the other."""
    files = [each for part in ("modules", "kinds") for each in (CLOUD_INIT / "windows" / part).glob("*.ps1")]
    files.append(CLOUD_INIT / "windows" / "node.ps1")
    names = Counter(
        name.lower() for each in files for name in re.findall(r"(?mi)^function ([\w-]+)", each.read_text("ascii"))
    )
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == []


def test_the_wall_clock_is_only_recorded_never_compared() -> None:
    """Waits must neither end early nor last longer if the clock jumps; signatures use the service's clock."""
    sources = (
        r"-f \[DateTime\]::UtcNow",
        r"= \[DateTime\]::UtcNow\.ToString",
        r"\(\[DateTime\]::UtcNow \+ \$Site\.Offset\)",
        r"ToUniversalTime\(\) - \[DateTime\]::UtcNow",
    )
    allowed = "|".join(sources)
    for file in FILES:
        for line in file.read_text().splitlines():
            assert not re.search(r"\[DateTime\]::(Now|UtcNow|Today)|TickCount", re.sub(allowed, "", line)), (
                file.name,
                line,
            )
