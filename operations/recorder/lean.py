"""What the SDK sends to the engine with every resource, and nobody reads: left out (SDK 3.272, tried).

Half of a state file are stack traces of the program, with the paths of the machine it ran on; the engine writes all of
the state again after each resource. Debug messages are a call of the engine each, several per resource, and it drops
them.
"""

from typing import Any

import pulumi
from pulumi.runtime import resource
from pulumi.runtime.proto import source_pb2


def lean() -> None:
    """Register without stack traces and debug messages from now on; to say it again changes nothing."""
    resource.__dict__["_get_stack_trace"] = source_pb2.StackTrace
    pulumi.log.debug = _unsaid


def _unsaid(msg: str, *more: Any, **options: Any) -> None:
    """In the place of pulumi.log.debug."""
