"""A cluster's API with an agent that answers requests in a ConfigMap at once."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from components.rollout.kubernetes_api import Refused, Unreachable
from operations.commands import configmap_requests, reached_api

Answer = Callable[[str], Any]


class Api:
    """The ConfigMap of the request, and an agent that writes `answer(request)` beside it.

    started: what the agent writes before. others: further objects by path.
    """

    def __init__(self, configmap: str, answer: Answer) -> None:
        self.configmap = configmap
        self.found: dict[str, Any] | None = None
        self.answer = answer
        self.started: Answer = lambda request: ""
        self.others: dict[str, Any] = {}
        self.replaced_by = ""
        self.is_reachable = True

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        if not self.is_reachable:
            raise Unreachable("nothing answers")
        if method == "GET" and path in self.others:
            return self.others[path]
        place = f"{configmap_requests.CONFIGMAPS}/{self.configmap}"
        if method == "POST":
            assert (path, self.found) == (configmap_requests.CONFIGMAPS, None)
        elif path != place or self.found is None:
            raise Refused(404, "not found")
        if body:
            self.found = copy.deepcopy(body)
            return body
        assert self.found
        request = self.replaced_by or self.found["data"]["request"]
        values = {"answer": self.answer(self.found["data"]["request"]), "started": self.started(request)}
        return {"data": {"request": request} | {name: value for name, value in values.items() if value}}


def answering(monkeypatch: pytest.MonkeyPatch, configmap: str, answer: Answer) -> Api:
    """Return the API that commands reach from now on."""
    made = Api(configmap, answer)
    monkeypatch.setattr(reached_api, "client", lambda text: made)
    for name, seconds in (("BEGIN_SECONDS", 0.1), ("ANSWER_SECONDS", 0.05), ("NOTE_SECONDS", 0.03)):
        monkeypatch.setattr(configmap_requests, name, seconds)
    monkeypatch.setattr(configmap_requests, "PAUSE", 0.01)
    return made
