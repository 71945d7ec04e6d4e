"""The kind that restarts the machine."""

from components.node.kinds.model import Cut, Kind, OnChange

RESTART: dict[str, Kind] = {
    "reboot": Kind(
        "The machine restarts if an earlier step asked for it, and goes on after it.",
        {},
        compares="That no step asked for a restart since this boot, nor (Linux) a package: /run/reboot-required.",
        sets="Counts (503 after 5 restarts in a row), writes the result (state reboot), restarts.",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
        on_change=OnChange.NEW_NODES,
    ),
}
