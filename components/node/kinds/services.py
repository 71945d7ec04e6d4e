"""Kinds for services."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import ARGUMENTS, COUNT, FLAG, NAME, NAMES, PATH, PATHS, TEXT, VARIABLES, one_of

_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_NEW = OnChange.NEW_NODES

SERVICES: dict[str, Kind] = {
    "service": Kind(
        "The service exists with exactly this command, starts at boot, restarts after it ended, and runs.",
        {
            "service": Field(NAME, "Name of the service."),
            "command": Field(ARGUMENTS, "Program and arguments, one word each."),
            "depends": Field(NAMES, "Services that must start first.", required=False),
            "environment": Field(VARIABLES, "Environment variables.", required=False),
            "log": Field(PATH, "File to which its output is appended.", required=False),
            "restart_seconds": Field(
                COUNT, "Seconds from its end to its restart; default 10.", required=False, on_change=_NEW
            ),
            "restarts_on": Field(
                PATHS,
                "Files; the service is restarted if one changed since this step last started it.",
                required=False,
                on_change=_NEW,
            ),
            "start": Field(
                one_of("auto", "boot"),
                "auto, the default: the step starts it; boot: it starts at boot, and another program starts it now.",
                required=False,
            ),
            "description": Field(TEXT, "Text shown by the service manager.", required=False, on_change=_NEW),
            "wrapper": Field(
                PATH, "Path of nssm.exe, for a program without a service mode.", required=False, systems=("windows",)
            ),
            "demand": Field(
                FLAG,
                "Whether it does not start at boot, but by this step after all earlier steps.",
                required=False,
                systems=("windows",),
            ),
            "delegate": Field(
                FLAG,
                "Whether its processes survive its restart and manage their cgroups.",
                required=False,
                systems=("linux",),
            ),
            "limits": Field(
                VARIABLES,
                "Settings of systemd.exec(5) and systemd.resource-control(5) by name, such as LimitNOFILE.",
                required=False,
                systems=("linux",),
            ),
        },
        compares="Linux: the whole unit file, enabled, active. Windows: every value below its registry key, RUNNING."
        " Both: the recorded digest of each file in restarts_on.",
        sets="Writes the unit or the registry values, enables the service, stops it if it runs, starts it, waits until"
        " it runs.",
        cuts=_STEPPED,
    ),
    "system-service": Kind(
        "A service that is part of Windows starts at boot and runs, or is disabled and stopped.",
        {
            "service": Field(NAME, "Name of the service."),
            "start": Field(one_of("auto", "disabled"), "auto: it starts at boot and runs; disabled: it is stopped."),
        },
        compares="Start in its registry key; with auto, that it has no triggers; and the service's state.",
        sets="Sets the start type in the service manager, with auto removes triggers (they would stop the time service"
        " after each boot of a machine outside a domain), then starts or stops the service.",
        cuts=(Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET),
        systems=("windows",),
    ),
}
