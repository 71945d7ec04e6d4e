"""Metrics of this machine as files of Prometheus' text format, for the textfile collector of node_exporter.

No port is opened: whoever may read node_exporter reads them. They are in /run, so a machine that has restarted has none
until the executor and the agent have run.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from writing import write_whole

FOLDER = "/run/mullion/metrics"
FORMAT = ".prom"
"""The only ending that the collector reads (node_exporter, collector/textfile.go)."""

HELP = {
    "mullion_run_code": "Code of the executor's last run: 0 if it succeeded, else a number of docs/errors.md.",
    "mullion_run_ended_timestamp_seconds": "Moment at which the executor's last run ended.",
    "mullion_agent_active": "1 if this machine's agent has the Lease and looks after the cluster, else 0.",
    "mullion_agent_concern_failed": "1 if the concern failed when the agent last ran it, else 0.",
    "mullion_agent_change_waits": "1 if the agent does not apply the published desired state now, else 0.",
    "mullion_agent_turn_changed_timestamp_seconds": "Moment of the last step of this machine's turn, while it lasts.",
    "mullion_reboot_required_since_timestamp_seconds": "Moment at which packages asked for a restart, if they did.",
    "mullion_etcd_quota_used_ratio": "Share of etcd's quota in use by the largest member, if there is a quota.",
    "mullion_snapshots": "Number of etcd's snapshots in the snapshot store, told by the active agent.",
    "mullion_snapshots_ignored": "Number of objects among them without this cluster's MAC or with a future time.",
    "mullion_snapshot_newest_timestamp_seconds": "Moment of the newest snapshot.",
    "mullion_snapshot_interval_seconds": "Planned time between two snapshots.",
    "mullion_copy_newest_timestamp_seconds": "Moment of the newest snapshot that has a copy; 0 if none has.",
    "mullion_certificate_end_timestamp_seconds": "End of validity of a certificate of kubeadm, by file.",
}
"""All metrics, each a gauge, and what they say."""


class Sample(NamedTuple):
    """A value of a metric. label: its only label, as name and value; values must need no escapes."""

    name: str
    value: float
    label: tuple[str, str] | None = None


def text(samples: Iterable[Sample]) -> str:
    """Return samples as the text of a file; samples of one metric must follow each other."""
    lines, last = list[str](), ""
    for each in samples:
        if each.name != last:
            lines += [f"# HELP {each.name} {HELP[each.name]}", f"# TYPE {each.name} gauge"]
            last = each.name
        label = f'{{{each.label[0]}="{each.label[1]}"}}' if each.label else ""
        lines.append(f"{each.name}{label} {each.value:.{3 if each.value % 1 else 0}f}")
    return "".join(f"{line}\n" for line in lines)


def write(root: Path, name: str, samples: Iterable[Sample]) -> None:
    """Replace the file of this name. Every user may read it, as node_exporter runs as `nobody`. Raise OSError."""
    folder = root / FOLDER.lstrip("/")
    for each in (folder.parent, folder):
        each.mkdir(exist_ok=True)
        each.chmod(0o755)
    write_whole(folder / f"{name}{FORMAT}", text(samples).encode(), 0o644)
