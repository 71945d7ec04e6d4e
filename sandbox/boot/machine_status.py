"""Desired power and actual status of booted machines, which commands and the supervisor share by the cloud state."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from sandbox.cloud_state import CloudState

DESIRED, STATUSES, NETWORK = "booted/wishes", "booted/machines", "booted/site"
"""Settings of the cloud state: {machine name: DesiredPower}; {machine name: MachineStatus}; while a supervisor runs,
{net, api, gateway} of the cluster's network."""


@dataclass(frozen=True)
class DesiredPower:
    """Desired power and network of a machine.

    boots: number of reboots requested so far. connected: whether its network cable is in.
    rate: limit of its network as tc writes it (2mbit); empty: no limit.
    """

    on: bool = True
    boots: int = 0
    connected: bool = True
    rate: str = ""


@dataclass(frozen=True)
class MachineStatus:
    """Actual power state of a machine, the reason, and the desired power last applied.

    state: on, off, boots, failed, or not booted. since: time of its last power-on (UTC, as status records write it);
    status records that are not younger were written before that boot.
    """

    instance: str
    address: str
    state: str
    why: str
    desired: DesiredPower
    since: str = ""


def desired_power(cloud_state: CloudState) -> dict[str, DesiredPower]:
    """Return desired power by machine name, without machines that have the default."""
    return {name: DesiredPower(**fields) for name, fields in _read(cloud_state, DESIRED).items()}


def set_desired_power(cloud_state: CloudState, name: str, **changes: Any) -> DesiredPower:
    """Change the desired power of a machine and return it; boots=1 requests one more reboot."""
    with cloud_state.transaction():
        machines = desired_power(cloud_state)
        before = machines.get(name, DesiredPower())
        machines[name] = replace(before, **{**changes, "boots": before.boots + changes.get("boots", 0)})
        _write_desired(cloud_state, machines)
    return machines[name]


def clear_desired_power(cloud_state: CloudState, name: str) -> None:
    """Forget the desired power of a deleted machine, so a successor of the same name has the default."""
    with cloud_state.transaction():
        machines = desired_power(cloud_state)
        machines.pop(name, None)
        _write_desired(cloud_state, machines)


def statuses(cloud_state: CloudState) -> dict[str, MachineStatus]:
    """Return the status of each machine by its name."""
    return {name: _status(**fields) for name, fields in _read(cloud_state, STATUSES).items()}


def write_statuses(cloud_state: CloudState, machines: dict[str, MachineStatus]) -> None:
    """Write the status of all machines."""
    with cloud_state.transaction():
        _write(cloud_state, STATUSES, {name: _fields(status) for name, status in machines.items()})


def network(cloud_state: CloudState) -> dict[str, str]:
    """Return net (network namespace), api (the API's URL on this host) and gateway; empty if no supervisor runs."""
    return _read(cloud_state, NETWORK)


def record_start(cloud_state: CloudState, **network: str) -> None:
    """Write that the cluster's network is up, and reset the desired power of all machines."""
    with cloud_state.transaction():
        _write(cloud_state, NETWORK, network)
        _write(cloud_state, DESIRED, {})


def record_stop(cloud_state: CloudState) -> None:
    """Write that no machine is booted."""
    with cloud_state.transaction():
        for setting in (NETWORK, STATUSES, DESIRED):
            _write(cloud_state, setting, {})


def _status(*, wish: dict[str, Any], **fields: Any) -> MachineStatus:
    return MachineStatus(**fields, desired=DesiredPower(**wish))


def _fields(status: MachineStatus) -> dict[str, Any]:
    fields = asdict(status)
    fields["wish"] = fields.pop("desired")  # existing sandboxes have this key
    return fields


def _write_desired(cloud_state: CloudState, machines: dict[str, DesiredPower]) -> None:
    _write(cloud_state, DESIRED, {name: asdict(desired) for name, desired in machines.items()})


def _read(cloud_state: CloudState, name: str) -> dict[str, Any]:
    return json.loads(cloud_state.setting(name) or "{}")


def _write(cloud_state: CloudState, name: str, content: Any) -> None:
    cloud_state.set_setting(name, json.dumps(content))
