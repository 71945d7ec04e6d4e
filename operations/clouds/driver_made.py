"""What a search says about a volume or snapshot that a cluster's storage driver made."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Made:
    """One volume or snapshot. keeps: whether a tag keeps it. created: None if the search does not say it."""

    keeps: bool
    created: datetime | None = None

    def is_older(self, cluster: datetime | None) -> bool:
        """Return whether it is known to be older than a cluster, so that an earlier one of the same name made it.

        cluster: when the cluster was created; None if that is unknown.
        """
        return self.created is not None and cluster is not None and self.created < cluster
