"""The folder of `mullion run`: what it has after a failure, a signal and a kill, and what never is in it."""

import json
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pulumi import automation as auto
from typer.testing import Result

from operations.commands import reached_api, run_artifacts, up_and_down, wait
from operations.engine import engine_log
from operations.engine.locate import Engine, Origin
from operations.engine.process import EngineCommand
from operations.stacks import boot_site
from tests.operations.commands.runs import Cluster

Run = Callable[..., Result]
PYTHON = (sys.executable, "-c")


def result(clone: Path) -> dict[str, Any]:
    return json.loads((clone / "art" / "result.json").read_text())


def results(clone: Path) -> dict[str, str]:
    return {phase["name"]: phase["result"] for phase in result(clone)["phases"]}


@pytest.mark.subprocess
def test_result_json_names_what_is_there_and_why_the_rest_is_not(
    clone: Path, cluster: Cluster, mullion_run: Run
) -> None:
    assert mullion_run(command=(*PYTHON, "import sys; sys.exit(7)")).exit_code == 7
    known = result(clone)
    assert (known["cluster"], known["template"], known["exit_code"], known["left"]) == ("ci-1", "small", 7, "")
    assert results(clone) == {
        **dict.fromkeys(("up", "wait", "down"), "passed"),
        "verify": "skipped",
        "command": "failed",
    }
    assert known["artifacts"] == {
        "junit.xml": "written",
        "engine.log": "no engine was started",
        "verify.xml": "this sandbox only simulates machines, so no pod can run",
        "events.json": "this sandbox only simulates machines, so no API answers",
        "machines": "web-0 did not answer",
        "report.html": "written",
    }
    page = (clone / "art" / "report.html").read_text()
    assert "Exit code 7." in page and page.count('<span class="mark good">passed</span>') == 3, "down is in it too"


@pytest.mark.subprocess
@pytest.mark.parametrize(("options", "collected"), [((), False), (("--collect-always",), True)])
def test_a_run_that_succeeds_collects_logs_only_if_told_to(
    options: tuple[str, ...], collected: bool, clone: Path, cluster: Cluster, mullion_run: Run
) -> None:
    assert mullion_run(*options).exit_code == 0
    assert ("logs" in cluster.calls) is collected
    assert result(clone)["artifacts"]["machines"] == ("web-0 did not answer" if collected else "not collected")
    assert result(clone)["exit_code"] == 0


@pytest.mark.subprocess
def test_an_interrupted_run_has_its_reports_before_the_removal_begins(
    clone: Path, cluster: Cluster, mullion_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before: list[dict[str, Any]] = []

    def down(name: str, **options: Any) -> None:
        before.append(result(clone))
        cluster.down(name, **options)

    class Silent:
        def ask(self, *_: Any) -> Any:
            threading.Event().wait(60)

    monkeypatch.setattr(up_and_down, "down", down)
    monkeypatch.setattr(boot_site, "api", lambda name: "https://127.0.0.1:6443")
    monkeypatch.setattr(reached_api, "client", lambda text: Silent())
    monkeypatch.setattr(run_artifacts, "QUICK_SECONDS", 0.1)
    code = f"import os,time; os.kill({os.getpid()}, {int(signal.SIGINT)}); time.sleep(600)"
    assert mullion_run("--verify", "none", command=(*PYTHON, code)).exit_code == 130
    [early] = before
    assert early["exit_code"] == 130
    assert early["artifacts"]["events.json"].startswith("interrupted: the API did not answer")
    assert early["artifacts"]["machines"].startswith("interrupted: machines take minutes")
    assert early["artifacts"]["report.html"].startswith("interrupted: reading the state takes too long")
    assert results(clone)["down"] == "passed"


@pytest.mark.subprocess
def test_a_killed_runner_leaves_a_report_with_the_phase_that_ran(
    clone: Path, cluster: Cluster, mullion_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, str]] = []
    monkeypatch.setattr(wait, "wait", lambda *_: seen.append(results(clone)))
    assert mullion_run().exit_code == 0
    assert seen == [{"up": "passed", "wait": "running", **dict.fromkeys(("verify", "command", "down"), "skipped")}]


@pytest.mark.subprocess
def test_an_earlier_run_of_the_same_name_leaves_nothing_in_the_folder(
    clone: Path, cluster: Cluster, mullion_run: Run
) -> None:
    machines = clone / "art" / "machines"
    machines.mkdir(parents=True)
    for stale in (
        machines / "gone-0.zip",
        *(clone / "art" / name for name in ("events.json", "engine.log", "report.html")),
    ):
        stale.write_text("old")
    (clone / "art" / "notes.txt").write_text("mine")
    assert mullion_run().exit_code == 0
    left = {path.name for path in (clone / "art").rglob("*") if path.is_file()}
    assert left == {"result.json", "junit.xml", "notes.txt"}


@pytest.mark.subprocess
def test_the_engine_log_has_the_lines_of_updates_and_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, log = tmp_path / "pulumi", tmp_path / "engine.log"
    engine.write_text(
        '#!/bin/sh\necho "$2 vpc created"\n'
        "printf -- '-----BEGIN RSA PRIVATE KEY-----\\nMIIsecret\\n-----END RSA PRIVATE KEY-----\\n'\n"
        'echo "warning: passphrase was $PULUMI_CONFIG_PASSPHRASE" >&2\n'
    )
    engine.chmod(0o755)
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct horse")
    command = EngineCommand(Engine(engine, "3.240.0", Origin.PATH))
    heard: list[str] = []
    with engine_log.logged(log):
        command.run(["up", "--yes"], str(tmp_path), {}, heard.append)
        shown: auto.CommandResult = command.run(["stack", "export", "--show-secrets"], str(tmp_path), {})
    command.run(["destroy"], str(tmp_path), {})
    text = log.read_text()
    assert "up: up vpc created" in text
    assert "warning: passphrase was [secret]" in text
    assert all(word not in text for word in ("MIIsecret", "correct horse", "stack", "destroy"))
    assert "MIIsecret" in "".join(heard) and "MIIsecret" in shown.stdout, "only the file is masked"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
