"""The kind that schedules a program."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import ARGUMENTS, NAME, TEXT, exactly_one

_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_NEW = OnChange.NEW_NODES

TASKS: dict[str, Kind] = {
    "task": Kind(
        "A program is scheduled after each boot or at an interval in minutes.",
        {
            "task": Field(NAME, "Name of the task."),
            "command": Field(ARGUMENTS, "Program and arguments, one word each; run as root or SYSTEM."),
            "schedule": Field(
                exactly_one(
                    {"boot": {"enum": [True]}, "every_minutes": {"type": "integer", "minimum": 1, "maximum": 1440}}
                ),
                "{boot: true}: once after each boot; {every_minutes: N}: N minutes after its last start.",
            ),
            "description": Field(TEXT, "Text shown by systemd or the Task Scheduler.", required=False, on_change=_NEW),
        },
        compares="Linux: both unit files (mullion-<task>.timer, .service), enabled, timer active. Windows: the task's"
        " action, trigger, principal and state.",
        sets="Writes and enables the task; a running instance continues.",
        cuts=_STEPPED,
    ),
}
