"""The task that uploads a machine's logs for `mullion logs` (docs/logs.md)."""

from components.node.kinds import OnChange, step
from components.node.plan import Phase, Scope

EVERY_MINUTES = 2
"""Interval in minutes at which a machine looks for a request of `mullion logs`."""

_POWERSHELL = r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe"
_MULLION = r"C:\Program Files\mullion"


def windows_script(script: str, *words: str) -> list[str]:
    """Return a task's command that runs a script of the current bundle, whose folder only the machine knows."""
    current = rf"'{_MULLION}\bundles\' + [IO.File]::ReadAllText('{_MULLION}\current.txt')"
    line = " ".join([rf"& ({current} + '\{script}')", *words])
    return [_POWERSHELL, "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", line]


_COMMANDS: dict[str, list[str]] = {
    "linux": ["/usr/bin/python3", "/opt/mullion/current/collect_logs.py", "--requested"],
    "windows": windows_script("collect-logs.ps1", "-Requested"),
}


def phase(system: str) -> Phase:
    """Return the first phase: the task that answers `mullion logs`, so that it works if a later phase fails."""
    task = step(
        "task",
        "collect-logs",
        task="collect-logs",
        command=_COMMANDS[system],
        schedule={"every_minutes": EVERY_MINUTES},
        description="Uploads this machine's logs when mullion logs requests them",
        on_change=OnChange.NEW_NODES,
    )
    return Phase("evidence", Scope.NODE, (task,))
