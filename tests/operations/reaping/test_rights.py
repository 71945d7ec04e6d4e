"""The rights of the reaper in docs/ci.md are the calls that the sandbox's management APIs answer."""

import re

import pytest

from operations.stacks.paths import REPOSITORY
from sandbox.services.aws.owner import balancers, compute, identities, secrets

ROWS = dict(re.findall(r"^\| (\w+) \| (`\w+`.*) \|$", (REPOSITORY / "docs" / "ci.md").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize(
    ("service", "actions"),
    [
        ("ec2", {*compute.ACTIONS}),
        ("elasticloadbalancing", {action for _, action in balancers.ACTIONS}),
        ("iam", {*identities.ACTIONS, "DetachRolePolicy"} - {"GetCallerIdentity"}),
        ("secretsmanager", {*secrets.ACTIONS} - {"GetResources"}),
    ],
)
def test_the_page_names_every_action(service: str, actions: set[str]) -> None:
    assert set(re.findall(r"`(\w+)`", ROWS[service])) == actions
