"""The kind that restarts the machine."""

from components.node.kinds.model import Cut, Kind, OnChange

RESTART: dict[str, Kind] = {
    "reboot": Kind(
        "The machine restarts if an earlier step requested it; the next step runs after the restart.",
        {},
        compares="That no step, and on Linux no package (/run/reboot-required), requested a restart since this boot.",
        sets="Counts restarts (503 after 5 in a row), writes the result (state reboot), restarts.",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
        on_change=OnChange.NEW_NODES,
    ),
}
