"""Native Windows services of Kubernetes, whose output kube-log-runner keeps."""

from typing import Any

from components.node.kinds import Step, step
from components.node.layout import WINDOWS
from components.node.role import Role

_ROTATE = ("--log-file-size=50Mi", "--log-file-age=168h")
"""OPS-03. Before 1.34 kube-log-runner cannot rotate; the file then grows until the node is replaced."""


def logged(role: Role, service: str, command: list[Any], depends: list[str]) -> tuple[Step, ...]:
    """Log folder and service; restarted 10 s after a failure (SRV-06)."""
    folder = WINDOWS.path(WINDOWS.logs, service)
    log = f"--log-file={WINDOWS.path(folder, service)}.log"
    runner = [WINDOWS.program("kube-log-runner"), log, *(_ROTATE if role.release.log_rotation else ())]
    return (
        step("directory", f"{service}-logs", path=folder),
        step("service", service, service=service, command=[*runner, *command], depends=depends, restart_seconds=10),
    )
