"""Scheduled programs: systemd timers."""

from run import Run, Step

from kinds.services import active, command_line, ready, unit_written, write_unit

SCHEDULES = {
    "boot": "OnBootSec=10\n",
    "every_minutes": "OnActiveSec=1min\nOnUnitActiveSec={0}min\n",
}
"""Timer lines by schedule. OnUnitActiveSec counts from the unit's last start, so OnActiveSec makes the first one."""
TIMER = """[Unit]
Description={description}
[Timer]
{schedule}[Install]
WantedBy=timers.target
"""
SERVICE = """[Unit]
Description={description}
[Service]
Type=oneshot
ExecStart={command}
"""


def units(step: Step) -> dict[str, str]:
    """Return names and texts of both units; the timer comes last, after the service that it starts."""
    ((schedule, value),) = step["schedule"].items()
    description = step.get("description", step["task"])
    return {
        f"mullion-{step['task']}.service": SERVICE.format(
            description=description, command=command_line(step["command"])
        ),
        f"mullion-{step['task']}.timer": TIMER.format(
            description=description, schedule=SCHEDULES[schedule].format(value)
        ),
    }


def task_holds(run: Run, step: Step) -> bool:
    """Return whether both units are as planned and the timer is enabled and active."""
    timer = f"mullion-{step['task']}.timer"
    written = all(unit_written(run, name, text) for name, text in units(step).items())
    return written and ready(run, timer) and active(run, timer)


def make_task(run: Run, step: Step) -> None:
    """Write both units and enable the timer; a run in progress continues."""
    for name, text in units(step).items():
        write_unit(run, name, text)
    run.command("systemctl", "daemon-reload")
    timer = f"mullion-{step['task']}.timer"
    run.command("systemctl", "enable", "--quiet", timer)
    run.command("systemctl", "restart", timer)
