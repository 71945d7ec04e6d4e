"""Kinds that run something: services, tasks, programs, packages, waits."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import (
    ARGUMENTS,
    COUNT,
    DOCUMENT,
    FLAG,
    NAME,
    NAMES,
    PATH,
    PATHS,
    PORT,
    TEXT,
    URL,
    VARIABLES,
    exactly_one,
    one_of,
)

_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_NEW = OnChange.NEW_NODES

DOWN = ("runtime-down", "kubelet-down", "flanneld-down", "proxy-down", "node-unregistered")
"""Errors of a node that lacks one of its parts (OPS-01); cloud-init/errors.json has them."""

PROGRAMS: dict[str, Kind] = {
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
    "command": Kind(
        "A program ran to its end with exit code 0.",
        {
            "argv": Field(ARGUMENTS, "Program and arguments, one word each; no shell."),
            "creates": Field(PATH, "It is not run when this file exists.", required=False),
            "requires": Field(PATH, "It is not due while this file does not exist.", required=False),
            "environment": Field(VARIABLES, "Added to its variables.", required=False),
            "input": Field(DOCUMENT, "Its standard input; what is no text is given as JSON.", required=False),
        },
        compares="That `creates` exists; without it, that it ran in this run.",
        sets="Runs it; with its time over, it and all that it started are ended (402).",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
        seconds=600,
    ),
    "probe": Kind(
        "A program that only reads says what is expected. It never counts as set.",
        {
            "argv": Field(ARGUMENTS, "Program and arguments; it must change nothing, for --check runs it too."),
            "expect": Field(
                NAME,
                "Regular expression that its output, without space at both ends, matches as a whole;"
                " default: anything but nothing. The words of it that Python and .NET share.",
                required=False,
            ),
            "message": Field(NAME, "What a failure says (405), before what the program said."),
            "records": Field(one_of("mtu", "os_version"), "The output becomes node.<this>.", required=False),
        },
        compares="Its exit code (0) and its output.",
        sets="nothing",
        cuts=(),
        on_change=_NEW,
    ),
    "wait": Kind(
        "The condition holds.",
        {
            "condition": Field(
                exactly_one(
                    {
                        "address": NAME,
                        "url": URL,
                        "file": PATH,
                        "service": NAME,
                        "tcp": {"type": "array", "prefixItems": [NAME, PORT], "items": False, "minItems": 2},
                    }
                ),
                "{address: A}: the address is this machine's, or the name resolves; {tcp: [host, port]}: it takes"
                " connections; {url: U}: it answers below 500; {file: P}: it exists; {service: S}: it runs"
                ", and on Windows has run for two seconds where this run of the executor started it.",
            ),
            "error": Field(
                one_of(*DOWN), "The error that ends the run when the time is over; default 404.", required=False
            ),
        },
        compares="The condition.",
        sets="Asks again every 2 seconds until the time is over (404, or the error).",
        cuts=(Cut.BEFORE_SET,),
        on_change=_NEW,
        seconds=300,
    ),
    "package": Kind(
        "The Debian package is installed in this version.",
        {
            "package": Field(NAME, "Its name."),
            "version": Field(NAME, "Its whole version."),
            "source": Field(PATH, "The .deb file; an earlier artifact step gets it."),
        },
        compares="dpkg-query's status and version.",
        sets="dpkg --install, without questions, keeping changed configuration; dpkg --configure --pending first,"
        " after a cut.",
        undo="another version of the package",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
        systems=("linux",),
        seconds=600,
    ),
    "user": Kind(
        "The system user exists; it has no password.",
        {
            "user": Field({"type": "string", "pattern": "^[a-z_][a-z0-9_-]{0,31}$"}, "Its name, also of its group."),
            "home": Field(PATH, "Its home; default /nonexistent. It is not made.", required=False),
            "groups": Field(NAMES, "Groups it is in too; they must exist. Others that it is in stay.", required=False),
        },
        compares="getent's entry (home, shell /usr/sbin/nologin), and its groups.",
        sets="useradd --system, or usermod.",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
        systems=("linux",),
    ),
}
