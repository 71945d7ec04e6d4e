"""What the questions of `mullion upgrade --check` have in common: findings, lists of objects, label selectors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from components.rollout.kubernetes_api import Refused, objects


class Api(Protocol):
    """The calls that the questions need (KubernetesApi). Both raise Unreachable, or Refused with the API's message."""

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the document at a path."""
        ...

    def text(self, path: str) -> str:
        """Return the text at a path."""
        ...


@dataclass(frozen=True)
class Finding:
    """One reason not to upgrade yet. stops: the upgrade would fail or break something; else it may."""

    about: str
    """What was asked: a name of check.NAMES."""
    subject: str
    """Object, such as PodDisruptionBudget default/web."""
    says: str
    fix: str
    stops: bool = True


def listed(api: Api, *paths: str) -> list[dict[str, Any]]:
    """Return the items of the first path that the API serves: older versions of Kubernetes lack newer API versions."""
    for path in paths[:-1]:
        try:
            return objects(api, path)
        except Refused as error:
            if error.status != 404:
                raise
    return objects(api, paths[-1])


def full_name(item: Mapping[str, Any]) -> str:
    """Return namespace/name of an object, or its name if it has no namespace."""
    metadata = item["metadata"]
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))


def matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Return whether labels match a LabelSelector; an empty one matches all, none matches nothing.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
    """
    if selector is None:
        return False
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(each, labels) for each in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    return {
        "In": key in labels and labels[key] in values,
        "NotIn": key not in labels or labels[key] not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }[expression["operator"]]
