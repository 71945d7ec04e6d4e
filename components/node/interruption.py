"""What a spot machine does when its cloud takes it back: a service that drains the node, and the kubelet's shutdown."""

from typing import Any

from components import releases
from components.node.evidence import windows_script
from components.node.kinds import Step, step
from components.node.layout import LINUX, WINDOWS, WINDOWS_NODE_KUBECONFIG
from components.node.plan import Phase, Scope
from components.node.role import Role

_SERVICE = "interruption"
_LATE_SECONDS = 5
"""Part of a notice that has passed before the drain begins: two questions to the metadata service, and a start of
kubectl."""
_LAST_SECONDS = 5
"""Time at the end of a short notice in which the kubelet kills what has not ended, and reports it."""
_LONG_SECONDS = 60
"""A notice from which on pods keep their own grace periods."""

SHUTDOWN = {"shutdownGracePeriod": "25s", "shutdownGracePeriodCriticalPods": "5s"}
"""The kubelet's share of a shutdown, for all pods and of that for critical ones. Google's is over after 30 s."""
_SHUTDOWN_FIELDS = frozenset({*SHUTDOWN, "shutdownGracePeriodByPodPriority"})
_SHUTDOWN_SINCE = {"linux": "1.21", "windows": "1.34"}
"""First minor whose kubelet ends pods at a shutdown by default: GracefulNodeShutdown and WindowsGracefulNodeShutdown
(pkg/features/kube_features.go). On Windows it needs the service `kubelet` (pkg/kubelet/nodeshutdown)."""


def phases(role: Role) -> tuple[Phase, ...]:
    """Return the phase of the service that drains the node after the cloud's notice; empty unless the pool is spot."""
    return (Phase(_SERVICE, Scope.NODE, _steps(role)),) if role.spot else ()


def shutdown(role: Role) -> dict[str, Any]:
    """Return the kubelet's fields about shutdowns of spot machines; empty where the user writes one of them.

    At a preemption Google shuts the system down at once, so the service alone would be too late.
    """
    known = releases.within(role.release.minor, _SHUTDOWN_SINCE[role.system], "")
    theirs = _SHUTDOWN_FIELDS & role.kubelet.config.keys()
    return dict(SHUTDOWN) if role.spot and known and not theirs else {}


def _steps(role: Role) -> tuple[Step, ...]:
    notice = role.spec.cloud.facts.spot_notice_seconds
    seconds = notice - _LATE_SECONDS
    grace = -1 if notice >= _LONG_SECONDS else seconds - _LAST_SECONDS
    if not role.os.is_windows:
        script = "/opt/mullion/current/interruption.py"
        times = ("--seconds", str(seconds), "--grace", str(grace))
        own = ("--kubectl", LINUX.program("kubectl"), "--kubeconfig", LINUX.kubelet_kubeconfig)
        return (
            step(
                "service",
                _SERVICE,
                service=f"mullion-{_SERVICE}",
                description="Drains the node when the cloud takes this spot machine back",
                command=["/usr/bin/python3", "-B", script, *times, *own],
                restart_seconds=10,
            ),
        )
    folder = WINDOWS.path(WINDOWS.logs, _SERVICE)
    words = ("-Seconds", str(seconds), "-Grace", str(grace))
    own = ("-Kubectl", f"'{WINDOWS.program('kubectl')}'", "-Kubeconfig", f"'{WINDOWS_NODE_KUBECONFIG}'")
    return (
        step("directory", f"{_SERVICE}-logs", path=folder, access="private"),
        step(
            "service",
            _SERVICE,
            service=_SERVICE,
            command=windows_script("watch-interruption.ps1", *words, *own),
            wrapper=WINDOWS.program("nssm"),
            log=WINDOWS.path(folder, f"{_SERVICE}.log"),
            restart_seconds=10,
        ),
    )
