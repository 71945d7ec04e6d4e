"""Native Windows services of Kubernetes whose output goes to a log file."""

from typing import Any

from components.node.kinds import Step, step
from components.node.layout import WINDOWS
from components.node.role import Role

_RUNNER = WINDOWS.program("kube-log-runner")

_OPTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "rotating": ((_RUNNER, "--log-file-size=50Mi", "--log-file-age=168h"), ()),
    # kube-log-runner before 1.34 cannot rotate; the task rotate-logs does
    "plain": ((_RUNNER,), ()),
    # flags of the program itself, which truncates the file at 50 MB
    "missing": ((), ("--logtostderr=false", "--log-file-max-size=50")),
}
"""Words before and after a command, besides --log-file, by the minor's kube-log-runner (OPS-03)."""


def logged(
    role: Role, service: str, command: list[Any], config: str, depends: list[str], **more: Any
) -> tuple[Step, ...]:
    """Return the log folder and the service, which restarts 10 s after a failure (SRV-06) and when `config` changes.

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
