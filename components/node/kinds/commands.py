"""Kinds of programs that run once, programs that only read, and conditions to wait for."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import ARGUMENTS, DOCUMENT, NAME, PATH, PORT, URL, VARIABLES, exactly_one, one_of

_NEW = OnChange.NEW_NODES
DOWN = ("runtime-down", "kubelet-down", "flanneld-down", "proxy-down", "node-unregistered")
"""Errors of a node that lacks one of its parts (OPS-01); cloud-init/errors.json has them."""

COMMANDS: dict[str, Kind] = {
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
}
