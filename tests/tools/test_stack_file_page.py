"""docs/stack-file.md has a row with an example and an effect for every option of the schema."""

import pytest

from components.spec.models import ClusterSpec
from tools import stack_file_page as page

OPTIONS = {option.path: option for option in page.options()}


def test_every_top_level_option_is_on_the_page() -> None:
    first = {path.replace("[]", "").split(".")[0] for path in OPTIONS}
    assert first == ClusterSpec.model_fields.keys()


def test_every_default_described_in_words_belongs_to_an_option() -> None:
    assert OPTIONS.keys() >= page.DERIVED.keys()


@pytest.mark.parametrize("path", OPTIONS)
def test_every_option_has_an_example_and_an_effect(path: str) -> None:
    assert OPTIONS[path].example is not None
    assert page.effect(OPTIONS[path])
