"""Fixtures of the node tests: specs and plans."""

from typing import Any

import pytest

from components.node.plan import NodePlan
from tools.golden.samples import plan


@pytest.fixture(scope="session")
def windows() -> NodePlan:
    return plan("windows-2019")


@pytest.fixture(scope="session")
def linux() -> NodePlan:
    return plan("ubuntu-22.04")


@pytest.fixture(scope="session")
def control_plane() -> NodePlan:
    return plan(None)


@pytest.fixture(
    params=[None, "ubuntu-22.04", "windows-2019"], ids=["control-plane", "linux", "windows"], scope="session"
)
def any_plan(request: pytest.FixtureRequest) -> Any:
    return plan(request.param)
