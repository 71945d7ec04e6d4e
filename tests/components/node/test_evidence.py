"""The task that answers `mullion logs`."""

import pytest

from components.machine.bundle import OsFamily, scripts
from components.node.evidence import phase
from components.node.plan import NodePlan, Scope


@pytest.mark.parametrize("made", ["control_plane", "linux", "windows"])
def test_ops_02_it_is_there_before_anything_that_may_fail(made: str, request: pytest.FixtureRequest) -> None:
    plan: NodePlan = request.getfixturevalue(made)
    assert plan.phases[0] == phase(plan.system)
    assert plan.phases[0].scope is Scope.NODE, "an image answers nobody"


@pytest.mark.parametrize(("system", "script"), [("linux", "collect_logs.py"), ("windows", "collect-logs.ps1")])
def test_it_starts_a_script_of_the_current_bundle(system: OsFamily, script: str) -> None:
    assert script in scripts(system)
    (task,) = phase(system).steps
    last = " ".join(task.fields["command"])
    assert script in last
    assert "current" in last, "whichever bundle that is"
