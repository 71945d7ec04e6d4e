"""Admission webhooks with failurePolicy Fail that no program answers, or that would refuse their own restart."""

from collections.abc import Iterator, Mapping
from typing import Any

from operations.verification.upgrading.findings import Api, Finding, full_name, listed, matches

REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1"
KINDS = {
    "ValidatingWebhookConfiguration": f"{REGISTRATIONS}/validatingwebhookconfigurations",
    "MutatingWebhookConfiguration": f"{REGISTRATIONS}/mutatingwebhookconfigurations",
}
SLICES = ("/apis/discovery.k8s.io/v1/endpointslices", "/apis/discovery.k8s.io/v1beta1/endpointslices")
SERVICE = "kubernetes.io/service-name"
"""Label of an EndpointSlice with the name of its Service."""
SYSTEM = "kube-system"
VITAL = {"pods": SYSTEM, "leases": "kube-node-lease", "nodes": ""}
"""What static pods and kubelets write all the time, with its namespace."""
WRITTEN = {"pods": ("", "CREATE"), "leases": ("coordination.k8s.io", "UPDATE"), "nodes": ("", "UPDATE")}
"""API group and operation of these."""
NAMESPACES = "/api/v1/namespaces"

Webhook = Mapping[str, Any]
Endpoints = Mapping[tuple[str, str], list[str]]
"""Nodes of the ready endpoints (empty if unknown), by namespace and name of the Service."""


def findings(api: Api) -> Iterator[Finding]:
    """Yield a finding for each webhook that refuses writes now, or would as soon as its pod is evicted."""
    found = [(kind, each) for kind, path in KINDS.items() for each in listed(api, path)]
    ready = _ready(listed(api, *SLICES))
    labels = {each["metadata"]["name"]: each["metadata"].get("labels") or {} for each in listed(api, NAMESPACES)}
    for kind, configuration in found:
        for webhook in configuration.get("webhooks") or ():
            if webhook.get("failurePolicy", "Fail") == "Fail":
                yield from _judged(f"{kind} {full_name(configuration)}, {webhook['name']}", webhook, ready, labels)


def _judged(
    subject: str, webhook: Webhook, ready: Endpoints, labels: Mapping[str, Mapping[str, str]]
) -> Iterator[Finding]:
    service: Mapping[str, str] | None = webhook["clientConfig"].get("service")
    where = (service["namespace"], service["name"]) if service else ("", "")
    nodes = ready.get(where, [])
    if service and not nodes:
        says = f"Service {'/'.join(where)} has no ready endpoint, so the API refuses what it matches: {_scope(webhook)}"
        yield Finding("webhooks", subject, says, "repair its program, delete the webhook, or set failurePolicy: Ignore")
        return
    exact = not webhook.get("objectSelector") and not webhook.get("matchConditions")
    if service and len(set(nodes)) == 1 and _admits(webhook, "pods", labels.get(where[0], {})):
        says = f"its pods run only on node {nodes[0] or 'unknown'}, and it must admit their successors after a drain"
        fix = f"exclude namespace {where[0]} by namespaceSelector, or run it on two nodes"
        yield Finding("webhooks", subject, says, fix, stops=exact)
    elif vital := [each for each, namespace in VITAL.items() if _admits(webhook, each, labels.get(namespace, {}))]:
        says = f"the cluster itself needs it to answer, for {', '.join(vital)}"
        fix = f"exclude {SYSTEM} and kube-node-lease by namespaceSelector, and nodes by its rules"
        yield Finding("webhooks", subject, says, fix, stops=False)


def _admits(webhook: Webhook, resource: str, labels: Mapping[str, str]) -> bool:
    """Return whether it has to admit what is written of a resource in a namespace with these labels.

    `*` is every group, resource or operation. namespaceSelector does not matter for objects without a namespace.
    """
    group, operation = WRITTEN[resource]
    caught = any(
        {group, "*"} & {*rule.get("apiGroups", ())}
        and {resource, "*", "*/*"} & {*rule.get("resources", ())}
        and {operation, "*"} & {*rule.get("operations", ())}
        for rule in webhook.get("rules") or ()
    )
    return caught and (resource == "nodes" or matches(webhook.get("namespaceSelector") or {}, labels))


def _scope(webhook: Webhook) -> str:
    """Return operations and resources of its rules."""
    return "; ".join(
        f"{','.join(rule.get('operations', ()))} of {','.join(rule.get('resources', ()))}"
        for rule in webhook.get("rules") or ()
    )


def _ready(slices: list[dict[str, Any]]) -> Endpoints:
    """Return the ready endpoints. No value of `ready` means that the endpoint is ready (API of EndpointSlice)."""
    found = dict[tuple[str, str], list[str]]()
    for each in slices:
        name = (each["metadata"].get("labels") or {}).get(SERVICE, "")
        for endpoint in each.get("endpoints") or ():
            if (endpoint.get("conditions") or {}).get("ready") is not False:
                found.setdefault((each["metadata"]["namespace"], name), []).append(endpoint.get("nodeName") or "")
    return found
