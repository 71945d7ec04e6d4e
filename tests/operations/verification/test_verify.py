"""`mullion verify` on a fake API: a cluster without faults, and clusters with one fault each."""

import json
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest

from components.lint import Level, examples
from components.lint.documents import Manifests, Object
from components.lint.judge import lint
from components.lint.targets import WINDOWS
from operations.verification.manifests import BUSYBOX
from operations.verification.run import VerifyRequest, answers, verify
from operations.verification.verdicts import TITLES, Row, Verdict, as_json, as_junit, failed, shown
from operations.verification.workloads import CONTROLLERS, PROBES
from tests.operations.verification.cluster import MIXED, Answer, FakeApi, node

NAMES = tuple(each["metadata"]["name"] for each in MIXED)
METADATA = "169.254.169.254"
OUTSIDE = ("example.org:443", "192.0.2.7:443")


def good(place: str, words: str) -> bool:
    """Answer like a cluster without faults: pods cannot reach the metadata service, ConfigMaps are read-only."""
    if words.startswith("write "):
        return False
    return METADATA not in words or place.startswith("host ")


def rows_of(
    answer: Answer = good, nodes: list[dict[str, Any]] | None = None, excused: dict[str, str] | None = None
) -> list[Row]:
    api = FakeApi(MIXED if nodes is None else nodes, answer)
    return verify(api, VerifyRequest(NAMES, excused or {}, OUTSIDE, 0.01))  # type: ignore[arg-type]


def test_verify_passes_every_check_of_a_good_cluster_and_deletes_all_it_created() -> None:
    api = FakeApi(MIXED, good)
    rows = verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    assert failed(rows) == []
    assert {row.check for row in rows if row.verdict is Verdict.PASSED} == TITLES.keys() - {"SMK-15", "SEC-03"}
    assert api.objects == {}


def test_admission_policies_refuse_no_object_of_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    api, created = FakeApi(MIXED, good), []
    ask = api.ask

    def recorded(method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        if method == "POST" and isinstance(body, dict) and "spec" in body:
            created.append(Object(body))
        return ask(method, path, body, kind)

    monkeypatch.setattr(api, "ask", recorded)
    verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    windows = [each for each in created if each.pod is not None and WINDOWS.holds(each.pod)]
    assert len(windows) > 5
    pools = "{linux: {os: ubuntu-24.04}, web: {os: windows-2019}, api: {os: windows-2022}}"
    context = examples.of_cluster(f"{{pools: {pools}}}")
    findings = lint(Manifests(tuple(created)), context).findings
    assert [(each.object.name, each.rule.id) for each in findings if each.rule.level is Level.ERROR] == []


def without(*parts: str, host: bool | None = None, at: str = "") -> Answer:
    """Return a function that answers like `good`, but fails questions that contain all these parts."""

    def answer(place: str, words: str) -> bool:
        here = (host is None or place.startswith("host ") is host) and at in place
        return good(place, words) and not (here and all(part in words for part in parts))

    return answer


BROKEN: dict[str, Answer] = {
    "SMK-04": without("http://10.244.", host=True),
    "SMK-05": without("ping ", host=False),
    "SMK-06": without("http://10.96.", host=False),
    "SMK-07": without("name ", "webserver", host=False),
    "SMK-08": without(":3000", host=True, at="control-plane"),
    "SMK-09": without("open example.org"),
    "SMK-10": without("open 10.20.", host=False),
    "SMK-12": without("file ", "/verify/keys/word"),
    "metadata": lambda place, words: not words.startswith("write "),
    "packet-size": without("size "),
}
"""Check -> answers of a cluster that fails this check and no other."""


@pytest.mark.parametrize("check", BROKEN)
def test_each_check_fails_without_failing_another_check(check: str) -> None:
    assert {row.check for row in failed(rows_of(BROKEN[check]))} == {check}


def test_smk_02_a_missing_node_and_a_node_that_is_not_ready_fail() -> None:
    nodes = [*MIXED[:2], node("web-0", "windows", "10.20.0.6", ready=False, build="10.0.17763")]
    assert [(row.check, row.what, row.said) for row in failed(rows_of(nodes=nodes))] == [
        ("SMK-02", "node web-0", "NotReady"),
        ("SMK-02", "node web-1", "the cluster has no Node of this name"),
    ]


def test_smk_02_a_system_pod_that_does_not_run_fails() -> None:
    api = FakeApi(MIXED, good)
    api.system_phase = "Pending"
    rows = verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    assert [(row.check, row.what, row.said) for row in failed(rows)] == [
        ("SMK-02", "pod kube-system/coredns-1", "Pending")
    ]


def test_smk_02_the_row_of_a_failing_system_pod_names_its_node() -> None:
    api = FakeApi(MIXED, good)
    api.system_phase, api.system_node = "Pending", "linux-0"
    rows = verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    assert [row.what for row in failed(rows)] == ["pod kube-system/coredns-1 on linux-0"]


def test_smk_07_names_have_the_dns_domain_of_the_cluster() -> None:
    api, words = FakeApi(MIXED, good), list[str]()

    def note(place: str, question: str) -> bool:
        words.append(question)
        return good(place, question)

    api.answer = note
    verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01, domain="corp.example"))  # type: ignore[arg-type]
    assert {question.rpartition(".svc.")[2] for question in words if ".svc." in question} == {
        "corp.example",
        "corp.example/hello",
    }
    [external] = [each["spec"] for each in api.made if each.get("spec", {}).get("type") == "ExternalName"]
    assert external["externalName"] == "kubernetes.default.svc.corp.example"
    askers = [each["spec"]["containers"][0] for each in api.made if each["metadata"]["name"].startswith("ask-")]
    assert {"name": "DOMAIN", "value": "corp.example"} in askers[0]["env"]


def test_the_wait_for_nodes_names_those_that_are_not_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("operations.console.heartbeat.EVERY_SECONDS", 0.0)
    rows_of(nodes=[*MIXED[:3], node("web-1", "windows", "10.20.0.7", ready=False, build="10.0.17763")])
    assert "mullion: waiting for Nodes web-1 to be Ready (0 s)\n" in capsys.readouterr().err


def test_smk_03_a_web_server_whose_image_cannot_be_pulled_fails_with_the_kubelets_reason() -> None:
    api = FakeApi(MIXED, good)
    api.never_ready = {"web-web-1"}
    rows = verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    assert [(row.check, row.what, row.said) for row in failed(rows)] == [
        ("SMK-03", "windows pod web-web-1", "Pending: ImagePullBackOff")
    ]
    assert api.objects == {}


LACKS: dict[str, tuple[str, set[str]]] = {
    "restarts": ("SMK-12", {"liveness probe", "preStop"}),
    "preStop": ("SMK-12", {"preStop"}),
    **{each: ("SMK-12", {each}) for each in PROBES},
    **{kind: ("SMK-13", {kind}) for kind in CONTROLLERS},
    "summary": ("SMK-14", {"stats/summary"}),
    "exec": ("SMK-14", {"exec"}),
    "port-forward": ("SMK-14", {"port-forward"}),
    "quota": ("SMK-14", {"ResourceQuota"}),
}
"""Missing feature of a cluster -> the check that fails, and its rows."""


@pytest.mark.parametrize("what", LACKS)
def test_smk_12_13_14_a_missing_feature_fails_only_its_check(what: str) -> None:
    api = FakeApi(MIXED, good)
    api.lacks = {what}
    rows = failed(verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01)))  # type: ignore[arg-type]
    assert ({row.check for row in rows}, {row.what for row in rows}) == ({LACKS[what][0]}, LACKS[what][1])
    assert {row.system for row in rows} <= {"linux", "windows", ""}
    assert api.objects == {}


def test_smk_13_cron_jobs_use_batch_v1beta1_if_the_cluster_has_no_batch_v1() -> None:
    api = FakeApi(MIXED, good)
    api.lacks = {"batch/v1"}
    verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    assert {each["apiVersion"] for each in api.made if each["kind"] == "CronJob"} == {"batch/v1beta1"}


def test_smk_01_each_windows_build_has_its_own_deployment_and_image() -> None:
    nodes = [*MIXED[:3], {**MIXED[3], "metadata": _build(MIXED[3]["metadata"])}]
    api = FakeApi(nodes, good)
    verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    found = {each["metadata"]["name"]: each["spec"] for each in api.made if each["kind"] == "Deployment"}
    images = {name: spec["template"]["spec"]["containers"][0]["image"] for name, spec in found.items()}
    assert images == {
        "linux-webserver": BUSYBOX,
        "win-webserver-17763": "mcr.microsoft.com/windows/servercore:ltsc2019",
        "win-webserver-20348": "mcr.microsoft.com/windows/servercore:ltsc2022",
    }
    assert {name: spec["replicas"] for name, spec in found.items()} == {
        **dict.fromkeys(images, 1),
        "linux-webserver": 2,
    }


def test_smk_02_a_node_with_gate_registered_is_a_known_limit_and_fails_if_it_is_missing() -> None:
    nodes = [*MIXED[:2], node("web-0", "windows", "10.20.0.6", ready=False, build="10.0.17763")]
    wanted = VerifyRequest(NAMES, {}, OUTSIDE, 0.01, registered=dict.fromkeys(("web-0", "web-1"), "no containers here"))
    rows = verify(FakeApi(nodes, good), wanted)  # type: ignore[arg-type]
    found = {row.what: (row.verdict, row.said) for row in rows if row.what.startswith("node web-")}
    assert found == {
        "node web-0": (Verdict.LIMIT, "no containers here"),
        "node web-1": (Verdict.FAILED, "the cluster has no Node of this name"),
    }


def test_smk_11_unreachable_services_from_a_windows_server_2019_node_are_a_known_limit() -> None:
    fails = without("http://10.96.", host=True, at="web-")
    found = [row for row in rows_of(fails) if row.check == "SMK-11"]
    assert {row.verdict for row in found} == {Verdict.PASSED, Verdict.LIMIT}
    assert all("Windows Server 2019" in row.said for row in found if row.verdict is Verdict.LIMIT)
    newer = [{**each, "metadata": _build(each["metadata"])} for each in MIXED]
    assert {row.check for row in failed(rows_of(fails, newer))} == {"SMK-11"}, "not on later versions"


def _build(metadata: dict[str, Any]) -> dict[str, Any]:
    labels = {key: value.replace("17763", "20348") for key, value in metadata["labels"].items()}
    return {**metadata, "labels": labels}


def test_fln_06_a_windows_node_asks_only_its_own_pods_and_smk_09_no_pod_pings_the_outside() -> None:
    asked: list[tuple[str, str]] = []

    def note(place: str, words: str) -> bool:
        asked.append((place, words))
        return good(place, words)

    rows_of(note)
    assert {words for place, words in asked if place == "host web-0" and "10.244." in words} == {
        "http http://10.244.3.2:80/hello"
    }
    assert not [words for _, words in asked if words.startswith("ping") and "10.244." not in words]


def test_smk_10_pods_of_both_systems_ask_pods_of_both_systems() -> None:
    passed = {(row.system, row.column) for row in rows_of() if row.verdict is Verdict.PASSED}
    pods = {"pod", "service", "DNS", "node", "internet", "metadata", "node-to-pod"}
    assert {(os, each) for os in ("linux", "windows") for each in pods} <= passed


def test_rows_of_a_cluster_without_windows_say_what_is_not_covered_and_why() -> None:
    excused: dict[str, str] = dict.fromkeys(("web-0", "web-1"), "nothing here runs Windows")
    rows = rows_of(nodes=MIXED[:2], excused=excused)
    assert failed(rows) == []
    said = {(row.what, row.said) for row in rows if row.verdict is Verdict.NOT_COVERED}
    assert ("node web-0", "nothing here runs Windows") in said
    assert ("Windows pods and nodes", "the cluster has no Ready Windows node") in said


def test_answers_reads_only_the_lines_with_answers_of_a_log() -> None:
    assert answers("") == {}
    assert answers("3 ok 10.0.0.1\nwget: bad\n4 no \ndone") == {3: (True, "10.0.0.1"), 4: (False, "")}


def test_an_interrupted_run_deletes_all_it_created() -> None:
    def stop(place: str, words: str) -> bool:
        raise KeyboardInterrupt

    api = FakeApi(MIXED, stop)
    with pytest.raises(KeyboardInterrupt):
        verify(api, VerifyRequest(NAMES, {}, OUTSIDE, 0.01))  # type: ignore[arg-type]
    assert api.objects == {}


REPORTS: dict[str, Callable[[list[Row]], tuple[int, int]]] = {
    "json": lambda rows: (len(json.loads(as_json(rows))["rows"]), json.loads(as_json(rows))["failed"]),
    "junit": lambda rows: tuple(  # type: ignore[return-value,dict-item]
        int(ElementTree.fromstring(as_junit("dev", rows)).attrib[name]) for name in ("tests", "failures")
    ),
}


@pytest.mark.parametrize("form", REPORTS)
def test_reports_have_every_row_and_count_failures(form: str) -> None:
    rows = rows_of(BROKEN["SMK-09"])
    assert REPORTS[form](rows) == (len(rows), len(failed(rows)))
    assert len(failed(rows)) == 4, "one name, asked in a pod on each node"


def test_the_table_names_failed_checks_and_the_matrix_shows_their_nodes() -> None:
    text = shown(rows_of(BROKEN["SMK-09"]))
    assert "failed" in next(line for line in text.splitlines() if line.strip().startswith("SMK-09"))
    matrix = text.rpartition("from")[2].splitlines()
    assert [line.split()[0] for line in matrix[1:]] == ["linux", "windows"]
