"""Node plans of workers: Linux joins with kubeadm, Windows with the kubelet's TLS bootstrap."""

from components.node import (
    downloads,
    gmsa_plugin,
    hypervisor,
    interruption,
    joining,
    kubeadm,
    kubelet,
    network,
    proxy,
    runtime,
    system,
    windows_system,
)
from components.node.kinds import ref, step
from components.node.layout import LINUX, STATE
from components.node.plan import Phase, Scope
from components.node.role import Role
from components.node.waiting import wait
from components.spec.choices import Gate

_READY_SECONDS = 900
"""Longest wait for the Node to exist and be Ready, in seconds: pulls of flannel's images on a slow link."""
_HEALTH = "http://127.0.0.1:10248/healthz"


def linux(role: Role) -> tuple[Phase, ...]:
    """Return all phases of a Linux worker."""
    return (
        system.identity(),
        system.linux(role),
        downloads.phase(role),
        runtime.phase(role),
        network.linux_phase(role),
        *network.linux_pods(role),
        Phase(
            "kubelet",
            Scope.NODE,
            (
                *kubeadm.preparation(role),
                kubeadm.service(role),
                step("directory", "state", path=STATE, access="private"),
                kubeadm.rejoin(f"{STATE}/joined"),
                # a pool with a newer version also waits in this step until the control plane has that version
                step(
                    "api-version",
                    "api-version",
                    url=ref("facts.api_url"),
                    ca=LINUX.ca,
                    version=role.spec.kubernetes,
                    timeout_seconds=1800,
                ),
                kubeadm.join(role, done=f"{STATE}/joined"),
                *kubelet.private_configuration(role),
            ),
        ),
        Phase(
            "verify",
            Scope.NODE,
            (
                *(wait(f"{each}-runs", service=each) for each in ("containerd", "kubelet")),
                wait("kubelet-healthy", url=_HEALTH),
            ),
        ),
        *interruption.phases(role),
        *_ready(role),
    )


def _ready(role: Role) -> tuple[Phase, ...]:
    """Return the phase that waits until the Node is Ready; empty unless the pool's gate is `ready`.

    It asks as the node itself. A kubelet is healthy also without a runtime, a pod network or an API. kubeadm does not
    wait for the Node (from 1.34 on), and a kubelet without a valid certificate joins again first, so the Node, the
    certificate and the API may all be missing when the step begins.
    """
    if role.gate is not Gate.READY:
        return ()
    node = step(
        "node-object",
        "node-ready",
        kubectl=LINUX.program("kubectl"),
        kubeconfig=LINUX.kubelet_kubeconfig,
        node=ref("machine.name"),
        state="ready",
        timeout_seconds=_READY_SECONDS,
    )
    return (Phase("ready", Scope.NODE, (node,)),)


def windows(role: Role) -> tuple[Phase, ...]:
    """Return all phases of a Windows worker."""
    return (
        windows_system.build(role),
        windows_system.identity(role),
        windows_system.system(role),
        *hypervisor.phases(role),
        windows_system.firewall(role),
        windows_system.folders(role),
        downloads.phase(role),
        *gmsa_plugin.phases(role),
        runtime.phase(role),
        network.before_kubelet(role),
        joining.phase(role),
        network.windows_phase(role),
        proxy.windows_phase(role),
        joining.registered(role),
        *interruption.phases(role),
        *joining.ready(role),
    )
