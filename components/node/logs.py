"""Native Windows services of Kubernetes, whose output is kept in a file."""

from typing import Any

from components.node.kinds import Step, step
from components.node.layout import WINDOWS
from components.node.role import Role

_RUNNER = WINDOWS.program("kube-log-runner")

_OPTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "rotating": ((_RUNNER, "--log-file-size=50Mi", "--log-file-age=168h"), ()),
    # before 1.34 it cannot rotate; the file then grows until the node is replaced
    "plain": ((_RUNNER,), ()),
    # the program's own flags; at 50 MB it begins the file anew
    "missing": ((), ("--logtostderr=false", "--log-file-max-size=50")),
}
"""OPS-03. By kube-log-runner of the minor: what stands before a program and after it, beside --log-file."""


def logged(
    role: Role, service: str, command: list[Any], config: str, depends: list[str], **more: Any
) -> tuple[Step, ...]:
    """Log folder and service; restarted 10 s after a failure (SRV-06), and when its configuration file changes.

    more: further fields of the service.
    """
    folder = WINDOWS.path(WINDOWS.logs, service)
    log = f"--log-file={WINDOWS.path(folder, service)}.log"
    before, after = _OPTIONS[role.release.log_runner]
    line = [*before, log, *command] if before else [*command, *after, log]
    return (
        step("directory", f"{service}-logs", path=folder, access="private"),
        step(
            "service",
            service,
            service=service,
            command=line,
            depends=depends,
            restarts_on=[config],
            restart_seconds=10,
            **more,
        ),
    )
