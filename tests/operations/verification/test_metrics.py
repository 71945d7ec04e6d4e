"""SMK-14: metrics of pods and nodes, in clusters with a metrics server."""

import pytest

from operations.verification import interface
from operations.verification.run import VerifyRequest, verify
from operations.verification.verdicts import Verdict, failed
from tests.operations.verification.cluster import MIXED, FakeApi
from tests.operations.verification.test_verify import NAMES, OUTSIDE, good


def test_smk_14_without_a_metrics_server_metrics_are_not_covered() -> None:
    api = FakeApi(MIXED, good)
    api.lacks = {"metrics"}
    rows = verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    assert [row.verdict for row in rows if "metrics" in row.what] == [Verdict.NOT_COVERED]
    assert failed(rows) == []


@pytest.mark.parametrize(
    ("lacks", "what"), [("node metrics", ["node metrics"] * 3), ("metrics answers", ["pod metrics, HPA"])]
)
def test_smk_14_a_metrics_server_has_to_answer_and_to_reach_every_nodes_kubelet(
    lacks: str, what: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interface, "MEASURING", 0.01)
    api = FakeApi(MIXED, good)
    api.lacks = {lacks}
    rows = verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    wrong = [row for row in rows if row.verdict is Verdict.FAILED]
    assert [row.what for row in wrong] == what
    assert all(":10250" in row.said or "503" in row.said for row in wrong)
