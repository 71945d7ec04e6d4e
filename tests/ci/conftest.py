"""A clone in which `mullion` may be a recorder, and its record."""

from collections.abc import Callable
from pathlib import Path

import pytest

from . import workspace


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = workspace.make(tmp_path_factory.mktemp("clone"))
    for script in ("setup.sh", "gitlab/tools.sh"):
        (folder / "ci" / script).write_text("#!/bin/bash\n")
    (folder / "address").write_text("198.51.100.7\n")
    return folder


@pytest.fixture
def record(clone: Path) -> Callable[[], list[str]]:
    """Give `record()`: the commands since the last call, with names of clusters as NAME."""
    file = clone / "record"
    file.unlink(missing_ok=True)

    def read() -> list[str]:
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return [" ".join("NAME" if word.startswith("ci-") else word for word in line.split()) for line in lines]

    return read
