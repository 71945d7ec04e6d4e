"""Whether a cloud state has changed since the last look, for loops that would else read all of it again and again."""

from sandbox.cloud_state import CloudState


class Changes:
    """Commits of other connections to a cloud state."""

    def __init__(self, cloud_state: CloudState) -> None:
        self._execute = cloud_state.connection.execute
        self._seen: int | None = None

    def any(self) -> bool:
        """Return whether another connection, also of this process, has committed since the last call. True at first.

        Source: SQLite, "PRAGMA data_version".
        """
        (now,) = self._execute("PRAGMA main.data_version").fetchone()
        changed, self._seen = now != self._seen, now
        return changed
