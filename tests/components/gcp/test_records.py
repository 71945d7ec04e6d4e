"""Status records of workers whose account is not the planned one, after a change of `worker_identity`."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from components.gcp.identity import account_stem
from components.gcp.records import Records
from components.plan import Machine
from components.rollout.provider_calls import NO_RECORD, ProviderError
from tests.components.recorded_wiring import plan

LONG = "a-cluster-with-a-name-of-30"


@dataclass(frozen=True, kw_only=True)
class Cloud(Records):
    """Ids of instances' service accounts by the instance's planned name, and objects of the bundle store."""

    accounts: Mapping[str, str]
    objects: Mapping[str, str]

    def __post_init__(self) -> None:
        """Make no calls."""

    async def _instance(self, machine: Machine) -> dict[str, Any]:
        if machine.name not in self.accounts:
            return {}
        email = f"{self.accounts[machine.name]}@example-project.iam.gserviceaccount.com"
        shown = {"creationTimestamp": "2026-01-01T00:00:00Z", "currentStatus": "RUNNING"}
        return {"instanceId": f"id-of-{machine.name}", "serviceAccounts": [{"email": email}], **shown}

    async def text(self, key: str) -> str:
        if key not in self.objects:
            raise ProviderError("googleapi: Error 404: No such object")
        return self.objects[key]


def _cloud(cluster: str, accounts: dict[str, str], objects: dict[str, str]) -> Cloud:
    given: Any = {"parent": None, "bucket": None}
    return Cloud(cluster=cluster, planned=_workers(), accounts=accounts, objects=objects, **given)


def _workers() -> tuple[Machine, ...]:
    return next(each for each in plan("gcp-prod").pools if each.name == "web").machines


def _record(machine: str) -> str:
    return json.dumps({"state": "ready", "instance": f"id-of-{machine}"})


@pytest.mark.parametrize("cluster", ["small", LONG])
@pytest.mark.parametrize("planned", ["machine", "pool"])
def test_a_record_is_read_where_the_instances_account_may_write_it(cluster: str, planned: str) -> None:
    """web-0 has an account of its own, web-1 the pool's, web-2 an account that is neither."""
    stems = {"web-0": account_stem(cluster, "web-0"), "web-1": account_stem(cluster, "web"), "web-2": "another"}
    accounts = {name: f"{stem}-abcdef" for name, stem in stems.items()}
    own = {"web-0": "web-0", "web-1": "web", "web-2": "web-2" if planned == "machine" else "web"}
    objects = {f"status/{prefix}:id-of-{name}.json": _record(name) for name, prefix in own.items()}
    cloud = _cloud(cluster, accounts, objects)

    async def states() -> dict[str, str]:
        found = (await cloud.instances()).running
        given = {name: name if planned == "machine" else "web" for name in own}
        records = {id: await cloud.record(given[id.removeprefix("id-of-")], id) for id in found.values()}
        return {id.removeprefix("id-of-"): record["state"] for id, record in records.items()}

    assert asyncio.run(states()) == dict.fromkeys(own, "ready")


def test_a_record_in_the_place_of_another_account_does_not_count() -> None:
    """Else root on a worker with the pool's account could write records of workers that have their own."""
    cloud = _cloud("small", {"web-0": "small-web-0-abcdef"}, {"status/web:id-of-web-0.json": _record("web-0")})

    async def record() -> dict[str, Any]:
        await cloud.instances()
        return await cloud.record("web-0", "id-of-web-0")

    assert asyncio.run(record()) == {"state": "absent", "message": NO_RECORD}


def test_the_launch_of_a_machine_that_this_run_created_needs_no_call() -> None:
    """Else each creation would read all machines."""
    cloud = _cloud("small", {}, {})
    made = {"instanceId": "7", "creationTimestamp": "2026-01-01T08:00:00+00:00"}

    async def launched() -> datetime:
        return await cloud.launched(await cloud.instance(SimpleNamespace(new_outputs=made)))  # type: ignore[arg-type]

    assert asyncio.run(launched()) == datetime(2026, 1, 1, 8, tzinfo=timezone.utc)
