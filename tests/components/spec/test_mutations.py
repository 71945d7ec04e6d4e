"""Reading any document returns a stack or reports problems with id, path and fix; it never raises another error."""

import string
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.checks import CHECKS
from components.spec.form import ROWS
from components.spec.models import ClusterSpec
from tests.components.spec.documents import GOOD, Only, both, changed, kubelet, linux, net, problems

FULL = changed(
    both(
        net(zones=3, outside=["192.168.0.0/24"], neighbour_pods=["10.128.0.0/16"], dns="10.96.0.10"),
        kubelet(system_reserved={"cpu": "800m", "memory": "3Gi"}, eviction_hard={"nodefs.available": "10%"}),
        linux(labels={"team": "a"}, taints=["a=b:NoSchedule"], rollout={"max_unavailable": 1}),
        {
            "api": {"access": "public", "allow": ["203.0.113.0/24"]},
            "kubeadm": {"config": {"ClusterConfiguration": {"apiServer": {}}}},
            "images": {"windows-2022": "ami-01234567"},
            "tags": {"a": "b"},
            "acknowledge": {"no-linux-worker": "x"},
            "rotation": {"administrator": 1},
        },
    )
)
IDS = {row.id for row in (*CHECKS, *ROWS)}
KEYS = sorted({*ClusterSpec.model_fields, "os", "count", "secure", "config", "mode", "memory", "é", "{x}"})

words = st.one_of(
    st.sampled_from(KEYS),
    st.text(string.printable, max_size=12),
    st.sampled_from(["10.0.0.0/8", "0.0.0.0/0", "::/0", "1.37.0", "9.9.9", "windows-2019", "1Ei", "-1", "{0}", "%s"]),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), words, st.dates(), st.binary(max_size=4)
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(words, st.integers(), st.none()), inner, max_size=3)
    ),
    max_leaves=5,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inside for place in _places(each, (*path, key)))]


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    document = deepcopy(draw(st.sampled_from([GOOD, FULL])))
    for _ in range(draw(st.integers(1, 4))):
        place: tuple[Any, ...] = draw(st.sampled_from(_places(document)[1:] or [()]))
        if not place:
            return document
        *above, last = place
        parent = document
        for key in above:
            parent = parent[key]
        action = draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "remove":
            del parent[last]
        elif action == "add" and isinstance(parent, dict):
            parent[draw(words)] = draw(values)
        else:
            parent[last] = draw(values)
    return document


@pytest.mark.timeout(60)  # an object that lacked a required option was read without end
@pytest.mark.parametrize("name", ClusterSpec.model_fields)
def test_an_empty_object_at_any_option_is_read_or_refused(name: str) -> None:
    for problem in problems(changed({name: Only({})})):
        assert problem.path.partition(".")[0] in ("aws:region", *ClusterSpec.model_fields), problem


@settings(max_examples=150, deadline=None)
@given(document=mutated())
def test_a_mutated_document_is_read_or_refused_with_id_path_and_fix(document: Any) -> None:
    for problem in problems(document):
        assert problem.id in IDS
        assert all((problem.path, problem.wrong, problem.fix)), problem
        assert str(problem)


@settings(max_examples=80, deadline=None)
@given(document=values)
def test_any_value_is_read_or_refused_with_a_message(document: Any) -> None:
    assert all(str(each) for each in problems(document))
