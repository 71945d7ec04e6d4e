"""Options that docs/what-you-bring.md calls refused are refused, because nothing builds them yet."""

import re
from typing import Any

import pytest
import yaml

from components.spec.report import SpecError
from components.stack_files.stack import CLUSTER, read_stack
from tests.components.spec.documents import REGION, changed
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "what-you-bring.md").read_text("utf-8")
REFUSED = re.findall(r"\(`([a-z_]+)(?:: ([^`]+))?` is refused\)", PAGE)


def test_the_page_calls_options_refused() -> None:
    assert REFUSED


@pytest.mark.parametrize(("option", "value"), REFUSED)
def test_an_option_that_the_page_calls_refused_is_refused(option: str, value: str) -> None:
    setting: Any = yaml.safe_load(value) if value else ["ebs"]
    with pytest.raises(SpecError) as refused:
        read_stack("a", {**REGION, CLUSTER: changed({option: setting})})
    assert [problem.path for problem in refused.value.problems if problem.id.startswith("not-built-")] == [option]
