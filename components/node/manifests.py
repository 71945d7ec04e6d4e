"""Files of Kubernetes manifests in cloud-init/addons."""

import copy
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import yaml

Manifest = dict[str, Any]

_FOLDER = Path(__file__).parents[2] / "cloud-init" / "addons"


def manifests_of(file: str) -> list[Manifest]:
    """Return the manifests of a file, for the caller to change."""
    return copy.deepcopy(read(file))


@lru_cache
def read(file: str) -> list[Manifest]:
    """Return the manifests of a file; do not change them, because later callers get the same objects."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return list(yaml.load_all((_FOLDER / file).read_text(encoding="ascii"), Loader=loader))


def pod_of(manifest: Manifest) -> dict[str, Any]:
    """Return the pod's spec in a workload's manifest; empty for other objects."""
    return manifest.get("spec", {}).get("template", {}).get("spec", {})


def filled(manifests: list[Manifest], texts: Mapping[str, str]) -> list[Manifest]:
    """Return manifests with other texts: each key of `texts` is replaced in all strings. Ports become numbers."""
    return [cast(Manifest, _filled(each, texts)) for each in manifests]


def _filled(value: object, texts: Mapping[str, str]) -> object:
    if isinstance(value, dict):
        return {key: _filled(each, texts) for key, each in cast(Manifest, value).items()}
    if isinstance(value, list):
        return [_filled(each, texts) for each in cast(list[object], value)]
    if not isinstance(value, str):
        return value
    text = value
    for key, other in texts.items():
        text = text.replace(key, other)
    return int(text) if text != value and text.isdecimal() else text
