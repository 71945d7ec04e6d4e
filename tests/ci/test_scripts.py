"""Scripts of CI: credentials of GitLab jobs, and the removal of what a killed run left."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from google.auth import identity_pool

from operations.stacks.paths import REPOSITORY

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
