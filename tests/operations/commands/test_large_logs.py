"""`mullion logs` and a machine that answers with more than a machine collects."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.aws.records import Records as AwsRecords
from components.azure.records import Blobs
from components.azure.records import Records as AzureRecords
from components.gcp.records import Records as GcpRecords
from components.rollout.provider_calls import ProviderCalls
from operations.commands import logs
from operations.console.exits import Exit
from tests.components.rollout.test_unread_stores import CONTAINER, Known
from tests.operations.commands.test_logs import Mullion, run

MOST = 100
TEXT = "x" * 1000


class Store:
    """A store that gives the beginnings of these texts in turn, and of the last one again."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.asked = list(texts), list[int]()

    async def beginning(self, key: str, most: int) -> str:
        self.asked.append(most)
        return (self.texts.pop(0) if len(self.texts) > 1 else self.texts[0])[:most]


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let the time pass at once; return the pauses between looks."""
    pauses = list[float]()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(logs, "MOST_BYTES", MOST)
    monkeypatch.setattr(logs.asyncio, "sleep", sleep)
    monkeypatch.setattr(logs.time, "monotonic", lambda: sum(pauses))
    return pauses


def test_no_more_than_the_longest_answer_is_read_and_seldom(slept: list[float]) -> None:
    store = Store(json.dumps({"id": "q", "archive": TEXT}))
    assert asyncio.run(logs._awaited(store, "logs/x.json", "q", "web-0")) is logs.TOO_LARGE
    assert set(store.asked) == {MOST + 1}
    assert len(store.asked) <= logs.ANSWER_SECONDS / 60


def test_the_answer_that_replaces_a_large_one_is_taken(slept: list[float]) -> None:
    store = Store(TEXT, '{"id": "q", "archive": "UEs="}')
    assert asyncio.run(logs._awaited(store, "logs/x.json", "q", "web-0")) == {"id": "q", "archive": "UEs="}


def test_who_waits_for_a_large_answer_reads_why_none_is_saved(
    clone: Path, mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = run(mullion, monkeypatch, logs.TOO_LARGE)  # type: ignore[arg-type]
    assert (ran.exit_code, "answered with more than 24 MiB" in ran.output) == (Exit.FAILED, True)
    assert not list(clone.rglob("*.zip"))


class _Large(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(TEXT)))
        self.end_headers()
        self.wfile.write(TEXT.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""


@pytest.fixture
def blob() -> Iterator[str]:
    """Return the address of a server whose every blob is the text."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Large) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_each_cloud_reads_the_beginning(cloud: str, blob: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On AWS and Azure no more leaves the store."""
    asked = list[dict[str, Any]]()

    async def invoke(_self: ProviderCalls, _token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        asked.append(arguments)
        return {"body": TEXT[: MOST + 1] if "range" in arguments else TEXT, "content": TEXT}

    async def sign(blobs: Blobs) -> None:
        blobs._url = blob

    monkeypatch.setattr(ProviderCalls, "__init__", lambda self, *_: None)
    monkeypatch.setattr(ProviderCalls, "invoke", invoke)
    monkeypatch.setattr(Blobs, "_sign", sign)
    parent: Any = SimpleNamespace(get_provider=lambda token: None)
    known: Any = Known
    records = {
        "aws": lambda: AwsRecords(parent, known("vpc-1"), known("bundles"), {}),
        "azure": lambda: AzureRecords(parent=parent, container=known(CONTAINER)),
        "gcp": lambda: GcpRecords(parent=parent, bucket=known("bundles")),
    }[cloud]()
    assert asyncio.run(records.beginning("logs/x.json", MOST + 1)) == TEXT[: MOST + 1]
    if cloud == "aws":
        assert asked == [{"bucket": "bundles", "key": "logs/x.json", "range": f"bytes=0-{MOST}"}]
