"""`mullion sandbox quota`: lists and changes the limits of the sandbox's account."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from components.plan import plan_cluster
from components.stack_files.stack import read_stack
from operations.__main__ import app
from operations.commands import account_check
from operations.console.exits import Exit, Stop
from tests.components.recorded_wiring import plan
from tests.operations.commands.test_sandbox_key import clone, write
from tools.golden.cases import without_egress

__all__ = ["clone"]

VCPUS = "Running On-Demand Standard vCPUs"


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["sandbox", "quota", "mine", *words])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_changed_quota_is_listed_and_stops_up(clone: Path) -> None:
    write(clone)
    before = next(line for line in run().splitlines() if line.strip().startswith(VCPUS))
    account_check.refuse_short("mine", plan("aws-prod"), "eu-west-1", sandbox=True, built=False)
    assert run(VCPUS, "4") == f"the account in the sandbox of mine has the quota {VCPUS}: 4\n"
    after = next(line for line in run().splitlines() if line.strip().startswith(VCPUS))
    assert after.split()[-1] == "4" != before.split()[-1]
    with pytest.raises(Stop, match="the account has 4, 0 in use"):
        account_check.refuse_short("mine", plan("aws-prod"), "eu-west-1", sandbox=True, built=False)


def test_a_quota_of_endpoints_stops_up_of_a_cluster_that_has_some(clone: Path) -> None:
    write(clone)
    run("interface endpoints per VPC", "1")
    closed = plan_cluster("mine", read_stack("mine", without_egress("aws")).spec)
    with pytest.raises(Stop, match=r"private endpoints: the cluster takes \d, the account has 1, 0 in use"):
        account_check.refuse_short("mine", closed, "eu-west-1", sandbox=True, built=False)
    account_check.refuse_short("mine", plan("aws-prod"), "eu-west-1", sandbox=True, built=False)


@pytest.mark.parametrize(("words", "said"), [(("VPC", "1"), "VPCs per region"), ((VCPUS,), "write the limit too")])
def test_an_unknown_quota_and_a_missing_limit_are_refused(words: tuple[str, ...], said: str, clone: Path) -> None:
    write(clone)
    result = CliRunner().invoke(app, ["sandbox", "quota", "mine", *words])
    refused = result.exception
    assert said in (f"{refused}" if isinstance(refused, Stop) else result.output)
    assert (refused.code if isinstance(refused, Stop) else result.exit_code) == Exit.USAGE
