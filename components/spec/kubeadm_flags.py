"""Flags that users give to control-plane programs in kubeadm's ClusterConfiguration."""

from collections.abc import Iterator, Mapping
from typing import Any, cast


def flags(component: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Yield path, name and value of every flag; values of another form are left to another check."""
    written = cast(Mapping[str, Any], component).get("extraArgs") if isinstance(component, Mapping) else None
    if isinstance(written, Mapping):
        for name, value in cast(Mapping[str, Any], written).items():
            yield (*path, "extraArgs", name), name, value
    elif isinstance(written, list):
        for index, argument in enumerate(cast(list[Any], written)):
            flag = cast(Mapping[str, Any], argument if isinstance(argument, Mapping) else {})
            if isinstance(flag.get("name"), str):
                yield (*path, "extraArgs", str(index)), flag["name"], flag.get("value")
