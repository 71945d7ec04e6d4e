"""Requests of `mullion` in ConfigMaps of kube-system, which the active agent answers.

operations/commands/configmap_requests.py writes them. data.request: an id. data.answer: JSON, {"request": the id, and
what was done} or {"request", "error"}. Other values are the request's own. A request is tried once; `mullion` writes
another id.
"""

import json
from collections.abc import Callable
from typing import Any

from failure import Failure
from run import Run

from agent.api import Api
from agent.memory import Memory


def answer(run: Run, api: Api, name: str, function: Callable[[dict[str, str]], dict[str, Any]]) -> None:
    """Do what is requested, if anything, and write the result or the error beside the request. Raise the error.

    name: of the ConfigMap. function: takes its values and returns the result.
    """
    memory = Memory(api, name)
    request, answered = memory.values.get("request", ""), memory.values.get("answer", "")
    if not request or f'"request": "{request}"' in answered:
        return
    outcome, failed = dict[str, Any](), None
    try:
        outcome = function(memory.values)
    except (Failure, OSError) as error:
        outcome["error"], failed = run.redact(f"{error}")[:500], error
    memory.write(answer=json.dumps({"request": request, **outcome}, sort_keys=True))
    if failed:
        raise failed
