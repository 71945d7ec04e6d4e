"""`mullion run`: phases, exit codes, what is left, what is written; the engine is a stand-in here."""

import os
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import Result

from components.spec import expiry
from operations.commands import run, up_and_down, verify
from operations.console.exits import Exit
from operations.engine import failures, workspace
from operations.stacks import boot_site, ephemeral, stack_files, target
from tests.operations.commands.runs import Cluster, nothing_left

Run = Callable[..., Result]
PYTHON = (sys.executable, "-c")


def phases(clone: Path) -> dict[str, str]:
    """Return the result of each phase in the JUnit file."""
    results: dict[str, str] = {}
    for case in ElementTree.parse(clone / "art" / "junit.xml").getroot():
        results[case.get("name", "")] = case[0].tag if len(case) else "passed"
    return results


@pytest.mark.subprocess
def test_a_run_gives_the_command_a_kubeconfig_of_mode_600_and_removes_everything(
    clone: Path, cluster: Cluster, mullion_run: Run
) -> None:
    code = "import os,sys; p=os.environ['KUBECONFIG']; open(sys.argv[1],'w').write(f'{os.stat(p).st_mode} {p}')"
    result = mullion_run(command=(*PYTHON, code, str(clone / "said")))
    assert result.exit_code == 0, result.stderr
    mode, path = (clone / "said").read_text().split()
    assert stat.S_IMODE(int(mode)) == 0o600
    assert not Path(path).exists()
    assert cluster.calls == ["up", "wait", "down"], "simulated machines run no pods, so nothing is verified"
    assert nothing_left(clone)
    assert phases(clone) == dict.fromkeys(("up", "wait", "command", "down"), "passed") | {"verify": "skipped"}
    assert "progress of the engine" not in result.stdout, "standard output is the command's"


@pytest.mark.subprocess
@pytest.mark.parametrize("options", [(), ("--pass-credentials",)])
def test_the_command_gets_no_credentials_unless_asked(
    options: tuple[str, ...], clone: Path, cluster: Cluster, mullion_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs code of a pull request: it could read the state, or act in the account."""
    secret = (
        *("AWS_SECRET_ACCESS_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE", "ARM_OIDC_TOKEN_FILE_PATH", "AZURE_CONFIG_DIR"),
        *("GOOGLE_APPLICATION_CREDENTIALS", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_BACKEND_URL"),
        *("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN", "OIDC_TOKEN", "CI_JOB_TOKEN"),
    )
    for name in secret:
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("OF_THE_TEST", "y")
    code = "import os,sys; open(sys.argv[1],'w').write(' '.join(os.environ))"
    assert mullion_run(*options, command=(*PYTHON, code, str(clone / "said"))).exit_code == 0
    got = set((clone / "said").read_text().split())
    assert got & set(secret) == (set(secret) if options else set())
    assert got >= {"KUBECONFIG", "OF_THE_TEST", "PATH"}


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("code", "ends"), [("import sys; sys.exit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 128 + 9)]
)
def test_a_run_ends_with_the_code_of_its_command_and_writes_why(
    code: str, ends: int, clone: Path, cluster: Cluster, mullion_run: Run
) -> None:
    result = mullion_run(command=(*PYTHON, code))
    assert result.exit_code == ends
    assert cluster.calls == ["up", "wait", "logs", "down"]
    assert phases(clone)["command"] == "failure"
    assert "web-0 did not answer" in result.stderr
    assert nothing_left(clone)


@pytest.mark.parametrize(("phase", "reached"), [("up", ["up"]), ("wait", ["up", "wait"])])
def test_a_failed_phase_is_named_its_secrets_are_masked_and_the_cluster_is_removed(
    phase: str, reached: list[str], clone: Path, cluster: Cluster, mullion_run: Run
) -> None:
    cluster.fails = {phase: Exit.FAILED}
    result = mullion_run()
    assert result.exit_code == Exit.FAILED
    assert cluster.calls == [*reached, "logs", "down"]
    assert phases(clone)[phase] == "failure"
    assert phases(clone)["command"] == "skipped"
    assert "hunter2" not in (clone / "art" / "junit.xml").read_text()
    assert nothing_left(clone)


@pytest.mark.subprocess
def test_a_booted_cluster_is_verified_by_the_chosen_checks_before_the_command(
    clone: Path, cluster: Cluster, mullion_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[Any] = []
    monkeypatch.setattr(boot_site, "api", lambda name: "https://127.0.0.1:6443")
    monkeypatch.setattr(verify, "run", lambda name, **options: chosen.append(options["checks"]))
    assert mullion_run("--verify", "metadata,packet-size").exit_code == 0
    assert mullion_run("--verify", "none").exit_code == 0
    assert mullion_run().exit_code == 0
    assert chosen == [{"metadata", "packet-size"}, frozenset()]
    refused = mullion_run("--verify", "speed")
    assert refused.exit_code == Exit.USAGE
    assert "--verify speed is unknown" in refused.stderr


@pytest.mark.subprocess
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_and_removes_the_cluster_without_collecting_logs(
    number: int, clone: Path, cluster: Cluster, mullion_run: Run
) -> None:
    code = f"import os,time; os.kill({os.getpid()}, {int(number)}); time.sleep(600)"
    result = mullion_run("--keep-on-failure", "1h", command=(*PYTHON, code))
    assert result.exit_code == Exit.INTERRUPTED
    assert cluster.calls == ["up", "wait", "down"], "an interrupted cluster is not kept"
    assert nothing_left(clone)


def test_a_signal_during_the_removal_does_not_end_it(
    clone: Path, cluster: Cluster, mullion_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.fails = {"wait": Exit.FAILED}

    def down(name: str, **options: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        cluster.down(name, **options)

    monkeypatch.setattr(up_and_down, "down", down)
    result = mullion_run()
    assert "removing the cluster; press again" in result.stderr
    assert cluster.calls[-1] == "down"
    assert nothing_left(clone)
    assert not failures.held()


@pytest.mark.subprocess
def test_a_command_that_still_runs_at_the_expiry_is_ended_with_its_children(
    clone: Path, cluster: Cluster, mullion_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = expiry.now()
    moments = iter([began, began, began])
    monkeypatch.setattr(expiry, "now", lambda: next(moments, began.replace(year=began.year + 1)))
    code = "import subprocess,sys,time; subprocess.Popen(['sleep','600']); time.sleep(600)"
    result = mullion_run(command=(*PYTHON, code))
    assert result.exit_code == 124
    assert "still ran when the cluster expired" in result.stderr
    assert nothing_left(clone)


@pytest.mark.subprocess
def test_a_failed_run_can_be_kept_and_says_how_to_get_in(clone: Path, cluster: Cluster, mullion_run: Run) -> None:
    result = mullion_run("--keep-on-failure", "1h", command=("false",))
    assert result.exit_code == 1
    assert cluster.calls == ["up", "wait", "logs", "expire"]
    assert len(cluster.expires) == 1
    assert f"export KUBECONFIG={clone}/.mullion/ci-1/kubeconfig" in result.stderr
    assert "mullion extend ci-1 1h --sandbox" in result.stderr
    assert "mullion down ci-1 --yes --sandbox" in result.stderr
    assert "ci-1" in stack_files.names()


@pytest.mark.subprocess
@pytest.mark.parametrize("phase", ["up", "expire"])
def test_a_cluster_that_cannot_be_kept_is_removed(phase: str, clone: Path, cluster: Cluster, mullion_run: Run) -> None:
    cluster.fails = {phase: Exit.FAILED}
    result = mullion_run("--keep-on-failure", "1h", command=("false",))
    assert result.exit_code == 1
    assert "not kept" in result.stderr
    assert cluster.calls[-1] == "down"
    assert nothing_left(clone)


@pytest.mark.subprocess
def test_a_removal_that_fails_is_tried_again_and_then_says_what_removes_the_cluster(
    clone: Path, cluster: Cluster, mullion_run: Run
) -> None:
    cluster.fails = {"down": Exit.FAILED}
    result = mullion_run()
    assert result.exit_code == Exit.FAILED, "the command succeeded, the run did not"
    assert cluster.calls.count("down") == run.TRIES
    assert "cluster ci-1 still exists: down broke" in result.stderr
    assert "`mullion reap --yes --sandbox` removes it then" in result.stderr
    assert phases(clone)["down"] == "failure"
    assert mullion_run(command=("false",)).exit_code == Exit.REFUSED, "the name is taken"


@pytest.mark.subprocess
def test_settings_and_expiry_reach_the_spec_and_the_template_stays_as_it_was(
    clone: Path, cluster: Cluster, mullion_run: Run
) -> None:
    template = clone / "stacks" / "Pulumi.small.yaml"
    template.write_text(template.read_text() + "encryptionsalt: v1:abc\n")
    before = template.read_bytes()
    settings = ("--set", "pools.web.count=4", "--set", "owner=qa=1", "--set", "pools.web.labels.run=x")
    assert mullion_run("--ttl", "3h", *settings).exit_code == 0
    web = cluster.spec.pools["web"]
    assert (web.count, web.labels["run"], cluster.spec.owner) == (4, "x", "qa=1")
    left = expiry.moment(cluster.spec.expires) - expiry.now()  # type: ignore[operator]
    assert 2.9 * 3600 < left.total_seconds() <= 3 * 3600
    assert template.read_bytes() == before


def test_a_setting_with_plus_appends_to_the_list_of_the_template(clone: Path) -> None:
    file = clone / "stacks" / "Pulumi.small.yaml"
    file.write_text(file.read_text() + "    api: {access: public, allow: [8.8.8.0/24]}\n")
    whole = ephemeral.document("small", ["api.allow+=[9.9.9.9/32]", "extra+=[1]"], "2027-12-24T18:00:00Z")
    assert whole["config"]["mullion:cluster"]["api"]["allow"] == ["8.8.8.0/24", "9.9.9.9/32"]
    assert whole["config"]["mullion:cluster"]["extra"] == [1]


def test_the_life_is_that_of_the_template_or_two_hours(clone: Path) -> None:
    assert run._ttl("small") == "2h"
    file = clone / "stacks" / "Pulumi.small.yaml"
    text = file.read_text()
    for expires, life in (("8h", "8h"), ('"2027-12-24T18:00:00Z"', "2h")):
        file.write_text(text.replace("    cloud: aws", f"    cloud: aws\n    expires: {expires}"))
        assert run._ttl("small") == life


def test_a_name_of_its_own_is_short_enough_for_every_template(clone: Path) -> None:
    name = ephemeral.new_name("a-template-of-26-letters-x")
    assert target.STACK_NAME.fullmatch(name)
    assert name.startswith("a-template-of-26-le-")
    assert name != ephemeral.new_name("a-template-of-26-letters-x")


@pytest.mark.subprocess
@pytest.mark.parametrize(("options", "asked"), [(("--yes",), False), ((), True)])
def test_a_run_in_an_account_asks_unless_told_not_to_and_verifies(
    options: tuple[str, ...],
    asked: bool,
    clone: Path,
    cluster: Cluster,
    mullion: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workspace, "has_backend", lambda: False)
    assert mullion("run", "small", "--name", "ci-1", *options, "--", "true").exit_code == 0
    assert cluster.calls == ["up", "wait", "verify", "down"]
    assert cluster.asked is asked
    assert nothing_left(clone)


@pytest.mark.subprocess
@pytest.mark.parametrize(("phase", "removed"), [("name", []), ("up", ["down"])])
def test_a_run_removes_no_cluster_of_another_run_that_took_its_name(
    phase: str, removed: list[str], clone: Path, cluster: Cluster, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "has_backend", lambda: False)
    monkeypatch.setattr(target, "remember", lambda *_: None)
    cluster.fails = {phase: Exit.REFUSED}
    assert mullion("run", "small", "--name", "ci-1", "--yes", "--", "true").exit_code == Exit.REFUSED
    assert cluster.calls == [phase, *removed]
    assert nothing_left(clone)


@pytest.mark.parametrize("name", ["sandbox", "runs"])
def test_a_run_has_no_name_of_a_folder_of_all_stacks(name: str, clone: Path, cluster: Cluster, mullion: Run) -> None:
    kept = clone / ".mullion" / name / "other" / "state"
    kept.mkdir(parents=True)
    result = mullion("run", "small", "--sandbox", "--name", name, "--", "true")
    assert result.exit_code == Exit.USAGE
    assert "but not sandbox or runs" in result.stderr
    assert cluster.calls == []
    assert kept.is_dir()
