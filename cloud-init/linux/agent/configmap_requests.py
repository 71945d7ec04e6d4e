"""Requests of `mullion` in ConfigMaps of kube-system, which the active agent answers.

operations/commands/configmap_requests.py writes them. data.request: an id. data.started: JSON, {"request": the id,
"machine", "at": seconds since 1970}, written before anything is done. data.answer: JSON, {"request": the id, and what
was done} or {"request", "error"}. Other values are the request's own.

A request is tried once, also if it ends the agent that tries it: no agent does what another has started. `mullion`
writes another id.
"""

import json
import re
import time
from collections.abc import Callable
from typing import Any

from failure import Failure
from run import Run

from agent.api import Api
from agent.memory import Memory

ID = re.compile(r"[0-9a-f]{32}")
LONGEST = 315
"""Seconds after which another machine's agent cannot work on a request any more: a concern has 300."""
SHOWN = 100
"""Most characters of a request in its answer: a request of another form may be as long as the ConfigMap."""
WRITES = 5
"""Most attempts to write an answer beside changes of other clients."""


def answer(run: Run, api: Api, name: str, function: Callable[[dict[str, str]], dict[str, Any]]) -> None:
    """Do what is requested, if anything, and write the result or the error beside the request. Raise the error.

    name: of the ConfigMap. function: takes its values and returns the result.
    """
    memory = Memory(api, name)
    request = memory.values.get("request", "")
    if not request or parsed(memory, "answer").get("request") == request[:SHOWN]:
        return
    if not ID.fullmatch(request):
        write(run, memory, request, {"error": "data.request is no id: it has 32 digits of 0 to 9 and a to f"})
        return
    started, me = parsed(memory, "started"), run.value("machine.name")
    if started.get("request") == request:
        if interrupted(started, me):
            error = f"the agent of {started.get('machine')} has begun this and ended before it could answer"
            write(run, memory, request, {"error": error})
        return
    if not memory.write(started=json.dumps({"request": request, "machine": me, "at": int(time.time())})):
        return  # changed meanwhile: the next look reads it again
    try:
        outcome, failed = function(memory.values), None
    except Exception as error:
        known = isinstance(error, (Failure, OSError))
        outcome, failed = {"error": f"{error}" if known else f"{type(error).__name__}: {error}"}, error
    write(run, memory, request, outcome)
    if failed:
        raise failed


def parsed(memory: Memory, name: str) -> dict[str, Any]:
    """Return a value's JSON object; empty if it has none."""
    try:
        found: Any = json.loads(memory.values.get(name, ""))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def interrupted(started: dict[str, Any], me: str) -> bool:
    """Return whether nobody works on a started request: this machine's agent does not, as it is here."""
    at = started.get("at")
    return started.get("machine") == me or not isinstance(at, int) or not 0 <= time.time() - at < LONGEST


def write(run: Run, memory: Memory, request: str, outcome: dict[str, Any]) -> None:
    """Write the answer, unless another request has taken the place of this one."""
    if "error" in outcome:
        outcome["error"] = run.redact(outcome["error"])[:500]
    text = json.dumps({"request": request[:SHOWN], **outcome}, sort_keys=True)
    for _ in range(WRITES):
        if memory.values.get("request") != request or memory.write(answer=text):
            return
        memory = Memory(memory.api, memory.name)
