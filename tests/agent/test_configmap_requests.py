"""Requests in ConfigMaps: each is tried once, whatever it does to the agents, and answered."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.agent.cluster import Cluster

FOLDER = "/api/v1/namespaces/kube-system/configmaps"
FIRST, SECOND = "1" * 32, "2" * 32
"""Ids of requests."""


class Killed(BaseException):
    """Stands in for the end of the agent's process."""


@pytest.fixture
def requests(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("configmap_requests")


def ask(cluster: Cluster, request: str, **values: str) -> None:
    cluster.add(FOLDER, "mullion-drill", data={"request": request, **values})


def answered(cluster: Cluster) -> Any:
    return json.loads(cluster.objects[f"{FOLDER}/mullion-drill"]["data"].get("answer", "{}"))


class Work:
    """Counts how often something is done; ends as told."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.done, self.error = 0, error

    def __call__(self, values: dict[str, str]) -> dict[str, Any]:
        self.done += 1
        if self.error:
            raise self.error
        return {"found": 7}


@pytest.mark.parametrize("other", [False, True], ids=["the same machine", "another machine"])
def test_a_request_that_ends_its_agent_is_not_tried_again(
    requests: ModuleType, run: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, other: bool
) -> None:
    now, work = 1_000_000.0, Work(Killed())
    monkeypatch.setattr(requests.time, "time", lambda: now)
    ask(cluster, FIRST)
    with pytest.raises(Killed):
        requests.answer(run, cluster, "mullion-drill", work)
    if other:
        run.told["machine"]["name"] = "control-plane-1"
        requests.answer(run, cluster, "mullion-drill", work)
        assert not answered(cluster), "the first machine may only have lost the Lease"
        now += 400
    requests.answer(run, cluster, "mullion-drill", work)
    said = answered(cluster)
    assert said["request"] == FIRST
    assert "agent of control-plane-0 has begun this and ended" in said["error"]
    requests.answer(run, cluster, "mullion-drill", work)
    assert work.done == 1


def test_two_agents_that_see_the_same_request_do_it_once(
    requests: ModuleType, run: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(cluster, FIRST)
    work, memory = Work(), requests.Memory

    def late(api: Any, name: str) -> Any:
        read = memory(api, name)
        monkeypatch.setattr(requests, "Memory", memory)
        run.told["machine"]["name"] = "control-plane-1"
        requests.answer(run, cluster, "mullion-drill", work)
        return read

    monkeypatch.setattr(requests, "Memory", late)
    requests.answer(run, cluster, "mullion-drill", work)
    assert work.done == 1
    assert answered(cluster) == {"request": FIRST, "found": 7}


@pytest.mark.parametrize("request_id", ['"', "x" * 900_000, "first", "A" * 32, "1" * 33, "1" * 32 + "\n"])
def test_a_request_without_an_id_of_mullion_is_refused_once(
    requests: ModuleType, run: Any, cluster: Cluster, request_id: str
) -> None:
    work = Work()
    ask(cluster, request_id)
    for _ in range(2):
        requests.answer(run, cluster, "mullion-drill", work)
    assert not work.done
    assert "data.request is no id" in answered(cluster)["error"]
    assert len(cluster.asked) == 1


@pytest.mark.parametrize("before", ["no JSON", "[]", f'{{"a": "\\"request\\": \\"{FIRST}\\""}}', 100_000 * "["])
def test_an_answer_of_another_form_does_not_count_as_one(
    requests: ModuleType, run: Any, cluster: Cluster, before: str
) -> None:
    ask(cluster, FIRST, answer=before, started=before)
    requests.answer(run, cluster, "mullion-drill", Work())
    assert answered(cluster) == {"request": FIRST, "found": 7}


def test_an_unexpected_error_is_the_answer(requests: ModuleType, run: Any, cluster: Cluster) -> None:
    work = Work(KeyError("kvs"))
    ask(cluster, FIRST)
    with pytest.raises(KeyError):
        requests.answer(run, cluster, "mullion-drill", work)
    requests.answer(run, cluster, "mullion-drill", work)
    assert answered(cluster) == {"request": FIRST, "error": "KeyError: 'kvs'"}
    assert work.done == 1


def test_the_answer_is_written_beside_changes_of_other_clients(
    requests: ModuleType, run: Any, cluster: Cluster
) -> None:
    ask(cluster, FIRST)

    def during(values: dict[str, str]) -> dict[str, Any]:
        found = cluster.find(f"{FOLDER}/mullion-drill")
        found["metadata"]["labels"] = {"a": "b"}
        cluster.call("PUT", f"{FOLDER}/mullion-drill", found)
        return {"found": 7}

    requests.answer(run, cluster, "mullion-drill", during)
    assert answered(cluster) == {"request": FIRST, "found": 7}
    assert cluster.objects[f"{FOLDER}/mullion-drill"]["metadata"]["labels"] == {"a": "b"}
    ask(cluster, SECOND)
    requests.answer(run, cluster, "mullion-drill", Work())
    assert answered(cluster)["request"] == SECOND
