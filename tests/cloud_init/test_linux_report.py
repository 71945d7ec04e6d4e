"""Reports of a run: status record in the store, result file, lines for the journal."""

import importlib
import json
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.cloud_init.cloud import INSTANCE, FakeCloud
from tests.cloud_init.linux import TOKEN, Execute, Programs, outcomes
from tests.prometheus import parsed

KEY = "/status/AROAEXAMPLE:" + INSTANCE + ".json"
FIELDS = {"machine", "instance", "bundle", "state", "phase", "step", "code", "name", "message"}
FIELDS |= {"kubernetes", "seconds", "time", "authorities", "kubelet_signers"}
STATES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("ready", {"kind": "directory", "path": "/a"}, {"code": 0, "phase": None, "step": None, "name": None}),
    ("failed", {"kind": "file", "path": "/a", "content": 1}, {"code": 107, "phase": "all", "step": "step-0"}),
    ("reboot", {"kind": "reboot"}, {"code": 0, "phase": "all", "step": "step-0"}),
]


@pytest.fixture
def written(cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the machine's records in the order in which the store received them."""
    records: list[dict[str, Any]] = []
    real = type(cloud.objects.cloud_state).put_object

    def put(cloud_state: Any, bucket: str, key: str, content: bytes, *rest: Any, **named: Any) -> Any:
        records.extend([json.loads(content)] if f"/{bucket}/{key}" == KEY else [])
        return real(cloud_state, bucket, key, content, *rest, **named)

    monkeypatch.setattr(type(cloud.objects.cloud_state), "put_object", put)
    return records


def told(cloud: FakeCloud) -> dict[str, str]:
    return {"status_url": f"{cloud.url}/status/AROAEXAMPLE%3A"}


@pytest.mark.parametrize("last", ["registered", "ready"])
def test_a_phase_reports_its_state_at_its_end(
    execute: Execute, cloud: FakeCloud, written: list[Any], last: str
) -> None:
    phases: list[dict[str, Any]] = [{"name": "one", "scope": "node", "reports": "registered", "steps": []}]
    phases += [{"name": "two", "scope": "node", "steps": []}] if last == "ready" else []
    execute(facts=told(cloud), phases=phases)
    assert [each["state"] for each in written] == ["running", "registered", last]


@pytest.mark.parametrize(("state", "step", "where"), STATES, ids=[state for state, _, _ in STATES])
def test_a_record_has_running_and_then_the_outcome(
    execute: Execute,
    root: Path,
    cloud: FakeCloud,
    written: list[Any],
    state: str,
    step: dict[str, Any],
    where: dict[str, Any],
) -> None:
    (root / "run").mkdir(parents=True)
    (root / "run/reboot-required").touch()
    execute(step, facts=told(cloud), kubernetes="1.36.4")
    assert [each["state"] for each in written] == ["running", state]
    last = written[-1]
    assert {
        "machine": "linux-0",
        "instance": INSTANCE,
        "bundle": "bundle",
        "kubernetes": "1.36.4" if state == "ready" else None,  # the version that was reached, never one in progress
    }.items() <= last.items()
    assert where.items() <= last.items()
    assert last.keys() == FIELDS
    assert not cloud.refused(), "%3A stays encoded in the signature"


def test_a_control_plane_reports_the_issuers_of_its_api_server_in_their_order(
    execute: Execute, root: Path, cloud: FakeCloud, written: list[Any]
) -> None:
    place = root / "etc/kubernetes/manifests/kube-apiserver.yaml"
    place.parent.mkdir(parents=True, exist_ok=True)
    issuers = ["https://dev-issuer.s3.eu-west-1.amazonaws.com", "https://kubernetes.default.svc.cluster.local"]
    flags = [f"--service-account-issuer={each}" for each in issuers] + ["--service-account-key-file=/etc/sa.pub"]
    place.write_text("spec:\n  containers:\n  - command:\n" + "".join(f"    - {each}\n" for each in flags))
    execute({"kind": "directory", "path": "/a"}, facts=told(cloud))
    assert written[-1]["issuers"] == ",".join(issuers)


def test_a_record_has_at_most_1000_characters_of_message_and_no_secret(
    execute: Execute, cloud: FakeCloud, programs: Programs, written: list[Any]
) -> None:
    programs.answers["kubeadm"] = (1, TOKEN + 3000 * "x")
    step = {"kind": "command", "argv": ["kubeadm"], "input": {"ref": "node.bootstrap_token"}, "retries": 0}
    execute(step, facts=told(cloud))
    assert len(written[-1]["message"]) == 1000
    assert TOKEN not in json.dumps(written)


def test_a_record_that_cannot_be_written_is_reported_and_fails_no_run(
    execute: Execute, cloud: FakeCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"status_url": f"{cloud.url}/status/AROAEXAMPLE%3A"}
    cloud.fail("/status/*", [403, 403])
    assert outcomes(execute({"kind": "directory", "path": "/a"}, facts=facts)) == ["set"]
    assert capsys.readouterr().out.count("the status record cannot be written: HTTPError: HTTP Error 403") == 2


@pytest.mark.parametrize("status", [429, 503])
def test_a_record_is_written_once_more_if_the_store_is_busy(
    execute: Execute, cloud: FakeCloud, written: list[Any], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(importlib.import_module("report").time, "sleep", slept.append)
    cloud.fail("/status/*", [status])
    execute({"kind": "directory", "path": "/a"}, facts=told(cloud))
    assert [each["state"] for each in written] == ["running", "ready"] and slept == [2]


def test_a_result_shows_whether_its_run_was_since_this_boot(
    execute: Execute, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = importlib.import_module("report")
    ended, seen = root / report.ENDED, list[bool]()
    monkeypatch.setattr(report, "record", lambda *_: seen.append(ended.exists()))
    step = {"kind": "directory", "path": "/a"}
    execute(step)
    execute(step)
    assert seen == [False, True] * 2


def test_each_run_leaves_its_outcome_as_metrics_for_node_exporter(execute: Execute, root: Path) -> None:
    file = root / "run/mullion/metrics/run.prom"
    for step, code in (({"kind": "file", "path": "/a", "content": 1}, 107), ({"kind": "directory", "path": "/a"}, 0)):
        began = int(time.time())
        execute(step)
        found = parsed(file.read_text())
        assert found["mullion_run_code"] == code
        assert began <= found["mullion_run_ended_timestamp_seconds"] <= time.time()
    assert f"{file.stat().st_mode & 0o777:o}" == "644"


def test_metrics_that_cannot_be_written_do_not_hide_the_outcome(
    execute: Execute, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "run").mkdir(parents=True)
    (root / "run/mullion").write_text("in the way")
    assert execute({"kind": "directory", "path": "/a"})["state"] == "done"
    assert "the metrics cannot be written" in capsys.readouterr().out


def test_a_result_that_cannot_be_written_does_not_hide_the_outcome(
    execute: Execute, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "var").mkdir(parents=True)
    (root / "var/lib").write_text("in the way")
    assert execute({"kind": "file", "path": "/a", "content": 1})["name"] == "step-invalid"
    assert "result.json cannot be written" in capsys.readouterr().out
    assert not (root / importlib.import_module("report").ENDED).exists(), "the file is marked as an older run's"


def test_a_failure_has_error_priority_in_the_journal_and_is_a_plain_line_elsewhere(
    node: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = importlib.import_module("report")
    result = {"state": "failed", "code": 301, "name": "file-failed", "phase": "p", "step": "s", "message": "no"}
    monkeypatch.delenv("JOURNAL_STREAM", raising=False)
    report.say(report.summary(result), "failed")
    monkeypatch.setenv("JOURNAL_STREAM", "8:1")
    report.say(report.summary(result), "failed")
    report.say("done")
    line = "mullion: E301 file-failed in phase p, step s: no"
    assert capsys.readouterr().out.splitlines() == [line, f"<3>{line}", "mullion: done"]
