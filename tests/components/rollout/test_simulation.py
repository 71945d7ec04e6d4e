"""The program's setting that says whether machines of the sandbox are simulated."""

import pulumi
import pytest

from components.rollout import simulation

URL = "https://127.0.0.1:4711"


@pytest.mark.parametrize(
    ("target", "told", "simulated"),
    [("sandbox", None, True), ("sandbox", URL, False), ("cloud", None, False)],
)
def test_machines_are_simulated_only_in_an_unbooted_sandbox(
    target: str, told: str | None, simulated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {simulation.BOOTED: told}
    monkeypatch.setattr(pulumi.Config, "get", lambda self, key: given[self.full_key(key)])
    assert (simulation.is_simulated(target), simulation.api()) == (simulated, told or "")
