"""All questions of `mullion upgrade --check` in order. Nothing in the cluster is changed."""

from collections.abc import Callable, Iterator

from components.rollout.kubernetes_api import Refused
from operations.verification.upgrading import budgets, deprecated, machines, webhooks
from operations.verification.upgrading.findings import Api, Finding

NAMES = ("deprecated-apis", "budgets", "webhooks", "machines", "etcd", "nodes", "disk", "skew")
"""Names of the questions; `machines` if the API refuses the lists that all questions about Nodes need."""


def ask(api: Api, wanted: str) -> list[Finding]:
    """Return the findings, those that stop the upgrade first. wanted: the new version. Raises Unreachable.

    A question that the API refuses becomes a finding that stops, because its answer is unknown.
    """
    questions: dict[str, Callable[[], Iterator[Finding]]] = {
        "deprecated-apis": lambda: deprecated.findings(api, wanted),
        "budgets": lambda: budgets.findings(api),
        "webhooks": lambda: webhooks.findings(api),
        "machines": lambda: machines.findings(api, wanted),
    }
    found = list[Finding]()
    for about, question in questions.items():
        try:
            found += question()
        except Refused as error:
            found.append(Finding(about, "the Kubernetes API", f"it refused the question: {error}", "repair it first"))
    return sorted(found, key=lambda each: not each.stops)
