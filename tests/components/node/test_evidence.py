"""The task that answers `mullion logs`."""

import pytest

from components.machine.bundle import OsFamily, scripts
from components.node.evidence import phase
from components.node.plan import NodePlan, Scope


@pytest.mark.parametrize("fixture", ["control_plane", "linux", "windows"])
def test_ops_02_the_task_for_logs_is_the_first_step_of_every_plan(fixture: str, request: pytest.FixtureRequest) -> None:
    plan: NodePlan = request.getfixturevalue(fixture)
    assert plan.phases[0] == phase(plan.system)
    assert plan.phases[0].scope is Scope.NODE, "an image answers nobody"


@pytest.mark.parametrize(("system", "script"), [("linux", "collect_logs.py"), ("windows", "collect-logs.ps1")])
def test_the_task_for_logs_runs_a_script_of_the_current_bundle(system: OsFamily, script: str) -> None:
    assert script in scripts(system)
    (task,) = phase(system).steps
    last = " ".join(task.fields["command"])
    assert script in last
    assert "current" in last, "whichever bundle that is"
