"""The CRI endpoint of a user's container runtime: a field or a flag of the kubelet, by minor."""

from typing import Any

import pytest

from components.node import plan_node
from components.spec.report import SpecError
from components.stack_files.stack import CLUSTER, Stack, read_stack

ENDPOINT = "tcp://127.0.0.1:10233"


def stack(kubernetes: str, **pool: Any) -> Stack:
    """Return a stack whose Windows pool has another CRI endpoint in its kubelet options."""
    kubelet = {"config": {"containerRuntimeEndpoint": ENDPOINT}}
    web = {"os": "windows-2019", "count": 1, "kubelet": kubelet, **pool}
    cluster = {"cloud": "aws", "kubernetes": kubernetes, "pools": {"web": web}}
    return read_stack("lab", {"aws:region": "eu-west-1", CLUSTER: cluster})


@pytest.mark.parametrize(("kubernetes", "as_flag"), [("1.23.17", True), ("1.24.17", True), ("1.32.13", False)])
def test_srv_08_the_endpoint_is_a_flag_if_the_minor_has_no_field_for_it(kubernetes: str, as_flag: bool) -> None:
    plan = plan_node("lab", stack(kubernetes).spec, "web")
    by_name = {each.name: each.fields for each in plan.steps}
    words, config = by_name["kubelet"]["command"], by_name["kubelet-config"]["content"]
    assert config.get("containerRuntimeEndpoint") == (None if as_flag else ENDPOINT)
    assert [words[place + 1] for place, each in enumerate(words) if each == "--container-runtime-endpoint"] == (
        [ENDPOINT] if as_flag else []
    )


def test_a_kubelet_with_dockershim_has_no_endpoint_option() -> None:
    with pytest.raises(SpecError, match="containerRuntimeEndpoint"):
        stack("1.23.17", runtime="docker")
