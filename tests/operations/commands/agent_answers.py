"""A cluster's API with an agent that answers requests in a ConfigMap at once."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from components.rollout.kubernetes_api import Refused, Unreachable
from operations.commands import configmap_requests, reached_api

Answer = Callable[[str], Any]


class Api:
    """The ConfigMap of the request, and an agent that writes `answer(request)` beside it."""

    def __init__(self, configmap: str, answer: Answer) -> None:
        self.configmap = configmap
        self.found: dict[str, Any] | None = None
        self.answer = answer
        self.replaced_by = ""
        self.is_reachable = True

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        if not self.is_reachable:
            raise Unreachable("nothing answers")
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
        answer = self.answer(self.found["data"]["request"])
        return {"data": {"request": request} | ({"answer": answer} if answer else {})}


def answering(monkeypatch: pytest.MonkeyPatch, configmap: str, answer: Answer) -> Api:
    """Return the API that commands reach from now on."""
    made = Api(configmap, answer)
    monkeypatch.setattr(reached_api, "client", lambda text: made)
    monkeypatch.setattr(configmap_requests, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(configmap_requests, "PAUSE", 0.01)
    return made
