"""Leaves out unused data that the SDK sends to the engine with every resource (tried with SDK 3.272).

Half of a state file is stack traces of the program, with paths of the machine it ran on, and the engine writes the
whole state after each resource. Each debug message is a call of the engine, several per resource, and the engine drops
them.
"""

from typing import Any

import pulumi
from pulumi.runtime import resource
from pulumi.runtime.proto import source_pb2


def lean() -> None:
    """Register resources without stack traces and debug messages from now on; calling it again changes nothing."""
    resource.__dict__["_get_stack_trace"] = source_pb2.StackTrace
    pulumi.log.debug = _unsaid


def _unsaid(msg: str, *more: Any, **options: Any) -> None:
    """Replace pulumi.log.debug with a function that does nothing."""
