"""Services of a cloud for one test: the sandbox's services with one machine, on loopback.

Tests set objects and secrets by name. On AWS `/public/...` is public; all other requests need the machine's identity.
"""

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.cloud_state import SERVICES, CloudState
from sandbox.services.server import Asked, Services
from tests.cloud_init.accounts import ACCOUNTS, AWS_INSTANCE, BUCKETS, Account

EACH_CLOUD = pytest.mark.parametrize("cloud", ACCOUNTS, indirect=True)
"""Parameters for a test that runs on each cloud."""
INSTANCE = AWS_INSTANCE
"""Facts of the machine in tests that choose no cloud."""


class Objects(MutableMapping[str, bytes]):
    """Objects by path: /BUCKET/KEY."""

    def __init__(self, cloud_state: CloudState, account: Account) -> None:
        self.cloud_state, self.account = cloud_state, account

    def _place(self, path: str) -> tuple[str, str]:
        bucket, _, key = path[1:].partition("/")
        assert bucket in BUCKETS, path
        return self.account.bucket(bucket), key

    def __getitem__(self, path: str) -> bytes:
        bucket, key = self._place(path)
        return self.cloud_state.objects(bucket)[key].content

    def __setitem__(self, path: str, content: bytes) -> None:
        bucket, key = self._place(path)
        with self.cloud_state.transaction():
            self.cloud_state.put_object(bucket, key, content, "application/octet-stream", versioned=False)

    def __delitem__(self, path: str) -> None:
        self.cloud_state.remove_object(*self._place(path))

    def __iter__(self) -> Iterator[str]:
        return (
            f"/{bucket}/{key}" for bucket in BUCKETS for key in self.cloud_state.objects(self.account.bucket(bucket))
        )

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __ior__(self, others: dict[str, bytes]) -> "Objects":
        self.update(others)
        return self


class Secrets(MutableMapping[str, str]):
    """Current texts by name."""

    def __init__(self, cloud_state: CloudState, account: Account) -> None:
        self.cloud_state, self.account = cloud_state, account
        self.made: list[str] = []

    def _values(self, name: str) -> dict[str, str]:
        return self.cloud_state.secret_values(self.account.secret(name))

    def __getitem__(self, name: str) -> str:
        return list(self._values(name).values())[-1]

    def __setitem__(self, name: str, value: str) -> None:
        with self.cloud_state.transaction():
            if name not in self.made:
                self.account.entry(self.cloud_state, name)
                self.made.append(name)
            self.cloud_state.put_secret(
                self.account.secret(name), self.account.version(len(self._values(name)) + 1), value
            )

    def __delitem__(self, name: str) -> None:
        self.cloud_state.remove_secret(self.account.secret(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.made)

    def __len__(self) -> int:
        return len(self.made)

    def __ior__(self, others: dict[str, str]) -> "Secrets":
        self.update(others)
        return self


class Texts(list[Any]):
    """Requests as texts for comparison: `GET /bundles/x 200`, with `refused` before those denied."""

    def append(self, asked: Asked) -> None:
        unknown = asked.code and not asked.caller and asked.status != 404
        refused = "refused " if asked.status in (401, 403) or unknown else ""
        super().append(f"{refused}{asked.method} {asked.path} {asked.status}")


@dataclass
class FakeCloud:
    """A cloud's content and the requests to it. url: of all its services."""

    url: str
    services: Services
    objects: Objects
    secrets: Secrets
    account: Account

    @property
    def facts(self) -> dict[str, str]:
        """Return facts of a cluster with these services."""
        return self.account.facts(self.url)

    @property
    def asked(self) -> list[Any]:
        """Return the requests so far as texts; may be cleared."""
        return self.services.asked

    def refused(self) -> list[str]:
        """Return requests with a wrong signature, token or permission."""
        return [each for each in self.asked if each.startswith("refused")]

    def fail(self, path: str, statuses: Iterable[int]) -> None:
        """Answer the next requests for a path with these statuses, in order; the requests change nothing."""
        for nth, status in enumerate(statuses, 1):
            self.services.faults.plan(f"* {path}", "status", status, nth=nth)

    def failing(self) -> bool:
        """Return whether some of these statuses were not used yet."""
        return bool(self.services.faults.left())

    def hang(self, path: str) -> None:
        """Stop answers for a path in the middle, until `release`."""
        self.services.faults.plan(f"* {path}", "stall", times=1000)

    def release(self) -> None:
        """Finish stopped answers and forget planned failures."""
        self.services.faults.release()


@contextmanager
def serving(
    folder: Path,
    address: str = "127.0.0.1",
    here: Callable[[Callable[[], str]], str] = lambda call: call(),
    cloud: str = "aws",
) -> Iterator[FakeCloud]:
    """Yield a cloud on a free port with its state in a file of the folder. `here` opens its socket elsewhere."""
    cloud_state, account = CloudState(folder / "world"), ACCOUNTS[cloud]
    with cloud_state.transaction():
        cloud_state.set_setting(SERVICES, "http")
        account.fill(cloud_state)
    with Services(cloud_state.path) as services:
        services.asked = Texts()
        url = here(lambda: services.listen(address, machine=account.machine))
        yield FakeCloud(url, services, Objects(cloud_state, account), Secrets(cloud_state, account), account)
    cloud_state.close()
