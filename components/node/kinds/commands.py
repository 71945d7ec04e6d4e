"""Kinds of programs that run once, programs that only read, and conditions to wait for."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import ARGUMENTS, DOCUMENT, NAME, PATH, PORT, URL, VARIABLES, exactly_one, one_of

_NEW = OnChange.NEW_NODES
DOWN = ("runtime-down", "kubelet-down", "flanneld-down", "proxy-down", "node-unregistered")
"""Errors of a node with a service that does not run (OPS-01); cloud-init/errors.json defines them."""

COMMANDS: dict[str, Kind] = {
    "command": Kind(
        "A program ran and ended with exit code 0.",
        {
            "argv": Field(ARGUMENTS, "Program and arguments, one word each; no shell."),
            "creates": Field(PATH, "Do not run the program if this file exists.", required=False),
            "requires": Field(PATH, "Skip the step while this file does not exist.", required=False),
            "environment": Field(VARIABLES, "Additional environment variables.", required=False),
            "input": Field(DOCUMENT, "Standard input; a value other than text is written as JSON.", required=False),
        },
        compares="That `creates` exists; without it, that the program ran in this run of the executor.",
        sets="Runs it; at the time limit kills the program and all processes that it started (402).",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
        seconds=600,
    ),
    "probe": Kind(
        "A program that only reads prints the expected output. The step never counts as set.",
        {
            "argv": Field(ARGUMENTS, "Program and arguments; it must change nothing, because --check runs it too."),
            "expect": Field(
                NAME,
                "Regular expression, in the syntax that Python and .NET share, that matches the whole output without"
                " space at both ends; default: any output that is not empty.",
                required=False,
            ),
            "message": Field(NAME, "Message of a failure (405), before the program's output."),
            "records": Field(
                one_of("mtu", "os_version"), "Reference node.<records> that gets the output.", required=False
            ),
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
                "{address: A}: the machine has the address, or the name resolves; {tcp: [host, port]}: the port accepts"
                " connections; {url: U}: the status is below 500; {file: P}: the file exists; {service: S}: the service"
                " runs (on Windows for at least two seconds if this run of the executor started it).",
            ),
            "error": Field(one_of(*DOWN), "Error that ends the run at the time limit; default 404.", required=False),
        },
        compares="The condition.",
        sets="Checks again every 2 seconds until the time limit (404, or the error).",
        cuts=(Cut.BEFORE_SET,),
        on_change=_NEW,
        seconds=300,
    ),
}
