"""Waits of `mullion verify` on a fake API: which ones it makes, and which ones it skips."""

from typing import Any

from operations.verification.run import VerifyRequest, verify
from operations.verification.verdicts import Verdict, failed
from tests.operations.verification.cluster import MIXED, FakeApi, node
from tests.operations.verification.test_verify import good

PLANNED = tuple(each["metadata"]["name"] for each in MIXED)
OUTSIDE = ("example.org:443",)


def test_smk_13_a_cron_job_is_due_at_once_so_no_run_waits_for_the_next_minute() -> None:
    api, written = FakeApi(MIXED, good), list[tuple[str, Any]]()
    ask = api.ask

    def recorded(method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        if method == "PATCH":
            written.append((path.partition("/cronjobs/")[2], body))
        return ask(method, path, body, kind)

    api.ask = recorded  # type: ignore[method-assign]
    verify(api, VerifyRequest(PLANNED, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    assert written == [
        (f"cronjob-{os}/status", {"status": {"lastScheduleTime": "2025-12-31T23:58:30Z"}})
        for os in ("linux", "windows")
    ]


def test_smk_02_a_node_that_needs_only_register_may_come_while_pods_ask() -> None:
    api = FakeApi(MIXED[:2], good)
    answer = api.answer

    def late(place: str, words: str) -> bool:
        api.nodes = [*MIXED[:2], node("web-0", "windows", "10.20.0.6", ready=False)]
        return answer(place, words)

    api.answer = late
    names = ("control-plane-0", "linux-0", "web-0", "web-1")
    registered = dict.fromkeys(names[2:], "no container runs there")
    rows = verify(api, VerifyRequest(names, {}, OUTSIDE, 0.01, registered=registered))  # type: ignore[arg-type]
    found = {row.what: row.verdict for row in rows if row.check == "SMK-02"}
    assert (found["node web-0"], found["node web-1"]) == (Verdict.LIMIT, Verdict.FAILED)
    assert [row.what for row in failed(rows)] == ["node web-1"]
