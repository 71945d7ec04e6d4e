"""What can be planned but not built: a download that nobody published a digest of."""

from typing import Any, NoReturn

import pytest

from components.spec.report import SpecError
from components.stack_files.stack import CLUSTER, read_stack
from operations.commands import up_and_down
from operations.engine import locate
from operations.recorder.recorder import record
from operations.stacks import stack_files
from tests.components.spec.documents import changed

CONFIG: dict[str, Any] = {
    "aws:region": "eu-west-1",
    CLUSTER: changed({"kubernetes": "1.37.1", "acknowledge": {"download-without-digest": "checked by hand"}}),
}


def test_up_refuses_before_it_looks_for_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> NoReturn:
        raise AssertionError("an engine was looked for")

    monkeypatch.setattr(stack_files, "load", lambda name: read_stack(name, CONFIG))
    monkeypatch.setattr(locate, "find", found)
    with pytest.raises(SpecError, match=r"mullion pin kubernetes-node 1\.37\.1"):
        up_and_down.up("aws-dev", sandbox=True, yes=True)


def test_the_program_itself_previews_and_refuses_to_update() -> None:
    """Also for those who run the engine by hand, or use the component from another language."""
    assert record("aws-dev", CONFIG, preview=True).errors == []
    [refusal] = record("aws-dev", CONFIG).errors
    assert "run: mullion pin kubernetes-node 1.37.1" in refusal
