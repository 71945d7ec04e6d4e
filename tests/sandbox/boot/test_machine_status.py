"""Desired power and status of booted machines in the cloud state."""

import json
from pathlib import Path

from sandbox.boot import machine_status
from sandbox.boot.machine_status import DesiredPower, MachineStatus
from sandbox.cloud_state import CloudState

STATUS = MachineStatus("i-1", "10.20.0.9", "on", "", DesiredPower(boots=2, rate="2mbit"), "2026-01-02T03:04:05Z")


def test_settings_keep_the_keys_of_existing_sandboxes(tmp_path: Path) -> None:
    cloud_state = CloudState(tmp_path / "world.db")
    machine_status.record_start(cloud_state, net="n", api="https://127.0.0.1:1", gateway="10.20.0.1")
    machine_status.set_desired_power(cloud_state, "linux-0", on=False)
    machine_status.write_statuses(cloud_state, {"linux-0": STATUS})
    desired = {"on": False, "boots": 0, "connected": True, "rate": ""}
    assert json.loads(cloud_state.setting("booted/wishes") or "") == {"linux-0": desired}
    assert set(json.loads(cloud_state.setting("booted/site") or "")) == {"net", "api", "gateway"}
    [fields] = json.loads(cloud_state.setting("booted/machines") or "").values()
    assert fields["wish"] == {"on": True, "boots": 2, "connected": True, "rate": "2mbit"}
    assert machine_status.statuses(cloud_state) == {"linux-0": STATUS}
    machine_status.record_stop(cloud_state)
    assert (machine_status.statuses(cloud_state), machine_status.network(cloud_state)) == ({}, {})
