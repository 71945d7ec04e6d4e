"""The TOML that containerd reads back as what was meant."""

from typing import Any

import pytest

from components.node.toml import toml

tomllib = pytest.importorskip("tomllib", reason="tomllib came with Python 3.11")


@pytest.mark.parametrize(
    "document",
    [
        {"version": 3, "root": r"C:\ProgramData\containerd"},
        {"plugins": {"io.containerd.grpc.v1.cri": {"cni": {"bin_dir": "/opt"}, "enable": True}}},
        {"a": {"b": {}}, "empty": [], "list": ["x", 'say "hi"', "\u00fc\U0001f600"], "rate": 0.5},
        {"a b": {"c": 1}, "d": 2},
    ],
)
def test_what_is_written_is_read_back(document: dict[str, Any]) -> None:
    assert tomllib.loads(toml(document)) == document


def test_a_value_that_toml_lacks_is_named() -> None:
    with pytest.raises(TypeError, match=r"containerd\.config: plugins\.x is NoneType"):
        toml({"plugins": {"x": None}})
