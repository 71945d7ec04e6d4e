"""`up`, `scale`, `kubeconfig` and `down` with the real engine: in the sandbox, and by hand's own way without it.

Each test runs the command in a copy of the clone, so that nothing of this one is touched.
"""

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from operations.engine.locate import Engine
from sandbox import home
from tests import clones

pytestmark = [pytest.mark.sampled, pytest.mark.engine]

POISON = {
    "AWS_SECRET_ACCESS_KEY": "must-not-leak",
    "AWS_ACCESS_KEY_ID": "must-not-leak",
    "AWS_PROFILE": "must-not-leak",
}
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def mullion(tmp_path: Path, engine: Engine) -> Run:
    """The command of a copy of the clone; more environment by keyword."""
    return clones.copied(tmp_path, engine)


@pytest.fixture
def copy(tmp_path: Path, mullion: Run) -> Path:
    """The copy of the clone."""
    return tmp_path


def counted(engine: Engine, folder: Path) -> Path:
    """A program in the engine's place, which writes down how it is started, and is the engine then."""
    program = folder / "counted"
    program.write_text(f'#!/bin/sh\necho "$*" >> "$0.starts"\nexec {shlex.quote(str(engine.path))} "$@"\n')
    program.chmod(0o755)
    return program


def test_a_stack_is_built_kept_scaled_and_removed_in_the_sandbox(copy: Path, mullion: Run, engine: Engine) -> None:
    file = copy / "stacks" / "Pulumi.aws-dev.yaml"
    file.write_text(file.read_text().replace("owner:", "protect: true\n    owner:"))
    before = file.read_bytes()

    up = mullion("up", "aws-dev", "--sandbox", "--yes", **POISON)
    assert up.returncode == 0, up.stderr
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", up.stdout), "plain lines where there is no terminal"
    for word in ("control-plane-0", "web-0", "10.20.", "api.aws-dev.mullion.internal", "Predicted, on real AWS"):
        assert word in up.stdout, word
    assert file.read_bytes() == before, "the user's stack file is untouched"
    kubeconfig = copy / ".mullion" / "aws-dev" / "kubeconfig"
    assert kubeconfig.stat().st_mode & 0o777 == 0o600
    key = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]["client-key-data"]
    assert key not in up.stdout + up.stderr
    leaked = [each for each in copy.rglob("*") if each.is_file() and b"must-not-leak" in each.read_bytes()]
    assert leaked == [], "credentials of the environment are nowhere in the sandbox"

    program = counted(engine, copy)
    again = mullion("up", "aws-dev", "--sandbox", "--yes", MULLION_PULUMI=str(program))
    assert again.stdout.startswith("no changes"), again.stdout
    assert "Predicted" not in again.stdout, "nothing is built a first time"
    starts = Path(f"{program}.starts").read_text().replace("--non-interactive ", "").splitlines()
    asked = [" ".join(each.split()[: 2 if each.startswith("stack") else 1]) for each in starts]
    assert asked == ["version", "stack select", "stack export", "preview", "up", "stack export"], "each costs 0.2 s"

    refused = mullion("up", "aws-dev", "--yes")
    assert refused.returncode == 3, "the stack is built in the sandbox"
    assert "is built in the sandbox" in refused.stderr

    scaled = mullion("scale", "aws-dev", "web", "2", "--sandbox", "--yes")
    assert scaled.returncode == 0, scaled.stderr
    assert "added:    web-1" in scaled.stdout
    lines = [line for line in scaled.stdout.splitlines() if line.startswith("[")]
    assert len([each for each in lines if "created aws-dev-web-1 (aws:ec2/instance:Instance)" in each]) == 1, lines
    others = [each for each in lines if not re.search(r" aws-dev-(web-1|members|members-serial) \(", each)]
    assert others == [], "the list of members besides, and no other machine"
    assert file.read_bytes().count(b"count: 2") == before.count(b"count: 2") + 1

    there = mullion("wait", "aws-dev", "--timeout", "1m")
    assert there.returncode == 0, there.stderr
    assert re.search(r"web-1 +ready +1\.\d+\.\d+", there.stdout), "by its own record"

    written = mullion("kubeconfig", "aws-dev", "-o", "-")
    assert yaml.safe_load(written.stdout)["current-context"] == "aws-dev"
    shown = mullion("outputs", "aws-dev", "--json")
    assert json.loads(shown.stdout)["kubeconfig"] == "[secret]"

    protected = mullion("down", "aws-dev", "--sandbox", "--yes")
    assert protected.returncode == 3, "a protected cluster goes only by its name"
    assert "nothing was changed" in protected.stderr
    down = mullion("down", "aws-dev", "--sandbox", "--confirm", "aws-dev")
    assert down.returncode == 0, down.stderr
    assert "Kept: bucket aws-dev-snapshots" in down.stdout
    left = down.stdout.partition("Left in the sandbox:\n")[2].splitlines()[1:]
    assert f", {len(left)} kept in the cloud in " in down.stdout, "one number, that of the list"
    assert not (copy / ".mullion" / "aws-dev" / "world.json").exists()


def test_a_refusal_of_the_cloud_is_short_and_names_resource_code_and_reason(copy: Path, mullion: Run) -> None:
    file = copy / "stacks" / "Pulumi.aws-ci.yaml"
    file.write_text(
        file.read_text().replace("cloud: aws\n", "cloud: aws\n    images: {windows-2022: ami-00000000000000000}\n")
    )
    up = mullion("up", "aws-ci", "--sandbox")
    assert up.returncode == 1
    assert "aws-ci-windows-0 (aws:ec2/instance:Instance)" in up.stderr
    assert "InvalidAMIID" in up.stderr
    assert "Traceback" not in up.stdout + up.stderr
    assert len([line for line in up.stderr.splitlines() if "waiting for the engine" not in line]) < 8


def test_without_the_sandbox_it_is_the_state_that_pulumi_by_hand_has(copy: Path, mullion: Run) -> None:
    """The account is the sandbox's, reached the way a real one is: by the user's own home and backend."""
    (copy / "state").mkdir()
    file = copy / "stacks" / "Pulumi.aws-ci.yaml"
    file.write_text(file.read_text().replace("203.0.113.0/24", "198.18.0.0/24"))  # `up` refuses ranges of examples
    real = {
        "PULUMI_HOME": str(home.install(copy / "home")),
        "PULUMI_BACKEND_URL": (copy / "state").as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "only for this test",
        "MULLION_SANDBOX_WORLD": str(copy / "world.db"),
        "PATH": "/usr/bin:/bin",
    }
    asked = mullion("up", "aws-ci", **real)
    assert asked.returncode == 3, "there is no terminal to ask on"
    assert "2 machines on aws, account unknown" in asked.stdout
    assert "no credentials for AWS on this machine: run `aws configure sso`" in asked.stderr, "before the question"
    assert "plug-in" not in asked.stderr, "it is installed"
    assert not (copy / "world.db").exists(), "nothing was started"

    assert mullion("up", "aws-ci", "--yes", **real).returncode == 0
    assert json.loads((copy / ".mullion" / "aws-ci" / "world.json").read_text()) == {
        "world": "aws",
        "region": "eu-west-1",
    }
    assert (copy / "state" / ".pulumi" / "stacks" / "mullion" / "aws-ci.json").exists()
    refused = mullion("down", "aws-ci", **real)
    assert refused.returncode == 3
    assert "delete 2 machines" in refused.stdout
    assert mullion("down", "aws-ci", "--yes", **real).returncode == 0
