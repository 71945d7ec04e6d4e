"""TOML text is read back as the document it was written from."""

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
def test_toml_is_read_back_as_the_same_document(document: dict[str, Any]) -> None:
    assert tomllib.loads(toml(document)) == document


def test_toml_names_the_path_of_a_value_it_cannot_express() -> None:
    with pytest.raises(TypeError, match=r"containerd\.config: plugins\.x is NoneType"):
        toml({"plugins": {"x": None}})
