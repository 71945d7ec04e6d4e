"""Rules about Services of Windows pods, judged by the pods in the same manifests."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from components.lint.conditions import Place, read
from components.lint.documents import Manifests, Object, text
from components.lint.rule import NETWORK_PAGE, Context, Find, Level, Rule, Scope
from components.lint.targets import windows_workloads
from components.spec.choices import CloudController

NOT_IN_POLICIES = "a policy sees one object, not the pods of a Service"
BACKENDS = 64
"""Most backend pods of one Service (documentation of Windows nodes in Kubernetes 1.20; later 1024)."""
TIMEOUT = 10800
"""Seconds, which the API server fills in for timeoutSeconds."""
_POD = "{kind: Pod, labels: {app: web}}"
_SERVICE = "{kind: Service, selector: {app: web}"


def backends(service: Object, manifests: Manifests) -> list[Object]:
    """Return the Windows workloads in the manifests whose pods a Service selects."""
    return manifests.once(_backends_by_service).get(id(service), [])


def _backends_by_service(manifests: Manifests) -> dict[int, list[Object]]:
    """Return the Windows workloads behind each Service, by the id of the Service's object."""
    workloads = manifests.once(_workloads_by_label)
    found: dict[int, list[Object]] = {}
    for service in manifests.of("Service"):
        selector = _texts(read(service.data, "spec.selector"))
        rows = [workloads.get((service.namespace, *pair), []) for pair in selector.items()]
        if rows:
            found[id(service)] = [each for each in min(rows, key=len) if selector.items() <= each.labels.items()]
    return found


def _workloads_by_label(manifests: Manifests) -> dict[tuple[str, str, str], list[Object]]:
    """Return the Windows workloads by namespace, key and value of a label of their pods."""
    found: dict[tuple[str, str, str], list[Object]] = {}
    for workload in manifests.once(windows_workloads):
        for pair in _texts(workload.labels).items():
            found.setdefault((workload.namespace, *pair), []).append(workload)
    return found


def _texts(value: Any) -> dict[str, str]:
    """Return labels or a selector; empty if it is no map, or if a value is no text, which the API server refuses."""
    pairs = {**cast(Mapping[str, Any], value)} if isinstance(value, Mapping) else dict[str, Any]()
    return pairs if all(isinstance(each, str) for each in pairs.values()) else {}


def _serves_windows(find: Find) -> Find:
    def only(service: Object, manifests: Manifests, context: Context) -> Iterator[Place]:
        return find(service, manifests, context) if backends(service, manifests) else iter(())

    return only


@_serves_windows
def _affinity(service: Object, _manifests: Manifests, context: Context) -> Iterator[Place]:
    old = context.spec is None or any(each.os == "windows-2019" for each in context.windows)
    if old and read(service.data, "spec.sessionAffinity") == "ClientIP":
        yield ("spec", "sessionAffinity")


@_serves_windows
def _timeout(service: Object, _manifests: Manifests, _context: Context) -> Iterator[Place]:
    if read(service.data, "spec.sessionAffinityConfig.clientIP.timeoutSeconds") not in (None, TIMEOUT):
        yield ("spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds")


@_serves_windows
def _destination(service: Object, _manifests: Manifests, context: Context) -> Iterator[Place]:
    old = any(each.os == "windows-2019" for each in context.windows)
    annotation = read(service.data, "metadata.annotations[preserve-destination]")
    if context.spec and annotation == "true" and (old or not context.direct_return):
        yield ("metadata", "annotations", "preserve-destination")


@_serves_windows
def _local(service: Object, _manifests: Manifests, context: Context) -> Iterator[Place]:
    if context.spec and not context.direct_return and read(service.data, "spec.externalTrafficPolicy") == "Local":
        yield ("spec", "externalTrafficPolicy")


def _backends(service: Object, manifests: Manifests, _context: Context) -> Iterator[Place]:
    if sum(_most_pods(each, manifests) for each in backends(service, manifests)) > BACKENDS:
        yield ("spec", "selector")


def _most_pods(workload: Object, manifests: Manifests) -> int:
    """Return how many pods a workload can have: its replicas, or the maximum of its HorizontalPodAutoscaler."""
    own = read(workload.data, "spec.replicas")
    scaled = manifests.once(_most_by_autoscaler).get((workload.namespace, workload.kind, workload.name), 1)
    return max(own, scaled) if isinstance(own, int) else scaled


def _most_by_autoscaler(manifests: Manifests) -> dict[tuple[str, str, str], int]:
    """Return the maximum of the HorizontalPodAutoscalers for a workload, by its namespace, kind and name."""
    found: dict[tuple[str, str, str], int] = {}
    for scaler in manifests.of("HorizontalPodAutoscaler"):
        kind, name = (text(scaler.data, f"spec.scaleTargetRef.{key}") for key in ("kind", "name"))
        most = read(scaler.data, "spec.maxReplicas")
        if isinstance(most, int):
            key = (scaler.namespace, kind, name)
            found[key] = max(most, found.get(key, 1))
    return found


@_serves_windows
def _families(service: Object, _manifests: Manifests, _context: Context) -> Iterator[Place]:
    if read(service.data, "spec.ipFamilyPolicy") in ("PreferDualStack", "RequireDualStack"):
        yield ("spec", "ipFamilyPolicy")


@_serves_windows
def _balancer(service: Object, _manifests: Manifests, context: Context) -> Iterator[Place]:
    without = context.spec is not None and context.spec.cloud_controller is CloudController.NONE
    if without and read(service.data, "spec.type") == "LoadBalancer":
        yield ("spec", "type")


def _rule(
    name: str,
    requirements: str,
    texts: tuple[str, str, str],
    examples: tuple[str, str],
    find: Find,
    cluster: str = "",
    pods: tuple[str, str] = (_POD, _POD),
) -> Rule:
    """Return a rule about Services.

    texts: what, why, fix. examples: fields of a Service that are accepted and refused. pods: the pods behind each.
    """
    what, why, fix = texts
    accepted, refused = (f"[{pod}, {_SERVICE}, {each}}}]" for pod, each in zip(pods, examples, strict=True))
    return Rule(
        name,
        requirements,
        Level.WARNING,
        what,
        why,
        fix,
        NETWORK_PAGE,
        accepted,
        refused,
        scope=Scope.OBJECTS,
        find=find,
        kinds=("Service",),
        judge=NOT_IN_POLICIES,
        cluster=cluster,
    )


_OLD = "{pools: {web: {os: windows-2019}}}"
_NO_DSR = "{pools: {web: {os: windows-2022, kube_proxy: {dsr: false}}}}"

RULES = (
    _rule(
        "session-affinity",
        "SVC-02",
        (
            "sessionAffinity ClientIP does not work on Windows Server 2019",
            "It needs Windows build 19551 or newer, so Windows Server 2022.",
            "use pools with windows-2022, or keep sessions in a store that all pods share",
        ),
        ("sessionAffinity: None", "sessionAffinity: ClientIP"),
        _affinity,
    ),
    _rule(
        "session-timeout",
        "SVC-02",
        (
            "the timeout of session affinity has no effect on Windows",
            "kube-proxy on Windows does not set timeoutSeconds.",
            "remove sessionAffinityConfig",
        ),
        ("sessionAffinity: None", "sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}"),
        _timeout,
    ),
    _rule(
        "preserve-destination",
        "SVC-04",
        (
            "the annotation preserve-destination has no effect here",
            "It needs Windows Server 2022 or newer, and direct server return.",
            "remove it, or use pools with windows-2022 and kube_proxy.dsr",
        ),
        ("annotations: {preserve-destination: 'false'}", "annotations: {preserve-destination: 'true'}"),
        _destination,
        cluster=_OLD,
    ),
    _rule(
        "local-traffic",
        "SVC-05",
        (
            "externalTrafficPolicy Local needs direct server return on Windows",
            "Without it the node replaces the client's address, and the load balancer's probes reach wrong nodes.",
            "set kube_proxy.dsr: true in the Windows pools, or write Cluster",
        ),
        ("externalTrafficPolicy: Cluster", "externalTrafficPolicy: Local"),
        _local,
        cluster=_NO_DSR,
    ),
    _rule(
        "many-backends",
        "SVC-06",
        (
            "the Service can have more than 64 Windows pods behind it",
            "Older Windows builds balance at most 64 destinations of one Service.",
            "use several Services, or fewer and larger pods",
        ),
        ("type: ClusterIP", "type: ClusterIP"),
        _backends,
        pods=(
            "{kind: Deployment, labels: {app: web}, replicas: 64}",
            "{kind: Deployment, labels: {app: web}, replicas: 65}",
        ),
    ),
    _rule(
        "dual-stack-service",
        "SVC-09",
        (
            "Services of Windows pods have one address family",
            "Windows pods and nodes can have two address families; kube-proxy on Windows serves a Service in one.",
            "write ipFamilyPolicy: SingleStack",
        ),
        ("ipFamilyPolicy: SingleStack", "ipFamilyPolicy: PreferDualStack"),
        _families,
    ),
    _rule(
        "load-balancer",
        "SVC-01",
        (
            "the cluster has no cloud controller, so a Service of type LoadBalancer gets no address",
            "The Service keeps waiting for an external address.",
            "use type NodePort, or install a load balancer controller yourself",
        ),
        ("type: NodePort", "type: LoadBalancer"),
        _balancer,
        cluster="{pools: {web: {os: windows-2022}}}",
    ),
)
