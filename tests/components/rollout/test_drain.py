"""Draining a node: cordon, evictions within PodDisruptionBudgets and the time limit, and errors of the API."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from components.rollout import drain
from components.rollout.kubernetes_api import Refused, Unreachable, Unresolved

NODE = "web-1"


def pod(name: str, **more: Any) -> dict[str, Any]:
    """Return a pod of a ReplicaSet on the node."""
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "ownerReferences": [{"kind": "ReplicaSet"}]}
    return {"metadata": {**metadata, **more.pop("metadata", {})}, "status": {"phase": "Running"}, **more}


class Api:
    """An API with one node. `status(name, tries)` returns the status code of that try to evict a pod."""

    def __init__(self, *pods: dict[str, Any], known: bool = True, modern: bool = True) -> None:
        self.pods = {each["metadata"]["name"]: each for each in pods}
        self.known, self.modern = known, modern
        self.ready, self.changed = "True", datetime.now(timezone.utc) - timedelta(minutes=6)
        self.status: Callable[[str, int], int] = lambda name, tries: 201
        self.asked: list[tuple[str, str]] = []
        self.versions: set[str] = set()

    async def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        if path == "/apis/policy/v1":
            if not self.modern:
                raise Refused(404, "the server could not find the requested resource")
            return {}
        if method == "PATCH":
            assert (path, kind) == (f"/api/v1/nodes/{NODE}", "application/strategic-merge-patch+json")
            if not self.known:
                raise Refused(404, f'nodes "{NODE}" not found')
            self.asked.append(("cordon", NODE))
            return {}
        if (method, path) == ("GET", f"/api/v1/nodes/{NODE}"):
            ready = {"type": "Ready", "status": self.ready, "lastTransitionTime": f"{self.changed:%Y-%m-%dT%H:%M:%SZ}"}
            return {"status": {"conditions": [ready]}}
        if path == f"/api/v1/pods?fieldSelector=spec.nodeName%3D{NODE}":
            return {"items": list(self.pods.values())}
        name = path.split("/")[-2]
        assert (method, path) == ("POST", f"/api/v1/namespaces/shop/pods/{name}/eviction")
        self.versions.add(body["apiVersion"])
        self.asked.append(("evict", name))
        status = self.status(name, self.asked.count(("evict", name)))
        if status >= 400:
            raise Refused(status, "it would violate the budget")
        del self.pods[name]
        return {}


def run(api: Api, seconds: float = 5, *, patient: bool = False) -> str:
    return asyncio.run(drain.drain(api, NODE, seconds, patient=patient))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(drain, "WATCHED_SECONDS", 0.02)


def test_drain_cordons_the_node_first_and_evicts_every_pod_once() -> None:
    api = Api(pod("b"), pod("a"))
    assert run(api) == "2 pods were evicted"
    assert api.asked == [("cordon", NODE), ("evict", "a"), ("evict", "b")]
    assert api.versions == {"policy/v1"}


def test_drain_evicts_by_policy_v1beta1_before_kubernetes_1_22() -> None:
    api = Api(pod("a"), modern=False)
    run(api)
    assert api.versions == {"policy/v1beta1"}


@pytest.mark.parametrize(
    "stays",
    [
        {"metadata": {"ownerReferences": [{"kind": "DaemonSet"}]}},
        {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}},
        {"status": {"phase": "Succeeded"}},
        {"status": {"phase": "Failed"}},
    ],
    ids=["DaemonSet", "static", "succeeded", "failed"],
)
def test_drain_keeps_pods_that_are_deleted_with_the_machine(stays: dict[str, Any]) -> None:
    api = Api(pod("a", **stays), pod("b"))
    assert run(api) == "1 pods were evicted"
    assert set(api.pods) == {"a"}


def test_drain_retries_until_the_disruption_budget_allows_the_eviction() -> None:
    api = Api(pod("a"))
    api.status = lambda name, tries: 429 if tries < 4 else 201
    run(api)
    assert api.asked.count(("evict", "a")) == 4


def test_drain_accepts_a_pod_that_is_already_gone() -> None:
    api = Api(pod("a"))

    def vanished(name: str, tries: int) -> int:
        api.pods.pop(name)
        return 404

    api.status = vanished
    assert run(api) == "1 pods were evicted"


def test_the_error_of_drain_names_the_remaining_pods_and_the_reason() -> None:
    api = Api(pod("a"), pod("b"))
    api.status = lambda name, tries: 429 if name == "b" else 201
    with pytest.raises(drain.Undrained, match=r"node web-1 after 0 s: shop/b \(429: it would violate the budget\)$"):
        run(api, 0.01)


def test_the_error_of_drain_names_an_evicted_pod_that_does_not_terminate() -> None:
    api = Api(pod("a"))
    api.pods = Stubborn(api.pods)
    with pytest.raises(drain.Undrained, match=r"shop/a \(still terminating\)"):
        run(api, 0.01)
    assert api.asked.count(("evict", "a")) == 1, "the pod is already evicted, and only terminating"


class Stubborn(dict[str, Any]):
    """Pods that stay in the state Terminating after their eviction."""

    def __delitem__(self, name: str) -> None:
        self[name]["metadata"]["deletionTimestamp"] = "2026-11-21T15:00:00Z"


def test_drain_accepts_a_node_that_the_cluster_does_not_have() -> None:
    assert run(Api(known=False)) == "the cluster has no such node"


def test_drain_raises_other_errors_of_the_api() -> None:
    class Closed(Api):
        async def call(self, *asked: Any, **more: Any) -> Any:
            raise Refused(403, "nodes is forbidden")

    with pytest.raises(Refused, match="403: nodes is forbidden"):
        run(Closed())


class Breaking(Api):
    """An API whose first `times` requests for pods fail with `error`."""

    def __init__(self, times: int, error: Exception) -> None:
        super().__init__(pod("a"))
        self.times, self.error = times, error

    async def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        if path.startswith("/api/v1/pods") and self.times:
            self.times -= 1
            raise self.error
        return await super().call(method, path, body, kind)


@pytest.mark.parametrize("error", [Unreachable("reset by peer"), Refused(500, "etcdserver: leader changed")])
def test_drain_retries_if_the_api_fails_after_the_cordon(error: Exception) -> None:
    api = Breaking(2, error)
    assert run(api) == "1 pods were evicted"
    assert api.asked == [("cordon", NODE), ("evict", "a")]


def test_drain_fails_if_the_api_never_lists_the_pods() -> None:
    with pytest.raises(drain.Undrained, match=r"the API does not list them \(reset by peer\)"):
        run(Breaking(10**6, Unreachable("reset by peer")), 0.01)


@pytest.mark.parametrize("refused", [201, 429])
def test_drain_does_not_wait_for_pods_of_a_node_whose_kubelet_is_away(refused: int) -> None:
    """Nobody there ends an evicted pod, and no budget counts it as healthy: the machine could never be replaced."""
    api = Api(pod("a"))
    api.pods, api.ready = Stubborn(api.pods), "Unknown"
    api.status = lambda name, tries: refused
    assert "its kubelet is away, so its pods are deleted with the machine: shop/a" in run(api)
    assert ("evict", "a") in api.asked


def test_a_drain_shorter_than_the_watch_also_ends_for_a_node_whose_kubelet_is_away() -> None:
    api = Api(pod("a"))
    api.pods, api.ready = Stubborn(api.pods), "Unknown"
    assert "its kubelet is away" in run(api, 0.001)


@pytest.mark.parametrize(("ready", "minutes"), [("Unknown", 1), ("False", 6)])
def test_drain_waits_for_pods_of_a_node_that_is_away_for_a_minute_or_has_a_kubelet(ready: str, minutes: int) -> None:
    api = Api(pod("a"))
    api.pods, api.ready = Stubborn(api.pods), ready
    api.changed = datetime.now(timezone.utc) - timedelta(minutes=minutes)
    with pytest.raises(drain.Undrained, match="still terminating"):
        run(api, 0.1)


class Restarting(Api):
    """An API whose first three cordons fail with `error`."""

    def __init__(self, error: Exception) -> None:
        super().__init__(pod("a"))
        self.errors = [error] * 3

    async def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        if method == "PATCH" and self.errors:
            raise self.errors.pop()
        return await super().call(method, path, body, kind)


@pytest.mark.parametrize("error", [Unreachable("connection refused"), Refused(503, "not ready"), Refused(429, "slow")])
def test_a_patient_drain_repeats_a_cordon_that_the_api_does_not_take_yet(error: Exception) -> None:
    assert run(Restarting(error), patient=True) == "1 pods were evicted"
    with pytest.raises(type(error)):
        run(Restarting(error))


@pytest.mark.parametrize("error", [Unresolved("no address of api.dev"), Refused(403, "forbidden")])
def test_a_patient_drain_does_not_repeat_what_stays_refused(error: Exception) -> None:
    api = Restarting(error)
    with pytest.raises(type(error)):
        run(api, patient=True)
    assert len(api.errors) == 2
