"""docs/stack-file.md has a row with an example and an effect for every option of the schema."""

import pytest

from components.spec.models import ClusterSpec
from components.spec.report import SpecError
from tools import stack_file_page as page
from tools.stack_file_examples import EFFECTS, EXAMPLES, MACHINES, WITH

OPTIONS = {option.path: option for option in page.options()}


def test_tables_of_examples_and_effects_name_only_options_that_exist() -> None:
    shared = {f"{place}.{path}" for place in ("control_plane", "pools.NAME") for path in MACHINES}
    assert {*EXAMPLES, *shared} == OPTIONS.keys()
    assert {*EFFECTS, *WITH, *page.DERIVED} <= OPTIONS.keys()


def test_every_member_of_the_spec_is_on_the_page() -> None:
    first = {path.replace("[]", "").split(".")[0] for path in OPTIONS}
    assert first == ClusterSpec.model_fields.keys()


@pytest.mark.parametrize(
    ("path", "effect"),
    [
        ("kubernetes", "control plane in place, then workers replaced"),
        ("network.nodes", "refused on a built cluster"),
        ("pools.NAME.labels", "in place"),
        ("pools.NAME.taints", "in place"),
        ("pools.NAME.kubelet.system_reserved.memory", "pool replaced"),
        ("control_plane.kubelet.verbosity", "control plane in place"),
        ("artifacts.mirror", "control plane in place, new machines only"),
        ("csi", "refused: not built (`not-built-csi`)"),
    ],
)
def test_effect_of_a_change_is_that_of_the_plans(path: str, effect: str) -> None:
    assert page.effect(OPTIONS[path]) == effect


def test_example_that_a_check_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXAMPLES, "network.vni", 1)
    with pytest.raises(SpecError):
        page.effect(OPTIONS["network.vni"])
