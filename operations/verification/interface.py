"""What the API offers for pods and nodes (SMK-14): summaries, metrics, exec, port-forward, quotas."""

from collections.abc import Callable, Iterator

from components.rollout.kubernetes_api import Refused, Unreachable
from operations.verification.cluster import Cluster
from operations.verification.features import KEYS
from operations.verification.questions import PORTS, Node, Scene, Server
from operations.verification.verdicts import Row, Verdict

METRICS = "/apis/metrics.k8s.io/v1beta1"
ECHO = {"linux": ["/bin/busybox", "echo", "hello"], "windows": ["cmd.exe", "/c", "echo hello"]}
REQUEST = b"GET /hello HTTP/1.0\r\nHost: verify\r\n\r\n"
FORBIDDEN = 403


class Wrong(Exception):
    """What was asked for came otherwise; the text says how."""


def rows(cluster: Cluster, scene: Scene) -> Iterator[Row]:
    """Of every node, of a server of each system, and of the namespace."""
    for node in scene.nodes:
        yield _judged(
            f"{node.os} node {node.name}", "stats/summary", node.os, lambda node=node: _summary(cluster, node)
        )
    for each in {server.os: server for server in scene.servers}.values():
        where = f"{each.os} pod {each.name}"
        yield _judged(where, "exec", each.os, lambda each=each: _exec(cluster, each))
        yield _judged(where, "port-forward", each.os, lambda each=each: _forward(cluster, each))
    yield _judged("cluster", "ResourceQuota", "", lambda: _quota(cluster))
    yield from _metrics(cluster)


def _judged(where: str, what: str, os: str, ask: Callable[[], str]) -> Row:
    try:
        return Row("SMK-14", where, what, Verdict.PASSED, ask(), os)
    except (Wrong, Refused, Unreachable, OSError) as error:
        return Row("SMK-14", where, what, Verdict.FAILED, str(error), os)


def _summary(cluster: Cluster, node: Node) -> str:
    """The kubelet's own figures: on Windows they are not cAdvisor's."""
    found = cluster.get(f"/api/v1/nodes/{node.name}/proxy/stats/summary")
    memory = (found.get("node") or {}).get("memory", {}).get("workingSetBytes")
    cpu = (found.get("node") or {}).get("cpu", {}).get("usageCoreNanoSeconds")
    if not memory or not cpu or "pods" not in found:
        raise Wrong(f"memory {memory}, cpu {cpu}, pods {'pods' in found}")
    return f"{len(found['pods'])} pods, {memory >> 20} MiB"


def _exec(cluster: Cluster, server: Server) -> str:
    said = cluster.execute(server.name, ECHO[server.os]).strip()
    if said != "hello":
        raise Wrong(f"it said {said!r}")
    return said


def _forward(cluster: Cluster, server: Server) -> str:
    said = cluster.forwarded(server.name, PORTS[server.os], REQUEST)
    if "hello" not in said:
        raise Wrong(f"the port answered {said[:60]!r}")
    return said.strip().splitlines()[0]


def _quota(cluster: Cluster) -> str:
    """One Secret is there; a quota of one refuses another."""
    quota = {"hard": {"count/secrets": "1"}}
    cluster.make({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "one"}, "spec": quota})
    cluster.until(lambda: bool((cluster.get(cluster.within("resourcequotas/one")).get("status") or {}).get("used")), 10)
    try:
        cluster.make({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{KEYS}-too"}})
    except Refused as refused:
        if refused.status == FORBIDDEN and "quota" in str(refused):
            return "a second Secret is refused"
        raise
    raise Wrong("a second Secret was made")


def _metrics(cluster: Cluster) -> Iterator[Row]:
    """Where there is a metrics server. A HorizontalPodAutoscaler reads the same."""
    try:
        items = cluster.get(f"{METRICS}/pods")["items"]
    except (Refused, Unreachable):
        yield Row("SMK-14", "cluster", "pod metrics, HPA", Verdict.NOT_COVERED, "the cluster has no metrics server")
        return
    verdict = Verdict.PASSED if items else Verdict.FAILED
    yield Row("SMK-14", "cluster", "pod metrics, which HPA reads", verdict, f"of {len(items)} pods")
