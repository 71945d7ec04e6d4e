"""The kind of a scheduled program."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import ARGUMENTS, NAME, TEXT, exactly_one

_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_NEW = OnChange.NEW_NODES

TASKS: dict[str, Kind] = {
    "task": Kind(
        "A program runs by itself: after each boot, or every so many minutes.",
        {
            "task": Field(NAME, "Its name."),
            "command": Field(ARGUMENTS, "Program and arguments, one word each; as root or SYSTEM."),
            "schedule": Field(
                exactly_one(
                    {"boot": {"enum": [True]}, "every_minutes": {"type": "integer", "minimum": 1, "maximum": 1440}}
                ),
                "{boot: true}: once after each boot; {every_minutes: N}: so long after it last began.",
            ),
            "description": Field(TEXT, "For people.", required=False, on_change=_NEW),
        },
        compares="Linux: both unit files (mullion-<task>.timer, .service), enabled, timer active. Windows: the task's"
        " action, trigger, principal and state.",
        sets="Writes and enables them; what runs now goes on.",
        cuts=_STEPPED,
    ),
}
