"""Joining of a Windows machine: bootstrap token, kubelet, and the conditions that end its plan."""

from typing import Any

from components import releases
from components.node import egress, kubelet, network, registries, runtime
from components.node.endpoint import authority, kubeconfig, reachable
from components.node.kinds import Step, ref, step
from components.node.layout import WINDOWS, WINDOWS_KUBELET_ROOT, WINDOWS_NODE_CERTIFICATE, WINDOWS_NODE_KUBECONFIG
from components.node.logs import logged
from components.node.plan import Phase, Scope
from components.node.role import POOL_LABEL, Role
from components.node.waiting import wait
from components.node.windows_system import rotate_logs
from components.spec.choices import Gate
from components.spec.models import NetworkMode

_KUBECTL = WINDOWS.program("kubectl")

_PAGE_FILES = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"

_RUNTIMES = ("containerd", "docker", "cri-dockerd")

_DOWN = {**dict.fromkeys(_RUNTIMES, "runtime-down"), "kubelet": "kubelet-down", "flanneld": "flanneld-down",
         "kube-proxy": "proxy-down"}  # fmt: skip
"""Error by the service that does not run (OPS-01)."""

_HEALTH: dict[str, dict[str, Any]] = {
    "kubelet": {"url": "http://127.0.0.1:10248/healthz"},
    # /healthz is 503 during a sync of more than a minute (pkg/proxy/healthcheck/proxy_health.go), and the first one of
    # a large cluster takes longer than any limit here (kubernetes/kubernetes#109124)
    "kube-proxy": {"tcp": ["127.0.0.1", 10256]},
}
"""Condition of each service that serves health checks; kube-proxy's also holds while it makes its load balancers."""


def _version(role: Role) -> tuple[Step, ...]:
    """Return the wait for an API server that is not older than the kubelet.

    None in a cluster that somebody else made: it may answer /version to nobody without credentials
    (--anonymous-auth=false), and `up` compares the versions before it creates a machine.
    """
    if role.spec.existing_cluster:
        return ()
    wanted: dict[str, Any] = {
        "url": ref("facts.api_url"),
        "ca": WINDOWS.ca,
        "version": role.spec.kubernetes,
        "kubectl": _KUBECTL,
    }
    return (step("api-version", "api-version", **wanted),)


def phase(role: Role) -> Phase:
    """Return the phase with the kubelet, which joins once with the bootstrap token, then uses its own certificate."""
    command = [
        WINDOWS.program("kubelet"),
        "--windows-service",
        *kubelet.flags(role),
        *("--cert-dir", WINDOWS.path(WINDOWS_KUBELET_ROOT, "pki")),
        *kubelet.priority(role.kubelet.priority_class),
    ]
    config = kubelet.configuration(role)
    return Phase(
        "kubelet",
        Scope.NODE,
        (
            authority(WINDOWS.ca),
            reachable(role.api_port),
            *_version(role),
            # the API accepts connections a moment before the founder stores the token
            _bootstrap(role, "bootstrap", retries=20),
            _private("node-kubeconfig", WINDOWS_NODE_KUBECONFIG, kubeconfig(WINDOWS.ca, _OWN)),
            *registries.identity(role),
            _private("kubelet-config", WINDOWS.kubelet_config, config),
            rotate_logs(),
            *logged(
                role,
                "kubelet",
                command,
                WINDOWS.kubelet_config,
                depends=[runtime.services(role)[-1]],
                demand=True,
                **egress.variables(role),
            ),
            wait("node-certificate", 900, file=WINDOWS_NODE_CERTIFICATE, error="node-unregistered"),
            # the token would let other machines join too, so it is deleted once this node has its certificate
            _bootstrap(role, "joined"),
        ),
    )


_OWN = {"client-certificate": WINDOWS_NODE_CERTIFICATE, "client-key": WINDOWS_NODE_CERTIFICATE}


def _bootstrap(role: Role, name: str, **tuning: Any) -> Step:
    if role.joins:  # nobody there derives the same token
        tuning["token"] = "stored"  # noqa: S105 - a choice
    return step(
        "kubelet-bootstrap",
        name,
        path=WINDOWS.kubelet_bootstrap,
        kubeconfig=kubeconfig(WINDOWS.ca, {}),
        secret=ref("facts.join_secret"),
        certificate=WINDOWS_NODE_CERTIFICATE,
        node=ref("machine.name"),
        **tuning,
    )


def _private(name: str, path: str, content: Any) -> Step:
    return step("file", name, path=path, format="json", content=content, access="private")


def registered(role: Role) -> Phase:
    """Return the phase that waits until all services are healthy and the Node object is as planned (OPS-01)."""
    flanneld = ("flanneld",) if role.spec.network.mode is NetworkMode.OVERLAY else ()
    services = (*runtime.services(role), "kubelet", *flanneld, "kube-proxy")
    labels = {"node.kubernetes.io/windows-build": releases.windows(role.os).build, POOL_LABEL: role.name}
    page_file = ["reg.exe", "query", _PAGE_FILES, "/v", "ExistingPageFiles"]
    return Phase(
        "registered",
        Scope.NODE,
        (
            network.metadata_route_holds(role),
            step(
                "probe",
                "page-file-in-use",
                argv=page_file,
                expect=r"(?s).*pagefile\.sys.*",
                message="RES-07: Windows uses no page file, which its nodes must have; is C: full?",
            ),
            *(wait(f"{each}-runs", service=each, error=_DOWN[each]) for each in services),
            *(wait(f"{each}-healthy", error=_DOWN[each], **condition) for each, condition in _HEALTH.items()),
            _node(
                "node-registered",
                state="registered",
                provider_id=ref("node.provider_id"),
                kubelet=f"v{role.spec.kubernetes}",
                labels=labels,
            ),
        ),
        reports="registered",
    )


def ready(role: Role) -> tuple[Phase, ...]:
    """Return the phase that waits until the Node is Ready; empty unless the pool's gate is `ready`."""
    if role.gate is not Gate.READY:
        return ()
    return (Phase("ready", Scope.NODE, (_node("node-ready", state="ready", timeout_seconds=900),)),)


def _node(name: str, **wanted: Any) -> Step:
    own = {"kubectl": _KUBECTL, "kubeconfig": WINDOWS_NODE_KUBECONFIG, "node": ref("machine.name")}
    return step("node-object", name, **own, **wanted)
