"""Objects made from the examples of rules."""

from collections.abc import Mapping
from typing import Any, cast

import yaml

from components.lint.conditions import items
from components.lint.documents import Manifests, Object
from components.lint.rule import Context, Rule
from components.spec.models import ClusterSpec

POD: dict[str, Any] = {
    "nodeSelector": {"kubernetes.io/os": "windows"},
    "tolerations": [{"key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule"}],
    "containers": [
        {"name": "main", "image": "example.com/app:1", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    ],
}
"""Spec of a pod in which no rule finds an error or warning; examples change it."""

_GROUPS = {
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "StorageClass": "storage.k8s.io/v1",
    "RuntimeClass": "node.k8s.io/v1",
}
_WHOLE = ("kind", "name", "labels", "annotations")


def manifests(text: str) -> Manifests:
    """Return the objects of a rule's example."""
    given = yaml.safe_load(text)
    described: list[Mapping[str, Any]] = items(given) or [given]
    return Manifests(tuple(Object(_object(each)) for each in described))


def context(rule: Rule) -> Context:
    """Return the cluster of a rule's examples."""
    return of_cluster(rule.cluster) if rule.cluster else Context()


def of_cluster(text: str) -> Context:
    """Return the context of a cluster with some options, YAML."""
    options = {"cloud": "aws", "kubernetes": "1.36.4", **yaml.safe_load(text)}
    return Context(ClusterSpec.model_validate(options))


def _object(given: Mapping[str, Any]) -> dict[str, Any]:
    kind = given.get("kind", "Pod")
    metadata = {"name": given.get("name", "example"), "namespace": "default"}
    metadata |= {key: given[key] for key in ("labels", "annotations") if key in given}
    rest = {key: value for key, value in given.items() if key not in _WHOLE}
    head: dict[str, Any] = {"apiVersion": _GROUPS.get(kind, "v1"), "kind": kind, "metadata": metadata}
    if kind == "Pod":
        return head | {"spec": merged(POD, rest)}
    if kind in ("DaemonSet", "Deployment"):
        labels = given.get("labels", {"app": "example"})
        of_workload = {"replicas": rest.pop("replicas")} if "replicas" in rest else {}
        template = {"metadata": {"labels": labels}, "spec": merged(POD, rest)}
        return head | {"spec": {**of_workload, "selector": {"matchLabels": labels}, "template": template}}
    if kind == "Service":
        return head | {"spec": {"ports": [{"port": 80}], **rest}}
    return head | rest


def merged(base: Any, over: Any, key: str = "") -> Any:
    """Return base with the fields of over. null removes a field; containers are merged, other lists replaced."""
    if isinstance(over, dict):
        base, over = cast(dict[str, Any], base or {}), cast(dict[str, Any], over)
        both = {name: merged(base.get(name), over[name], name) if name in over else base[name] for name in base | over}
        return {name: value for name, value in both.items() if value is not None}
    if key == "containers":
        return [merged(dict(enumerate(items(base))).get(index), each) for index, each in enumerate(items(over))]
    return over
