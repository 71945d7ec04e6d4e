"""Names of stacks that do not exist."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Run = Callable[..., Result]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("smal", "did you mean small?"),
        ("stacks/Pulumi.small.yaml", "did you mean small? Stacks here"),
        ("Pulumi.small.yaml", "did you mean small? Stacks here"),
        ("../x", "made of lower-case letters"),
        ("Small", "made of lower-case letters"),
        ("other", "there is no stack 'other'. Stacks here: small. To write a new one: mullion new other --cloud aws"),
    ],
)
def test_the_error_about_an_unknown_stack_lists_the_existing_stacks(
    name: str, says: str, clone: Path, mullion: Run
) -> None:
    result = mullion("plan", name)
    assert result.exit_code == 2
    assert says in result.stderr
