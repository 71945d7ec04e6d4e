"""Disks and snapshots that the driver of persistent disks made, listed over HTTP with the provider's token."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from components.naming import volume_prefix
from components.rollout.provider_calls import ProviderError
from operations.clouds import gcp, google_lists
from operations.clouds.api import ApiError
from operations.clouds.bearer import Requests
from operations.clouds.driver_made import Made
from sandbox.gcp.cloud import GCP
from sandbox.gcp.names import DISK, SNAPSHOT
from sandbox.provider import Provider
from sandbox.services.credentials import owner_token
from sandbox.services.gcp.owner import GcpOwner
from sandbox.services.server import Services

PROJECT, ZONE = "mullion-sandbox", "europe-west1-b"
KEEP = "mullion-keep"
UIDS = ("01" * 16, "02" * 16)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Serve a project with disks of two clusters and a machine's; return the address and the owner's token."""
    with Services(tmp_path / "world.db", fronts={"": GcpOwner}) as services:
        provider = Provider(GCP, services.cloud_state)
        assert provider.configure({"region": "europe-west1"}) == []
        dev, other = volume_prefix("dev"), volume_prefix("dev-2")
        names = (
            f"{dev}-{UIDS[0]}",
            f"{dev}-{UIDS[1]}",
            f"{other}-{UIDS[0]}",
            "dev-linux-0",
            f"{dev}-data",
            f"{dev}-01",
        )
        for name, labels in ((each, {KEEP: ""} if each.endswith(UIDS[1]) else {}) for each in names):
            given: dict[str, Any] = {"name": name, "zone": ZONE, "size": 10, "labels": labels}
            disk, _ = provider.create(f"urn:pulumi:x::x::{DISK}::{name}", given, preview=False)
            given = {"name": name, "sourceDisk": disk, "labels": labels}
            provider.create(f"urn:pulumi:x::x::{SNAPSHOT}::{name}", given, preview=False)
        yield services.listen(), owner_token(services.cloud_state)


MADE = {
    DISK: {f"projects/{PROJECT}/zones/{ZONE}/disks/pv-dev--{each}": each == UIDS[1] for each in UIDS},
    SNAPSHOT: {f"projects/{PROJECT}/global/snapshots/pv-dev--{each}": each == UIDS[1] for each in UIDS},
}


def kept(found: dict[str, dict[str, Made]]) -> dict[str, dict[str, bool]]:
    """Return what of each type a label keeps, after a look at the times of creation."""
    now = datetime.now(timezone.utc)
    assert all(
        each.created and abs(now - each.created) < timedelta(minutes=5)
        for ids in found.values()
        for each in ids.values()
    )
    return {kind: {key: each.keeps for key, each in ids.items()} for kind, ids in found.items()}


def test_disks_and_snapshots_of_a_cluster_are_found_by_their_names(served: tuple[str, str]) -> None:
    address, token = served
    with closing(Requests(token, address)) as requests:
        assert kept(google_lists.made_by_driver(requests, PROJECT, "dev", KEEP)) == MADE


def test_the_api_is_asked_with_the_token_of_the_stacks_provider(
    served: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, token = served

    class Calls:
        def __init__(self, *_: object) -> None: ...

        async def invoke(self, function: str, _: object) -> dict[str, str]:
            assert function == "gcp:organizations/getClientConfig:getClientConfig"
            return {"accessToken": token, "project": PROJECT}

    monkeypatch.setattr(gcp, "ProviderCalls", Calls)
    monkeypatch.setattr(gcp, "Requests", lambda given: Requests(given, address))
    parent: Any = None
    assert kept(asyncio.run(gcp.made_by_driver(parent, "dev", KEEP))) == MADE
    token = "of-nobody"
    with pytest.raises(ProviderError, match="disks and snapshots of mullion-sandbox cannot be listed"):
        asyncio.run(gcp.made_by_driver(parent, "dev", KEEP))


def test_a_zone_that_does_not_answer_is_no_zone_without_disks() -> None:
    class Silent:
        def pages(self, *_: object) -> list[dict[str, Any]]:
            return [{"items": {f"zones/{ZONE}": {"warning": {"code": "UNREACHABLE"}}}}]

    requests: Any = Silent()
    with pytest.raises(ApiError, match=ZONE):
        google_lists.made_by_driver(requests, PROJECT, "dev", KEEP)


@pytest.mark.parametrize(("name", "made"), [("01" * 16, True), ("01" * 15, False), ("AB" * 16, False), ("data", False)])
def test_only_names_of_a_whole_uid_are_the_drivers(name: str, made: bool) -> None:
    """The rights of control planes end at the prefix, so a user's disk may have another name after it."""
    assert google_lists.of_driver(f"pv-dev--{name}", "dev") is made
    assert not google_lists.of_driver(f"pv-dev--{name}", "de")


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00.123-08:00", "2026-01-01T08:00:00Z", "2026-01-01T08:00:00.5Z"])
def test_times_of_google_are_read(text: str) -> None:
    assert google_lists.moment(text) == datetime(2026, 1, 1, 8, tzinfo=timezone.utc)
