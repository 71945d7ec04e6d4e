"""Scripts of CI: credentials of GitLab jobs, and the removal of what a killed run left."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
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
    for part in ("ci", ".venv/bin"):
        (tmp_path / part).mkdir(parents=True)
    shutil.copy2(REPOSITORY / "ci" / script, tmp_path / "ci" / script)
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
        (True, "", (3, 3, 0), 0, 3),
        (True, "", (1, 0), 1, 1),
    ],
    ids=["removed already", "kept on purpose", "left", "left and locked by its engine", "left and not removable"],
)
def test_what_a_killed_run_left_is_removed(
    stack_file: bool, kept_until: str, codes: tuple[int, ...], code: int, calls: int, tmp_path: Path
) -> None:
    for part in ("ci", "stacks", "artifacts", ".venv/bin"):
        (tmp_path / part).mkdir(parents=True)
    script = tmp_path / "ci" / "remove.sh"
    script.write_bytes((REPOSITORY / "ci" / "remove.sh").read_bytes())
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
