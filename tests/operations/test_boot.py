"""What `mullion sandbox ls` tells of booted machines, and what stops `mullion sandbox boot`."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from operations import boot
from operations.exits import Exit, Stop
from sandbox.boot import wishes
from sandbox.boot.windows.hosts import HOSTS
from sandbox.boot.wishes import Standing, Wish
from sandbox.world import World

SAID = {"state": "ready", "phase": "ready", "step": "node-ready", "time": "2026-01-02T03:04:05Z"}
"""A record."""
LIVES = {
    "of this life": ("2026-01-02T03:04:04Z", ("ready", "ready/node-ready")),
    "of the life before": ("2026-01-02T03:04:06Z", ("absent", "")),
    "of the moment in which it was put on": ("2026-01-02T03:04:05Z", ("absent", "")),
}


@pytest.mark.parametrize("of", LIVES)
def test_a_record_counts_only_where_the_machine_wrote_it_since_it_was_put_on(
    of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    since, told = LIVES[of]
    world = World(tmp_path / "world.db")
    wishes.tell(world, {"linux-0": Standing("i-1", "10.20.0.9", "on", "", Wish(rate="2mbit"), since)})

    @contextmanager
    def kept(name: str) -> Iterator[World]:
        yield world

    monkeypatch.setattr(boot, "_kept", kept)
    monkeypatch.setattr(boot, "record", lambda world, instance: SAID)
    boot.ls("small", as_json=True)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["machines"]["linux-0"]
    assert (found["record"], found["step"]) == told
    assert (found["power"], found["network"], found["address"]) == ("on", "2mbit", "10.20.0.9")


def test_a_file_of_windows_servers_that_is_wrong_is_told_before_anything_boots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "hosts.yaml"
    file.write_text("web-0: {link: tap3}\n")
    monkeypatch.setenv(HOSTS, str(file))
    monkeypatch.setattr(boot.stacks, "load", lambda name: SimpleNamespace(spec=None))
    monkeypatch.setattr(boot, "plan_cluster", lambda name, spec: None)
    monkeypatch.setattr(boot.bootable, "is_chosen", lambda name: True)
    monkeypatch.setattr(boot, "world_file", lambda name: file)
    monkeypatch.setattr(boot, "lacking", str)
    with pytest.raises(
        Stop, match=re.escape(f"{file}: web-0.card: Field required; write what Windows calls")
    ) as raised:
        boot.boot("small", "20m")
    assert raised.value.code is Exit.USAGE
