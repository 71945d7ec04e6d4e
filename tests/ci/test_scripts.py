"""Scripts of CI: credentials of GitLab jobs, and the removal of what a killed run left."""

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from google.auth import identity_pool

from operations.stacks.paths import REPOSITORY
from tests.awaited import until

from . import steps, workspace

pytestmark = pytest.mark.subprocess


def credentials(tmp_path: Path, cloud: str, identity: str) -> subprocess.CompletedProcess[str]:
    """Run a shell that signs in as jobs do, and prints its environment."""
    script = f'set -e; c="$({REPOSITORY}/ci/credentials.sh)"; eval "$c"; env'
    environment = workspace.environment(
        tmp_path, CLOUD=cloud, IDENTITY=identity, OIDC_TOKEN="a.b.c", TMPDIR=str(tmp_path)
    )
    return subprocess.run(["bash", "-c", script], env=environment, check=False, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("cloud", "identity", "expected", "token"),
    [
        ("aws", "arn:aws:iam::1:role/ci", {"AWS_ROLE_ARN": "arn:aws:iam::1:role/ci"}, "AWS_WEB_IDENTITY_TOKEN_FILE"),
        ("azure", "c t s", {"ARM_CLIENT_ID": "c", "ARM_SUBSCRIPTION_ID": "s"}, "ARM_OIDC_TOKEN_FILE_PATH"),
        ("azure", "c t s", {"AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t"}, "AZURE_FEDERATED_TOKEN_FILE"),
    ],
)
def test_sdks_find_the_token_in_a_file_that_only_the_job_reads(
    cloud: str, identity: str, expected: dict[str, str], token: str, tmp_path: Path
) -> None:
    done = credentials(tmp_path, cloud, identity)
    found = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert found.items() >= expected.items()
    assert Path(found[token]).read_text() == "a.b.c"
    assert Path(found[token]).stat().st_mode & 0o077 == 0


def test_google_reads_the_credentials_of_a_job(tmp_path: Path) -> None:
    provider = "projects/1/locations/global/workloadIdentityPools/ci/providers/gitlab"
    done = credentials(tmp_path, "gcp", f"{provider} ci@mine.iam.gserviceaccount.com")
    [file] = [line.partition("=")[2] for line in done.stdout.splitlines() if line.startswith("GOOGLE_APPLICATION_CRED")]
    found = identity_pool.Credentials.from_file(file)
    assert found.service_account_email == "ci@mine.iam.gserviceaccount.com"
    assert Path(json.loads(Path(file).read_text())["credential_source"]["file"]).read_text() == "a.b.c"


@pytest.mark.parametrize(
    ("cloud", "identity", "said"),
    [("azure", "client", "client id, tenant id and subscription id"), ("vmware", "x", "write aws, azure or gcp")],
)
def test_a_wrong_identity_ends_the_job_with_what_to_write(cloud: str, identity: str, said: str, tmp_path: Path) -> None:
    done = credentials(tmp_path, cloud, identity)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("script", ["preview.sh", "drift.sh"])
def test_a_long_report_fits_a_comment(script: str, tmp_path: Path) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    shutil.copytree(REPOSITORY / "ci", tmp_path / "ci")
    mullion = tmp_path / ".venv" / "bin" / "mullion"
    mullion.write_text("#!/bin/bash\nprintf 'x\\n%.0s' {1..30000}\n")
    mullion.chmod(0o755)
    done = steps.run(["bash", f"ci/{script}"], tmp_path, workspace.environment(tmp_path, STACK="aws-dev"))
    assert done.code == 0, done.output
    [report] = tmp_path.glob("*.md")
    assert 60_000 < len(report.read_text()) < 65_536 - 100, "GitHub takes 65,536 characters; the comment adds a mark"


@pytest.mark.parametrize(
    ("variables", "calls"),
    [
        ({"CLOUD": "aws"}, ["apt-get update -qq", "apt-get install -qq --no-install-recommends awscli"]),
        ({"CLOUD": "azure"}, []),
        ({"CLOUD": "aws", "SANDBOX": "true"}, []),
    ],
)
def test_gitlab_jobs_on_aws_install_the_program_that_names_the_account(
    variables: dict[str, str], calls: list[str], tmp_path: Path
) -> None:
    recorder = tmp_path / "apt-get"
    recorder.write_text(f'#!/bin/bash\necho "apt-get $*" >>{tmp_path}/calls\n')
    recorder.chmod(0o755)
    environment = workspace.environment(tmp_path) | variables | {"PATH": str(tmp_path)}
    done = steps.run(["/bin/bash", str(REPOSITORY / "ci" / "gitlab" / "tools.sh")], tmp_path, environment)
    assert done.code == 0, done.output
    recorded = tmp_path / "calls"
    assert (recorded.read_text().splitlines() if recorded.exists() else []) == calls


@pytest.mark.parametrize(
    ("stack_file", "kept_until", "codes", "code", "calls"),
    [
        (False, "", (0,), 0, 0),
        (True, "2026-11-23T18:00:00Z", (0,), 0, 0),
        (True, "", (0,), 0, 1),
        (True, "", (6, 6, 0), 0, 3),
        (True, "", (1, 0), 1, 1),
        (True, "", (3, 0), 3, 1),
    ],
    ids=["removed already", "kept on purpose", "left", "left and locked by its engine", "not removable", "refused"],
)
def test_what_a_killed_run_left_is_removed(
    stack_file: bool, kept_until: str, codes: tuple[int, ...], code: int, calls: int, tmp_path: Path
) -> None:
    for part in ("ci", "stacks", "artifacts", ".venv/bin"):
        (tmp_path / part).mkdir(parents=True)
    script = copied(tmp_path)
    if stack_file:
        (tmp_path / "stacks" / "Pulumi.ci-1.yaml").touch()
    (tmp_path / "artifacts" / "result.json").write_text(json.dumps({"kept_until": kept_until}, indent=2))
    (tmp_path / "codes").write_text("\n".join(map(str, codes)))
    mullion = tmp_path / ".venv" / "bin" / "mullion"
    mullion.write_text('#!/bin/bash\necho "$@" >>calls\ncode=$(head -n 1 codes)\nsed -i 1d codes\nexit "$code"\n')
    mullion.chmod(0o755)
    done = steps.run(["bash", str(script)], tmp_path, workspace.environment(tmp_path, NAME="ci-1", PAUSE="0"))
    assert done.code == code, done.output
    assert (tmp_path / "artifacts" / "Pulumi.ci-1.yaml").exists() is bool(kept_until), (
        "other clones need the stack file"
    )
    lines = (tmp_path / "calls").read_text().splitlines() if calls else []
    assert lines == ["down ci-1 --yes"] * calls
    assert ("built none" in done.output) is not stack_file, "without a stack file nobody knows that it was removed"


@pytest.mark.parametrize(
    ("script", "report", "variables"),
    [("reap.sh", "reap.md", {"BY_TAGS": "aws"}), ("bake.sh", "bake.md", {"STACK": "aws-dev"})],
)
def test_the_signal_of_a_cancelled_job_reaches_the_command_and_its_report_is_kept(
    script: str, report: str, variables: dict[str, str], tmp_path: Path
) -> None:
    """GitHub signals the first process of a step alone, and kills the step ten seconds later."""
    for part in ("ci", "stacks", ".venv/bin"):
        (tmp_path / part).mkdir(parents=True)
    for name in (script, "signals.sh", "passphrase.sh"):
        shutil.copy2(REPOSITORY / "ci" / name, tmp_path / "ci" / name)
    (tmp_path / "stacks" / "Pulumi.aws-dev.yaml").touch()
    mullion = tmp_path / ".venv" / "bin" / "mullion"
    mullion.write_text(
        "#!/bin/bash\ntrap 'sleep 1; echo the report; exit 130' TERM\necho x >>calls; touch ready\n"
        "while :; do sleep 0.1; done\n"
    )
    mullion.chmod(0o755)
    environment = workspace.environment(tmp_path, **variables)
    done = steps.run(["bash", "-c", f"exec ci/{script}"], tmp_path, environment, cancel=(tmp_path / "ready").exists)
    assert (done.code, done.cancelled) == (130, True), done.output
    assert "the report" in (tmp_path / report).read_text()
    assert (tmp_path / "calls").read_text() == "x\n", "no second command begins"


@pytest.mark.parametrize("script", ["cluster.sh", "apply.sh", "preview.sh", "bake.sh"])
@pytest.mark.parametrize(
    ("passphrase", "code", "seen"),
    [("$(MULLION_PASSPHRASE)", 2, None), ("", 0, "unset"), ("correct horse", 0, "correct horse")],
)
def test_a_passphrase_that_the_pipeline_does_not_have_reaches_no_engine(
    script: str, passphrase: str, code: int, seen: str | None, tmp_path: Path
) -> None:
    for part in ("stacks", ".venv/bin"):
        (tmp_path / part).mkdir(parents=True)
    shutil.copytree(REPOSITORY / "ci", tmp_path / "ci")
    (tmp_path / "stacks" / "Pulumi.aws-dev.yaml").touch()
    mullion = tmp_path / ".venv" / "bin" / "mullion"
    mullion.write_text('#!/bin/bash\necho "${PULUMI_CONFIG_PASSPHRASE-unset}" >seen\n')
    mullion.chmod(0o755)
    environment = workspace.environment(
        tmp_path, STACK="aws-dev", TEMPLATE="aws-ci", NAME="ci-1", TEST="true", ALLOW_RUNNER="false"
    )
    done = steps.run(["bash", f"ci/{script}"], tmp_path, {**environment, "PULUMI_CONFIG_PASSPHRASE": passphrase})
    assert done.code == code, done.output
    found = tmp_path / "seen"
    assert (found.read_text().strip() if found.exists() else None) == seen


@pytest.mark.parametrize(
    ("ttl", "minutes", "code"),
    [("2h", "180", 0), ("120m", "180", 0), ("121m", "180", 2), ("3h", "180", 2), ("3h", "240", 0), ("1d", "", 0)],
)
def test_a_lifetime_that_the_job_cannot_keep_is_refused(ttl: str, minutes: str, code: int, tmp_path: Path) -> None:
    """The service would end the job before the run removes its cluster."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    shutil.copytree(REPOSITORY / "ci", tmp_path / "ci")
    mullion = tmp_path / ".venv" / "bin" / "mullion"
    mullion.write_text("#!/bin/bash\n")
    mullion.chmod(0o755)
    own = {"TEMPLATE": "aws-ci", "NAME": "ci-1", "TEST": "true", "SANDBOX": "true", "TTL": ttl, "JOB_MINUTES": minutes}
    done = steps.run(["bash", "ci/cluster.sh"], tmp_path, workspace.environment(tmp_path, **own))
    assert done.code == code, done.output
    assert ("write at most 120m" in done.output) is bool(code)


def test_gitlab_jobs_may_last_as_long_as_those_of_github() -> None:
    """Without `timeout` they end after the hour that is GitLab's default, in the middle of `up` or a removal."""
    jobs = yaml.safe_load((REPOSITORY / "ci" / "gitlab" / "mullion.yml").read_text())
    hours = {name: int(job["timeout"].removesuffix("h")) for name, job in jobs.items() if name != ".mullion"}
    for name, file, job in (
        ("cluster", "test-cluster", "cluster"),
        *((each, each, each) for each in ("preview", "apply", "drift", "reap", "bake")),
    ):
        workflow = yaml.safe_load((REPOSITORY / ".github" / "workflows" / f"{file}.yml").read_text())
        assert hours[f".mullion-{name}"] * 60 >= workflow["jobs"][job]["timeout-minutes"], name
    assert int(jobs[".mullion-cluster"]["variables"]["JOB_MINUTES"]) == hours[".mullion-cluster"] * 60


@pytest.mark.parametrize("cloud", ["azure", "gcp"])
def test_gitlab_refuses_a_search_by_tags_that_its_image_cannot_do(cloud: str, tmp_path: Path) -> None:
    environment = workspace.environment(tmp_path, CLOUD=cloud, BY_TAGS=cloud)
    done = steps.run(["bash", str(REPOSITORY / "ci" / "gitlab" / "tools.sh")], tmp_path, environment)
    assert done.code == 2
    assert f"mullion reap --by-tags {cloud}" in done.output


def copied(folder: Path) -> Path:
    """Copy remove.sh and what it reads into a folder; return the script."""
    for name in ("remove.sh", "waiting.sh"):
        shutil.copy2(REPOSITORY / "ci" / name, folder / "ci" / name)
    return folder / "ci" / "remove.sh"


def test_a_lock_is_waited_for_until_the_service_ends_the_step(tmp_path: Path) -> None:
    for part in ("ci", "stacks", ".venv/bin"):
        (tmp_path / part).mkdir(parents=True)
    script, mullion = copied(tmp_path), tmp_path / ".venv" / "bin" / "mullion"
    (tmp_path / "stacks" / "Pulumi.ci-1.yaml").touch()
    mullion.write_text("#!/bin/bash\nexit 6\n")
    mullion.chmod(0o755)
    began = time.monotonic()
    done = steps.run(
        ["bash", str(script)], tmp_path, workspace.environment(tmp_path, NAME="ci-1", PAUSE="1", LIMIT="3")
    )
    assert done.code == 6
    assert 1 < time.monotonic() - began < 30


def test_a_run_that_its_step_left_behind_ends_before_its_cluster_is_removed(tmp_path: Path) -> None:
    """AzureCLI@2 ends without its script: two removals would run at once."""
    for part in ("ci", "stacks", ".venv/bin", ".mullion/ci-1"):
        (tmp_path / part).mkdir(parents=True)
    script, mullion = copied(tmp_path), tmp_path / ".venv" / "bin" / "mullion"
    (tmp_path / "stacks" / "Pulumi.ci-1.yaml").touch()
    mullion.write_text("#!/bin/bash\necho down >>calls\n")
    mullion.chmod(0o755)
    stops = "trap 'sleep 2; echo removed >>calls; exit' TERM; touch ready; while :; do sleep 0.1; done"
    with subprocess.Popen(["bash", "-c", stops, "run", "ci-1"], cwd=tmp_path) as run:
        try:
            until((tmp_path / "ready").exists, "waiting for the run")
            (tmp_path / ".mullion" / "ci-1" / "run.pid").write_text(f"{run.pid}\n")
            environment = workspace.environment(tmp_path, NAME="ci-1", PAUSE="0.2", LIMIT="60")
            done = steps.run(["bash", str(script)], tmp_path, environment)
        finally:
            run.kill()
    assert done.code == 0, done.output
    assert (tmp_path / "calls").read_text().split() == ["removed", "down"]


def test_a_later_process_with_the_id_of_a_run_is_left_alone(tmp_path: Path) -> None:
    for part in ("ci", "stacks", ".mullion/ci-1"):
        (tmp_path / part).mkdir(parents=True)
    script = copied(tmp_path)
    with subprocess.Popen(["sleep", "60"]) as other:
        (tmp_path / ".mullion" / "ci-1" / "run.pid").write_text(f"{other.pid}\n")
        done = steps.run(["bash", str(script)], tmp_path, workspace.environment(tmp_path, NAME="ci-1"))
        lives = other.poll() is None
        other.kill()
    assert (done.code, lives) == (0, True), done.output
