"""One run of `mullion verify`: put pods there, let them ask, judge, clean up."""

import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from components.rollout.kubernetes_api import KubernetesApi
from operations.verification import features, interface, manifests, workloads
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
    ("SMK-08", "NodePort from outside", "no node port is open to the internet"),
    ("SMK-14", "preemption", "it would evict pods of others"),
    ("SMK-15", "[sig-windows] of Kubernetes' own suite", "--upstream names no e2e.test to run"),
)
"""What is not asked of any cluster."""
PULL = {"linux": 300.0, "windows": 1200.0}
"""Seconds for a system's image to come and its servers to be ready: Windows' has gigabytes (SMK-03)."""
ASKING = 420.0
"""Seconds for the pods to ask all that they have, with every question asked four times at worst."""
WORKING = 120.0
"""Seconds for controllers: a CronJob's first comes with the next minute."""
LEAVING = 120.0


@dataclass(frozen=True)
class Wanted:
    """What a run looks at.

    expected: names of planned machines. excused: those that cannot be there, and why. registered: those whose Node need
    not be Ready, and why.
    """

    expected: tuple[str, ...]
    excused: Mapping[str, str]
    outside: tuple[str, ...]
    ready_within: float
    image: str = manifests.BUSYBOX
    """Of Linux pods."""
    registered: Mapping[str, str] = field(default_factory=dict[str, str])


def verify(api: KubernetesApi, wanted: Wanted) -> list[Row]:
    """Every row. What was put into the cluster is gone when this returns."""
    cluster = Cluster(api, f"mullion-verify-{secrets.token_hex(3)}")
    rows = list(_nodes(cluster, wanted))
    taking_part = chosen(cluster.nodes())
    cluster.make(manifests.namespace(cluster.namespace))
    try:
        scene, found = _scene(cluster, taking_part, wanted)
        rows += found
        waited = [each for node in _one_each(taking_part) for each in workloads.make(cluster, node, wanted.image)]
        rows += _asked(cluster, scene, wanted.image)
        rows += interface.rows(cluster, scene)
        rows += workloads.judged(cluster, waited, WORKING)
    finally:
        if not cluster.remove(LEAVING):
            print(f"mullion: namespace {cluster.namespace} still goes; kubectl get namespaces", file=sys.stderr)
    return rows + _not_covered(taking_part)


def _nodes(cluster: Cluster, wanted: Wanted) -> Iterable[Row]:
    """SMK-02: the planned nodes, within their time, and the cluster's own pods."""
    expected = set(wanted.expected) - set(wanted.excused) - set(wanted.registered)

    def there() -> bool:
        return expected <= {each.name for each in cluster.nodes() if each.ready} and not _wrong_pods(cluster)

    cluster.until(there, wanted.ready_within)
    found = {each.name: each for each in cluster.nodes()}
    for name in wanted.expected:
        node = found.get(name)
        if name in wanted.registered and node is not None and not node.ready:
            yield Row("SMK-02", "cluster", f"node {name}", Verdict.LIMIT, wanted.registered[name])
        elif name in wanted.excused:
            yield Row("SMK-02", "cluster", f"node {name}", Verdict.NOT_COVERED, wanted.excused[name])
        elif node is None:
            yield Row("SMK-02", "cluster", f"node {name}", Verdict.FAILED, "there is no Node of that name")
        else:
            verdict = Verdict.PASSED if node.ready else Verdict.FAILED
            yield Row("SMK-02", "cluster", f"node {name}", verdict, "" if node.ready else "not Ready")
    wrong = _wrong_pods(cluster)
    for name, phase in wrong.items():
        yield Row("SMK-02", "cluster", f"pod {name}", Verdict.FAILED, phase)
    if not wrong:
        yield Row("SMK-02", "cluster", "system pods", Verdict.PASSED)


def _wrong_pods(cluster: Cluster) -> dict[str, str]:
    """System pods that do not run."""
    return {name: phase for name, _, phase in cluster.system_pods() if phase not in ("Running", "Succeeded")}


def _scene(cluster: Cluster, nodes: tuple[Node, ...], wanted: Wanted) -> tuple[Scene, list[Row]]:
    """Web servers on every node that takes part, and Services before them (SMK-01, SMK-03)."""
    systems = sorted({each.os for each in nodes})
    for os in systems:
        cluster.make(manifests.service(os))
    for each in features.objects(manifests.WEB[systems[0]]) if systems else ():
        cluster.make(each)
    rows: list[Row] = []
    for each in manifests.servers(nodes, wanted.image):
        name, count = each["metadata"]["name"], each["spec"]["replicas"]
        cluster.make(each)
        rows.append(Row("SMK-01", "cluster", f"Deployment {name} with {count} replicas", Verdict.PASSED))
    servers: list[Server] = []
    for os in systems:
        app, count = manifests.WEB[os], sum(each.os == os for each in nodes)
        cluster.until(lambda app=app, count=count: sum(map(is_ready, cluster.pods(app))) == count, PULL[os])
        for pod in cluster.pods(app):
            name, node = pod["metadata"]["name"], pod["spec"].get("nodeName", "")
            ready = is_ready(pod)
            said = "" if ready else f"{pod['status'].get('phase')}: {_waiting(pod)}"
            rows.append(Row("SMK-03", "cluster", f"{os} pod {name}", Verdict.PASSED if ready else Verdict.FAILED, said))
            if ready:
                servers.append(Server(name, os, node, pod["status"]["podIP"]))
    made = [(os, cluster.service(manifests.WEB[os])["spec"]) for os in systems]
    services = [Service(manifests.WEB[os], os, spec["clusterIP"], spec["ports"][0]["nodePort"]) for os, spec in made]
    resolvers = cluster.resolvers()
    return Scene(cluster.namespace, nodes, tuple(servers), tuple(services), wanted.outside, resolvers), rows


def _waiting(pod: dict[str, object]) -> str:
    """Why a pod's container does not run, in the kubelet's words."""
    status: dict[str, object] = pod.get("status") or {}  # type: ignore[assignment]
    states = [each.get("state", {}) for each in status.get("containerStatuses") or []]  # type: ignore[attr-defined]
    return "; ".join(str(each["waiting"].get("reason")) for each in states if "waiting" in each) or "not ready"


def asked_at(place: Place, scene: Scene) -> Iterator[Question]:
    """All that is asked at a place."""
    if place.host:
        yield from on_node(place, scene)
    else:
        yield from in_pod(place, scene)
        yield from features.questions(place, scene)


def _asked(cluster: Cluster, scene: Scene, image: str) -> list[Row]:
    """What every place says to its questions."""
    asked: list[tuple[str, Place, list[Question]]] = []
    for number, place in enumerate(places(scene.nodes)):
        mine = list(asked_at(place, scene))
        made = cluster.make(manifests.asker(number, place, mine, manifests.image_of(place.node, image)))
        asked.append((made["metadata"]["name"], place, mine))

    def over() -> bool:
        phases = [each["status"].get("phase") for each in cluster.pods("ask")]
        return len(phases) == len(asked) and all(each in ("Succeeded", "Failed") for each in phases)

    cluster.until(over, ASKING)
    rows: list[Row] = []
    for pod, place, mine in asked:
        said = answers(cluster.written(pod, "ask"))
        rows += [judged(place, question, said.get(index)) for index, question in enumerate(mine)]
    return rows


def answers(log: str) -> dict[int, tuple[bool, str]]:
    """Answers by the number of their question. A line that is none is what a program said besides."""
    found: dict[int, tuple[bool, str]] = {}
    for line in log.splitlines():
        number, _, rest = line.partition(" ")
        answer, _, said = rest.partition(" ")
        if number.isdigit() and answer in ("ok", "no"):
            found[int(number)] = (answer == "ok", said.strip())
    return found


def _one_each(nodes: tuple[Node, ...]) -> list[Node]:
    """The first worker of each system, or its first node."""
    order = sorted(nodes, key=lambda each: (each.control_plane, each.name))
    return list({each.os: each for each in reversed(order)}.values())


def _not_covered(nodes: tuple[Node, ...]) -> list[Row]:
    """What this cluster gives no occasion to look at."""
    systems = [each.os for each in nodes]
    on_docker = [each.name for each in nodes if each.os == "windows" and not each.runtime.startswith("containerd")]
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
        rows.append(Row("SMK-05", "cluster", "across Windows nodes", Verdict.NOT_COVERED, "there is one Windows node"))
    rows += [
        Row("SMK-11", name, "from the node itself", Verdict.NOT_COVERED, "on Docker no pod is as good as the node")
        for name in on_docker
    ]
    rows += [Row(check, "cluster", what, Verdict.NOT_COVERED, why) for check, what, why in NEVER]
    return rows
