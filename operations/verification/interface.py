"""Checks of the API's functions for pods and nodes (SMK-14): summaries, metrics, exec, port-forward, quotas."""

from collections.abc import Callable, Iterator
from typing import Any

from components.rollout.kubernetes_api import Refused, Unreachable
from operations.verification.cluster import Cluster
from operations.verification.features import KEYS
from operations.verification.questions import PORTS, Node, Scene, Server
from operations.verification.verdicts import Row, Verdict

METRICS = "/apis/metrics.k8s.io/v1beta1"
ECHO = {"linux": ["/bin/busybox", "echo", "hello"], "windows": ["cmd.exe", "/c", "echo hello"]}
REQUEST = b"GET /hello HTTP/1.0\r\nHost: verify\r\n\r\n"
FORBIDDEN, NOT_FOUND = 403, 404
MEASURING = 90.0
"""Seconds for metrics of a new node: metrics-server needs two scrapes, 15 s apart, and its API is asked again."""


class Wrong(Exception):
    """The API answered something unexpected; the message says what."""


def rows(cluster: Cluster, scene: Scene) -> Iterator[Row]:
    """Yield the rows of every node, of one web server of each system, and of the namespace."""
    for node in scene.nodes:
        yield _judged(
            f"{node.os} node {node.name}", "stats/summary", node.os, lambda node=node: _summary(cluster, node)
        )
    for server in {server.os: server for server in scene.servers}.values():
        where = f"{server.os} pod {server.name}"
        yield _judged(where, "exec", server.os, lambda server=server: _exec(cluster, server))
        yield _judged(where, "port-forward", server.os, lambda server=server: _forward(cluster, server))
    yield _judged("cluster", "ResourceQuota", "", lambda: _quota(cluster))
    yield from _metrics(cluster, [node for node in scene.nodes if node.ready])


def _judged(where: str, what: str, os: str, ask: Callable[[], str]) -> Row:
    try:
        return Row("SMK-14", where, what, Verdict.PASSED, ask(), os)
    except (Wrong, Refused, Unreachable, OSError) as error:
        return Row("SMK-14", where, what, Verdict.FAILED, str(error), os)


def _summary(cluster: Cluster, node: Node) -> str:
    """Check the kubelet's summary, which on Windows does not come from cAdvisor."""
    summary: Any = cluster.get(f"/api/v1/nodes/{node.name}/proxy/stats/summary")
    memory = _figure(summary, "node", "memory", "workingSetBytes")
    cpu = _figure(summary, "node", "cpu", "usageCoreNanoSeconds")
    pods: Any = summary.get("pods") if isinstance(summary, dict) else None
    if not memory or not cpu or not isinstance(pods, list):
        raise Wrong(f"memory {memory}, cpu {cpu}, pods {isinstance(pods, list)}")
    return f"{len(pods)} pods, {memory >> 20} MiB"


def _figure(document: Any, *path: str) -> int:
    """Return a number of a document that a node wrote; 0 if it is missing, of another form or of no real size."""
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document if isinstance(document, int) and 0 < document < 1 << 63 else 0


def _exec(cluster: Cluster, server: Server) -> str:
    output = cluster.execute(server.name, ECHO[server.os]).strip()
    if output != "hello":
        raise Wrong(f"echo hello wrote {output!r}")
    return output


def _forward(cluster: Cluster, server: Server) -> str:
    answer = cluster.port_forward(server.name, PORTS[server.os], REQUEST)
    if "hello" not in answer:
        raise Wrong(f"the port answered {answer[:60]!r}")
    return answer.strip().splitlines()[0]


def _quota(cluster: Cluster) -> str:
    """Check that a quota of one Secret refuses a second one."""
    quota = {"hard": {"count/secrets": "1"}}
    cluster.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "one"}, "spec": quota})

    def counted() -> bool:
        return bool((cluster.get(cluster.within("resourcequotas/one")).get("status") or {}).get("used"))

    cluster.until(counted, 10, "the ResourceQuota to be counted")
    try:
        cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{KEYS}-too"}})
    except Refused as refused:
        if refused.status == FORBIDDEN and "quota" in str(refused):
            return "a second Secret is refused"
        raise
    raise Wrong("a second Secret was created")


def _metrics(cluster: Cluster, nodes: list[Node]) -> Iterator[Row]:
    """Yield the row of pod metrics, which a HorizontalPodAutoscaler reads, and one of each node's metrics.

    The rows of nodes find a metrics server that reaches only the kubelet of its own node.
    """
    try:
        cluster.get(METRICS)
    except Refused as error:
        if error.status == NOT_FOUND:
            about = "the cluster has no metrics server"
            yield Row("SMK-14", "cluster", "pod metrics, HPA", Verdict.NOT_COVERED, about)
            return
    except Unreachable:
        pass  # asked again below
    pods, measured, wrong = 0, set[str](), ""

    def reached() -> bool:
        nonlocal pods, measured, wrong
        try:
            pods = len(cluster.get(f"{METRICS}/pods")["items"])
            measured = {item["metadata"]["name"] for item in cluster.get(f"{METRICS}/nodes")["items"]}
        except Refused as error:
            wrong = f"; {error}"
        return bool(pods) and measured >= {node.name for node in nodes}

    cluster.until(reached, MEASURING, "metrics of all nodes")
    verdict = Verdict.PASSED if pods else Verdict.FAILED
    yield Row("SMK-14", "cluster", "pod metrics, HPA", verdict, f"metrics of {pods} pods{'' if pods else wrong}")
    for node in nodes if pods else ():
        found = node.name in measured
        about = "" if found else f"metrics-server has none: can its pod reach {node.address}:10250?"
        where = f"{node.os} node {node.name}"
        yield Row("SMK-14", where, "node metrics", Verdict.PASSED if found else Verdict.FAILED, about, node.os)
