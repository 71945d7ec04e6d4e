"""PodDisruptionBudgets that forbid the eviction of their pods for ever, so that no drain of a worker ends."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from operations.verification.upgrading.findings import Api, Finding, full_name, listed, matches

BUDGETS = ("/apis/policy/v1/poddisruptionbudgets", "/apis/policy/v1beta1/poddisruptionbudgets")
DONE = ("Succeeded", "Failed")


def findings(api: Api) -> Iterator[Finding]:
    """Yield a finding for each budget that allows no eviction, by the figures of Kubernetes' own controller."""
    budgets, pods = listed(api, *BUDGETS), listed(api, "/api/v1/pods")
    for budget in budgets:
        status: Mapping[str, Any] = budget.get("status") or {}
        expected, healthy = status.get("expectedPods", 0), status.get("currentHealthy", 0)
        desired, subject = status.get("desiredHealthy", 0), f"PodDisruptionBudget {full_name(budget)}"
        if reason := _not_computed(status):
            yield Finding("budgets", subject, f"Kubernetes cannot compute it: {reason}", "correct its selector or pods")
        elif status.get("disruptionsAllowed"):
            continue
        elif not expected:
            if chosen := [pod for pod in pods if _selects(budget, pod)]:
                says = f"Kubernetes counts none of its {len(chosen)} pods, which no controller owns, so no drain ends"
                yield Finding("budgets", subject, says, "give minAvailable as a number of pods, not as a percentage")
        elif desired >= expected:
            says = f"it needs {desired} of its {expected} pods, so none can ever be evicted and no drain ends"
            yield Finding("budgets", subject, says, "lower minAvailable, raise maxUnavailable, or add a replica")
        else:
            says = f"{healthy} of its {expected} pods are healthy and it needs {desired}: no eviction is allowed now"
            yield Finding("budgets", subject, says, "wait until its pods are healthy, or repair them")
    yield from _shared(budgets, pods)


def _not_computed(status: Mapping[str, Any]) -> str:
    """Return the controller's error; empty if it has none."""
    conditions: list[dict[str, str]] = status.get("conditions") or []
    failed = [each for each in conditions if each["type"] == "DisruptionAllowed" and each["reason"] == "SyncFailed"]
    return failed[0].get("message", "SyncFailed") if failed else ""


def _shared(budgets: list[dict[str, Any]], pods: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield a finding for each two budgets that select one pod: the API then refuses each eviction of it."""
    for one, other in combinations(budgets, 2):
        if one["metadata"]["namespace"] != other["metadata"]["namespace"]:
            continue
        both = [pod for pod in pods if _selects(one, pod) and _selects(other, pod)]
        if both:
            says = (
                f"{full_name(other)} selects its pod {full_name(both[0])} too: the API evicts no pod with two budgets"
            )
            fix = "give the two budgets selectors without a common pod"
            yield Finding("budgets", f"PodDisruptionBudget {full_name(one)}", says, fix)


def _selects(budget: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    metadata, status = pod["metadata"], pod.get("status") or {}
    if metadata["namespace"] != budget["metadata"]["namespace"] or status.get("phase") in DONE:
        return False
    return matches(budget["spec"].get("selector"), metadata.get("labels") or {})
