"""Evidence of what went wrong: logs that a machine gives when somebody asks for them (docs/logs.md)."""

from components.node.kinds import OnChange, step
from components.node.plan import Phase, Scope

EVERY_MINUTES = 2
"""How often a machine looks whether somebody asked: the longest that `mullion logs` waits for nothing."""

_POWERSHELL = r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe"
_MULLION = r"C:\Program Files\mullion"


def windows_script(script: str, *words: str) -> list[str]:
    """A task's command: a script of the machine's current bundle; which that is, is known on the machine alone."""
    current = rf"'{_MULLION}\bundles\' + [IO.File]::ReadAllText('{_MULLION}\current.txt')"
    line = " ".join([rf"& ({current} + '\{script}')", *words])
    return [_POWERSHELL, "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", line]


_COMMANDS: dict[str, list[str]] = {
    "linux": ["/usr/bin/python3", "/opt/mullion/current/collect_logs.py", "--requested"],
    "windows": windows_script("collect-logs.ps1", "-Requested"),
}


def phase(system: str) -> Phase:
    """The task that answers `mullion logs`: the first of all steps, so that it is there whatever fails after it."""
    task = step(
        "task",
        "collect-logs",
        task="collect-logs",
        command=_COMMANDS[system],
        schedule={"every_minutes": EVERY_MINUTES},
        description="Gives this machine's logs to who asks for them: mullion logs",
        on_change=OnChange.NEW_NODES,
    )
    return Phase("evidence", Scope.NODE, (task,))
