"""User-data of a booted Linux machine at power-on, without a machine."""

from pathlib import Path
from typing import Any

import pytest

from lab.linuxnode import machine as linuxnode
from sandbox.boot.machine import Machine


def test_a_disconnected_machine_boots_with_its_old_user_data_unless_it_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network: Any = None
    record: Any = None
    here = Machine(network, record, "linux-0", tmp_path, "net-x", {"kubernetes": "1.37.1"})
    given: list[bytes] = []

    def boot(folder: Path, space: str, image: str, file: str, *words: str) -> int:
        given.append(Path(file).read_bytes())
        return 0

    def unreachable(self: Machine) -> bytes:
        raise OSError("No route to host")

    monkeypatch.setattr(linuxnode, "boot", boot)
    monkeypatch.setattr(Machine, "user_data", unreachable)
    with pytest.raises(OSError, match="No route"):
        here.boot()
    monkeypatch.setattr(Machine, "user_data", lambda self: b"#cloud-config")
    here.boot()
    monkeypatch.setattr(Machine, "user_data", unreachable)
    here.boot()
    assert given == [b"#cloud-config"] * 2
