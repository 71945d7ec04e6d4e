"""Workers: Linux ones join with kubeadm, Windows ones by the kubelet's own TLS bootstrap."""

from components.node import downloads, kubeadm, kubelet, network, proxy, runtime, system
from components.node.endpoint import authority, kubeconfig, reachable
from components.node.kinds import ref, step
from components.node.layout import (
    LINUX,
    WINDOWS,
    WINDOWS_KUBELET_ROOT,
    WINDOWS_NODE_CERTIFICATE,
    WINDOWS_NODE_KUBECONFIG,
)
from components.node.logs import logged
from components.node.plan import Phase, Scope
from components.node.role import Role
from components.node.waiting import wait

_HEALTH = {"kubelet": "http://127.0.0.1:10248/healthz", "kube-proxy": "http://127.0.0.1:10256/healthz"}

_WINDOWS_SERVICES = ("kubelet", "flanneld", "kube-proxy")
"""OPS-01: bootstrap is done when all of them run, and the runtime's."""


def linux(role: Role) -> tuple[Phase, ...]:
    """All phases of a Linux worker."""
    return (
        system.identity(),
        system.linux(),
        downloads.phase(role),
        runtime.phase(role),
        network.linux_phase(role),
        Phase(
            "kubelet",
            Scope.NODE,
            (
                *kubeadm.preparation(role),
                reachable(),
                kubeadm.join(role, creates=LINUX.kubelet_kubeconfig),
            ),
        ),
        _verify(("containerd", "kubelet"), ("kubelet",)),
    )


def windows(role: Role) -> tuple[Phase, ...]:
    """All phases of a Windows worker."""
    return (
        system.windows_build(role),
        system.identity(),
        system.windows(role),
        system.windows_firewall(role),
        system.windows_folders(),
        downloads.phase(role),
        runtime.phase(role),
        _windows_kubelet(role),
        network.windows_phase(role),
        proxy.windows_phase(role),
        _verify((*runtime.services(role), *_WINDOWS_SERVICES), ("kubelet", "kube-proxy")),
    )


def _windows_kubelet(role: Role) -> Phase:
    bootstrap = kubeconfig(WINDOWS.ca, {"token": ref("node.bootstrap_token")})
    own = {"client-certificate": WINDOWS_NODE_CERTIFICATE, "client-key": WINDOWS_NODE_CERTIFICATE}
    files = {
        "kubelet-bootstrap": (WINDOWS.kubelet_bootstrap, bootstrap),
        "node-kubeconfig": (WINDOWS_NODE_KUBECONFIG, kubeconfig(WINDOWS.ca, own)),
        "kubelet-config": (WINDOWS.kubelet_config, kubelet.configuration(role)),
    }
    command = [
        WINDOWS.program("kubelet"),
        "--windows-service",
        *kubelet.flags(role),
        *("--cert-dir", WINDOWS.path(WINDOWS_KUBELET_ROOT, "pki")),
    ]
    if role.kubelet.priority_class is not None:
        command.append(f"--windows-priorityclass={role.kubelet.priority_class.value}")
    return Phase(
        "kubelet",
        Scope.NODE,
        (
            authority(WINDOWS.ca),
            reachable(),
            # the API answers a moment before the founder has stored the token
            *(
                step("file", name, path=path, format="json", content=content, access="private", retries=20)
                for name, (path, content) in files.items()
            ),
            *logged(role, "kubelet", command, WINDOWS.kubelet_config, depends=[runtime.services(role)[-1]]),
        ),
    )


def _verify(services: tuple[str, ...], healthy: tuple[str, ...]) -> Phase:
    running = (wait(f"{each}-runs", service=each) for each in services)
    answering = (wait(f"{each}-healthy", url=_HEALTH[each]) for each in healthy)
    return Phase("verify", Scope.NODE, (*running, *answering))
