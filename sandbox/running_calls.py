"""Calls that a cloud does not take at the same time as another one, such as two writes of parts of one resource."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from sandbox.cloud import Request, ResourceType


class RunningCalls:
    """What the calls of one provider have for themselves now."""

    def __init__(self) -> None:
        self._lock, self._taken = Lock(), set[str]()

    @contextmanager
    def alone(self, row: ResourceType, request: Request) -> Iterator[None]:
        """Run a call. Raises Refusal while another one runs that its type does not take beside it."""
        if row.alone is None:
            yield
            return
        key, busy = row.alone[0](request), row.alone[1]
        with self._lock:
            if key in self._taken:
                raise busy(request)
            self._taken.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._taken.discard(key)
