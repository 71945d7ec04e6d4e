"""Checks of gMSA (SEC-03): the API server refuses pods whose service account may not use a credential spec.

They are dry runs: no pod starts. Whether a pod's gMSA signs in needs a domain, which no check here sees.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from components.rollout.kubernetes_api import Refused
from operations.verification.cluster import Cluster
from operations.verification.verdicts import Row, Verdict

CHECK = "SEC-03"
_FORBIDDEN, _MISSING, _INVALID = 403, 404, 422
_SAID = "mullion-gmsa"
"""Beginning of the names of our policies, which their refusals contain."""
_SECONDS = 30.0
"""Seconds in which a new namespace gets its account `default`. Pods without one are refused with 403 too."""


def rows(cluster: Cluster, contents: Mapping[str, str]) -> Iterator[Row]:
    """Yield a row for each credential spec, and one for changed contents.

    contents: the JSON of each credential spec, by name. The run's namespace is new, so its accounts have no right.
    """
    if contents:
        cluster.until(lambda: _has_account(cluster), _SECONDS, "the namespace's default account")
    else:
        yield Row(CHECK, "cluster", "gMSA", Verdict.NOT_COVERED, "the stack file has no gmsa.credential_specs")
    for name, text in sorted(contents.items()):
        yield _row(cluster, f"gMSA {name} without the right", _FORBIDDEN, _pod(name, text))
    for name in sorted(contents)[:1]:
        yield _row(cluster, f"gMSA {name} with other contents", _INVALID, _pod(name, "{}"))


def _has_account(cluster: Cluster) -> bool:
    """Return whether the namespace has its default account."""
    try:
        cluster.get(cluster.within("serviceaccounts/default"))
    except Refused as refused:
        if refused.status != _MISSING:
            raise
        return False
    return True


def _row(cluster: Cluster, what: str, status: int, pod: dict[str, Any]) -> Row:
    try:
        cluster.try_out(pod)
    except Refused as refused:
        right = refused.status == status and _SAID in str(refused)
        verdict = Verdict.PASSED if right else Verdict.FAILED
        return Row(CHECK, "cluster", what, verdict, "refused" if right else str(refused))
    return Row(CHECK, "cluster", what, Verdict.FAILED, "the API server accepts the pod")


def _pod(name: str, contents: str) -> dict[str, Any]:
    options = {"gmsaCredentialSpecName": name, "gmsaCredentialSpec": contents}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "gmsa"},
        "spec": {
            "os": {"name": "windows"},
            "nodeSelector": {"kubernetes.io/os": "windows"},
            "securityContext": {"windowsOptions": options},
            "containers": [{"name": "gmsa", "image": "mcr.microsoft.com/windows/nanoserver:ltsc2022"}],
        },
    }
