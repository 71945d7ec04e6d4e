"""The agent's metrics: what it knows of its machine and, if it is the active one, of the cluster (metrics.py)."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import metrics
from metrics import Sample
from run import Run
from snapshot_names import KEY

from agent import certificates, reboots, snapshots
from agent.configuration import TURN, Configuration
from agent.space import Space


class Measures:
    """What the agent has to tell besides its status record."""

    def __init__(self) -> None:
        self.concerns = set[str]()
        """Names of the concerns that have run."""
        self.leading = set[str]()
        """Those among them that only the active agent has."""
        self.certified = dict[str, float]()
        """End of each certificate that can be read, in seconds since 1970, by file."""

    def forget_leading(self, said: dict[str, Any]) -> None:
        """Forget the active agent's concerns, errors and counts: another machine's agent has them now.

        said: the agent's part of the status record.
        """
        for name in self.leading:
            said["errors"].pop(name, None)
        for name in ("snapshots", "copies"):
            said.pop(name, None)
        self.concerns -= self.leading
        self.leading.clear()

    def read_certificates(self, run: Run, config: Configuration) -> None:
        """Read when this machine's certificates end."""
        found = {each: certificates.dates(run, str(run.path(each))) for each in config["certificates"]["files"]}
        self.certified = {file: dates[1] for file, dates in found.items() if dates}

    def write(self, run: Run, config: Configuration, said: dict[str, Any], space: Space) -> None:
        """Write what node_exporter reads. said: the agent's part of the status record."""
        metrics.write(run.root, "agent", self.samples(run, config, said, space))

    def samples(self, run: Run, config: Configuration, said: dict[str, Any], space: Space) -> Iterator[Sample]:
        """Yield all samples."""
        yield Sample("mullion_agent_active", said["active"])
        for name in sorted(self.concerns):
            yield Sample("mullion_agent_concern_failed", name in said["errors"], ("concern", name))
        yield Sample("mullion_agent_change_waits", bool(said.get("waits_for")))
        with suppress(FileNotFoundError):
            yield Sample("mullion_agent_turn_changed_timestamp_seconds", run.path(TURN).stat().st_mtime)
        asked = reboots.since(run)
        if asked is not None:
            yield Sample("mullion_reboot_required_since_timestamp_seconds", asked)
        if space.used is not None:
            yield Sample("mullion_etcd_quota_used_ratio", space.used)
        stored = said.get("snapshots")
        if said["active"] and stored:
            yield Sample("mullion_snapshots", stored["count"])
            yield Sample("mullion_snapshots_ignored", stored["ignored"])
            if named := KEY.fullmatch(stored["newest"]):
                yield Sample("mullion_snapshot_newest_timestamp_seconds", snapshots.seconds(named["at"]))
            yield Sample("mullion_snapshot_interval_seconds", config["snapshots"]["every_minutes"] * 60)
        copied = said.get("copies")
        if said["active"] and copied:
            named = KEY.fullmatch(copied["newest"])
            yield Sample("mullion_copy_newest_timestamp_seconds", snapshots.seconds(named["at"]) if named else 0)
        for file, end in sorted(self.certified.items()):
            yield Sample("mullion_certificate_end_timestamp_seconds", end, ("file", file))
