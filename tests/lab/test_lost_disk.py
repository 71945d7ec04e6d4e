"""etcd does not begin anew where the executor left its file below a lost mount."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.machine.bundle import CLOUD_INIT
from tests.lab.agent.conftest import built

pytestmark = pytest.mark.lab
SECONDS = 60


@pytest.fixture
def etcd(kubernetes: str, missing: Any) -> Path:
    """Return etcd as its image has it."""
    return built("etcd", kubernetes, missing)


def started(etcd: Path, data: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a lone member until it ends. Raises TimeoutExpired if it runs."""
    urls = {"listen-client-urls": 0, "advertise-client-urls": 0, "listen-peer-urls": 0}
    words = [f"--{name}=http://127.0.0.1:{port}" for name, port in urls.items()]
    return subprocess.run([etcd, f"--data-dir={data}", *words], capture_output=True, text=True, timeout=seconds)


def test_etcd_ends_at_the_file_below_a_lost_mount_and_writes_nothing(
    etcd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(CLOUD_INIT / "linux"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    disks = importlib.import_module("kinds.disks")
    data = tmp_path / "etcd"
    disks.guard(SimpleNamespace(path=Path), {"path": str(data)})
    ended = started(etcd, data, SECONDS)
    assert ended.returncode and "not a directory" in ended.stderr
    assert [each.name for each in data.iterdir()] == ["member"]
    (data / "member").unlink()
    with pytest.raises(subprocess.TimeoutExpired):
        started(etcd, data, 5)
    assert (data / "member" / "wal").is_dir(), "without the file it would have begun as a new member"
