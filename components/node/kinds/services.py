"""Kinds of services."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import ARGUMENTS, COUNT, FLAG, NAME, NAMES, PATH, PATHS, TEXT, VARIABLES, one_of

_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_NEW = OnChange.NEW_NODES

SERVICES: dict[str, Kind] = {
    "service": Kind(
        "The service exists with exactly this command, starts at boot and again after it ended, and runs.",
        {
            "service": Field(NAME, "Its name."),
            "command": Field(ARGUMENTS, "Program and arguments, one word each."),
            "depends": Field(NAMES, "Services that start before it.", required=False),
            "environment": Field(VARIABLES, "Its own variables.", required=False),
            "log": Field(PATH, "File that its output is added to.", required=False),
            "restart_seconds": Field(
                COUNT, "It starts again so long after it ended; default 10.", required=False, on_change=_NEW
            ),
            "restarts_on": Field(
                PATHS,
                "Files; when one has changed since the service was last started by this step, it is started anew.",
                required=False,
                on_change=_NEW,
            ),
            "start": Field(
                one_of("auto", "boot"),
                "auto, the default: it runs; boot: it starts at boot, and something else starts it now.",
                required=False,
            ),
            "description": Field(TEXT, "For people.", required=False, on_change=_NEW),
            "wrapper": Field(
                PATH, "nssm.exe, which runs a program that has no service mode.", required=False, systems=("windows",)
            ),
            "demand": Field(
                FLAG,
                "It does not start at boot: this step starts it, once those before it hold.",
                required=False,
                systems=("windows",),
            ),
            "delegate": Field(
                FLAG, "Its processes outlive it and manage their own cgroups.", required=False, systems=("linux",)
            ),
            "limits": Field(
                VARIABLES,
                "Settings of systemd.exec(5) and systemd.resource-control(5) by name, such as LimitNOFILE.",
                required=False,
                systems=("linux",),
            ),
        },
        compares="Linux: the whole unit file, enabled, active. Windows: every value below its registry key, RUNNING."
        " Both: the remembered digest of each file in restarts_on.",
        sets="Writes the unit or the registry values, enables it, stops it if it runs, starts it, waits until it runs.",
        cuts=_STEPPED,
    ),
    "system-service": Kind(
        "A service of Windows itself starts at boot and runs, or is disabled and does not.",
        {
            "service": Field(NAME, "Its name."),
            "start": Field(one_of("auto", "disabled"), "auto: it runs; disabled: it is stopped."),
        },
        compares="Start in its registry key, and its state.",
        sets="Tells the service manager, then starts or stops it.",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=("windows",),
    ),
}
