"""One run of `mullion verify`: create pods that ask their questions, judge the answers, delete everything."""

import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from components.rollout.kubernetes_api import KubernetesApi
from components.rollout.plain_text import LONGEST, plain
from operations.verification import features, identities, interface, manifests, workloads
from operations.verification.cluster import Cluster, is_ready
from operations.verification.questions import (
    Node,
    Place,
    Question,
    Scene,
    Server,
    Service,
    chosen,
    in_pod,
    on_node,
    places,
)
from operations.verification.verdicts import Row, Verdict, judged

NEVER = (
    ("SMK-08", "NodePort from outside", "no firewall rule opens node ports to the internet"),
    ("SMK-14", "preemption", "it would evict pods of others"),
    ("SMK-15", "[sig-windows] of Kubernetes' own suite", "--upstream names no e2e.test to run"),
)
"""Check, subject and reason of tests that never run."""
NODES = "SMK-02"
"""The check that needs no pods of its own: Nodes Ready, system pods Running."""
PULL = {"linux": 300.0, "windows": 1200.0}
"""Seconds for a system's image to be pulled and its web servers to be Ready: Windows images have gigabytes (SMK-03)."""
ASKING = 420.0
"""Seconds for the pods to ask all their questions: each up to four times."""
WORKING = 120.0
"""Seconds for controllers to reach their end state."""
LEAVING = 120.0
"""Seconds for the namespace to be deleted."""
MOST_DIGITS = 6
"""Digits of a question's number; a log with a longer one is not the probe's."""


@dataclass(frozen=True)
class VerifyRequest:
    """What a run checks.

    expected: names of planned machines. excused: machines that cannot join -> reason. registered: machines whose Node
    need not be Ready -> reason. outside: name:port and address:port beyond the cluster.
    """

    expected: tuple[str, ...]
    excused: Mapping[str, str]
    outside: tuple[str, ...]
    ready_within: float
    """Seconds for Nodes and system pods to be Ready."""
    image: str = manifests.BUSYBOX
    """Image of Linux pods."""
    registered: Mapping[str, str] = field(default_factory=dict[str, str])
    domain: str = "cluster.local"
    """DNS domain of the cluster: `network.domain` of the stack file."""
    overlay: bool = True
    """Whether `network.mode` of the stack file is overlay."""
    credential_specs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Contents of the credential specs of `gmsa`, by name."""
    checks: frozenset[str] = frozenset()
    """Checks whose rows are returned; all if empty."""


def verify(api: KubernetesApi, request: VerifyRequest) -> list[Row]:
    """Return the rows of the chosen checks. Deletes everything it created in the cluster."""
    rows = _all_rows(api, request)
    return [row for row in rows if not request.checks or row.check in request.checks]


def _all_rows(api: KubernetesApi, request: VerifyRequest) -> list[Row]:
    """Return every row; only those about Nodes, without a pod, if no other check is chosen."""
    cluster = Cluster(api, f"mullion-verify-{secrets.token_hex(3)}")
    rows = list(_nodes(cluster, request))
    if request.checks == {NODES}:
        return [*rows, *_registered(cluster, request)]
    nodes = chosen(cluster.nodes())
    cluster.create(manifests.namespace(cluster.namespace))
    try:
        scene, server_rows = _scene(cluster, nodes, request)
        rows += server_rows
        objects = [item for node in _one_each(nodes) for item in workloads.create(cluster, node, request.image)]
        kinds = {(node.os, node.build): node for node in reversed(nodes) if not node.control_plane}.values()
        for node in kinds:
            objects += workloads.probed(cluster, node, request.image, overlay=request.overlay)
        rows += _ask(cluster, scene, request.image)
        rows += interface.rows(cluster, scene)
        rows += identities.rows(cluster, request.credential_specs)
        rows += workloads.judged(cluster, objects, WORKING)
    finally:
        if not cluster.delete_namespace(LEAVING):
            print(
                f"mullion: namespace {cluster.namespace} is still being deleted; kubectl get namespaces",
                file=sys.stderr,
            )
    return [*_registered(cluster, request), *rows, *_not_covered(nodes)]


def _nodes(cluster: Cluster, request: VerifyRequest) -> Iterable[Row]:
    """Yield the rows of SMK-02: the planned Nodes are Ready in time, and the system pods run.

    Without the rows of Nodes that need only register (`_registered`).
    """
    expected = set(request.expected) - set(request.excused) - set(request.registered)
    missing = expected

    def reached() -> bool:
        nonlocal missing
        missing = expected - {node.name for node in cluster.nodes() if node.ready}
        return not missing and not _failing_pods(cluster)

    def what() -> str:
        return f"Nodes {', '.join(sorted(missing))} to be Ready" if missing else "system pods to run"

    cluster.until(reached, request.ready_within, what)
    nodes = {node.name: node for node in cluster.nodes()}
    yield from (
        _node_row(name, nodes.get(name), request) for name in request.expected if name not in request.registered
    )
    failing = _failing_pods(cluster)
    for name, (node_name, phase) in failing.items():
        where = f" on {node_name}" if node_name else ""
        yield Row("SMK-02", "cluster", f"pod {name}{where}", Verdict.FAILED, phase)
    if not failing:
        yield Row("SMK-02", "cluster", "system pods", Verdict.PASSED)


def _registered(cluster: Cluster, request: VerifyRequest) -> list[Row]:
    """Wait for the Nodes that need only register, and return their rows of SMK-02.

    They come last, because such a machine may still boot while the pods on the others run their checks.
    """
    wanted = [name for name in request.expected if name in request.registered]
    nodes: dict[str, Node] = {}

    def reached() -> bool:
        nodes.update({node.name: node for node in cluster.nodes()})
        return nodes.keys() >= set(wanted)

    if wanted:
        cluster.until(
            reached, request.ready_within, lambda: f"Nodes {', '.join(set(wanted) - nodes.keys())} to register"
        )
    return [_node_row(name, nodes.get(name), request) for name in wanted]


def _node_row(name: str, node: Node | None, request: VerifyRequest) -> Row:
    where = f"node {name}"
    if name in request.registered and node is not None and not node.ready:
        return Row("SMK-02", "cluster", where, Verdict.LIMIT, request.registered[name])
    if name in request.excused:
        return Row("SMK-02", "cluster", where, Verdict.NOT_COVERED, request.excused[name])
    if node is None:
        return Row("SMK-02", "cluster", where, Verdict.FAILED, "the cluster has no Node of this name")
    return Row("SMK-02", "cluster", where, *((Verdict.PASSED, "") if node.ready else (Verdict.FAILED, "NotReady")))


def _failing_pods(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """Return node and phase of each system pod that does not run, by namespace/name."""
    pods = cluster.system_pods()
    return {name: (node, phase) for name, node, phase in pods if phase not in ("Running", "Succeeded")}


def _scene(cluster: Cluster, nodes: tuple[Node, ...], request: VerifyRequest) -> tuple[Scene, list[Row]]:
    """Create web servers on the chosen nodes, and Services in front of them (SMK-01, SMK-03)."""
    systems = sorted({node.os for node in nodes})
    for os in systems:
        cluster.create(manifests.service(os))
    for manifest in features.objects(manifests.WEB[systems[0]], request.domain) if systems else ():
        cluster.create(manifest)
    rows: list[Row] = []
    for manifest in manifests.servers(nodes, request.image):
        name, count = manifest["metadata"]["name"], manifest["spec"]["replicas"]
        cluster.create(manifest)
        rows.append(Row("SMK-01", "cluster", f"Deployment {name} with {count} replicas", Verdict.PASSED))
    servers: list[Server] = []
    for os in systems:
        server_rows, ready = _servers(cluster, os, sum(node.os == os for node in nodes))
        rows += server_rows
        servers += ready
    specs = [(os, cluster.service(manifests.WEB[os])["spec"]) for os in systems]
    services = [Service(manifests.WEB[os], os, spec["clusterIP"], spec["ports"][0]["nodePort"]) for os, spec in specs]
    return (
        Scene(
            cluster.namespace,
            nodes,
            tuple(servers),
            tuple(services),
            request.outside,
            cluster.resolvers(),
            request.domain,
            request.overlay,
        ),
        rows,
    )


def _servers(cluster: Cluster, os: str, count: int) -> tuple[list[Row], list[Server]]:
    """Wait for the web servers of a system. Return a row for each, and the Ready ones (SMK-03)."""
    app, rows, servers = manifests.WEB[os], list[Row](), list[Server]()
    what = f"{count} {os} web servers to be Ready: their image is pulled"
    cluster.until(lambda: sum(map(is_ready, cluster.pods(app))) == count, PULL[os], what)
    for pod in cluster.pods(app):
        name, node = pod["metadata"]["name"], pod["spec"].get("nodeName", "")
        if is_ready(pod):
            rows.append(Row("SMK-03", "cluster", f"{os} pod {name}", Verdict.PASSED))
            servers.append(Server(name, os, node, pod["status"]["podIP"]))
        else:
            reason = f"{pod['status'].get('phase')}: {_waiting(pod)}"
            rows.append(Row("SMK-03", "cluster", f"{os} pod {name}", Verdict.FAILED, reason))
    return rows, servers


def _waiting(pod: dict[str, object]) -> str:
    """Return the kubelet's reasons why a pod's containers do not run."""
    status: dict[str, object] = pod.get("status") or {}  # type: ignore[assignment]
    containers = status.get("containerStatuses") or []
    states = [container.get("state", {}) for container in containers]  # type: ignore[attr-defined]
    return "; ".join(str(state["waiting"].get("reason")) for state in states if "waiting" in state) or "not ready"


def asked_at(place: Place, scene: Scene) -> Iterator[Question]:
    """Yield all questions that a place asks."""
    if place.host:
        yield from on_node(place, scene)
    else:
        yield from in_pod(place, scene)
        yield from features.questions(place, scene)


def _ask(cluster: Cluster, scene: Scene, image: str) -> list[Row]:
    """Ask every place its questions, and judge the answers."""
    askers: list[tuple[str, Place, list[Question]]] = []
    for number, place in enumerate(places(scene.nodes)):
        questions = list(asked_at(place, scene))
        image_here = manifests.image_of(place.node, image)
        created = cluster.create(manifests.asker(number, place, questions, image_here, scene.domain))
        askers.append((created["metadata"]["name"], place, questions))

    def ended() -> bool:
        phases = [pod["status"].get("phase") for pod in cluster.pods("ask")]
        return len(phases) == len(askers) and all(phase in ("Succeeded", "Failed") for phase in phases)

    cluster.until(ended, ASKING, f"{len(askers)} pods to ask {sum(len(asker[2]) for asker in askers)} questions")
    rows: list[Row] = []
    for pod, place, questions in askers:
        by_number = answers(cluster.log_so_far(pod, "ask"))
        rows += [judged(place, question, by_number.get(number)) for number, question in enumerate(questions)]
    return rows


def answers(log: str) -> dict[int, tuple[bool, str]]:
    """Return the answers in a log by question number: whether ok, and the text. Other lines are output of programs."""
    by_number: dict[int, tuple[bool, str]] = {}
    for line in log.splitlines():
        number, _, rest = line.partition(" ")
        answer, _, text = rest.partition(" ")
        if number.isdecimal() and len(number) < MOST_DIGITS and answer in ("ok", "no"):
            by_number[int(number)] = (answer == "ok", plain(text[:LONGEST]).strip())
    return by_number


def _one_each(nodes: tuple[Node, ...]) -> list[Node]:
    """Return the first worker of each system; its first node if it has no worker."""
    order = sorted(nodes, key=lambda node: (node.control_plane, node.name))
    return list({node.os: node for node in reversed(order)}.values())


def _not_covered(nodes: tuple[Node, ...]) -> list[Row]:
    """Return a row for each check that this cluster has no node for."""
    systems = [node.os for node in nodes]
    on_docker = [node.name for node in nodes if node.os == "windows" and not node.runtime.startswith("containerd")]
    reasons = {
        "linux": ("SMK-10", "Linux pods", "the cluster has no Ready Linux node"),
        "windows": ("SMK-10", "Windows pods and nodes", "the cluster has no Ready Windows node"),
    }
    rows = [
        Row(check, "cluster", what, Verdict.NOT_COVERED, why)
        for os, (check, what, why) in reasons.items()
        if os not in systems
    ]
    if systems.count("windows") == 1:
        why = "the cluster has only one Windows node"
        rows.append(Row("SMK-05", "cluster", "across Windows nodes", Verdict.NOT_COVERED, why))
    rows += [
        Row("SMK-11", name, "from the node itself", Verdict.NOT_COVERED, "Docker has no HostProcess containers")
        for name in on_docker
    ]
    rows += [Row(check, "cluster", what, Verdict.NOT_COVERED, why) for check, what, why in NEVER]
    return rows
