"""Requests to the active control-plane agent in ConfigMaps of kube-system, which it answers beside them.

cloud-init/linux/agent/configmap_requests.py is the agent's side.
"""

import json
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from components.rollout.kubernetes_api import KubernetesApi, Refused, Unreachable
from operations.commands import reached_api
from operations.console.exits import Exit, Stop
from operations.stacks import target

CONFIGMAPS = "/api/v1/namespaces/kube-system/configmaps"
"""data.request: an id, data.answer: JSON with `request` and the result or `error`."""
ANSWER_SECONDS, PAUSE = 330.0, 2.0
"""Longest wait: the agent looks every 10 seconds, and a request may take 300; seconds between two looks."""


def asked(name: str, kubeconfig: Path | None, configmap: str, values: Mapping[str, str], what: str) -> dict[str, Any]:
    """Write a request, wait for the agent's answer and return it; it may have an `error`. Raises Stop without one.

    values: of the request. what: is requested, for messages.
    """
    with reached_api.administrator(name, kubeconfig) as text:
        api, request = reached_api.client(text), uuid.uuid4().hex
        try:
            _ask(api, configmap, {**values, "request": request})
            return _answer(api, name, configmap, request, what)
        except (Unreachable, Refused) as error:
            raise Stop(
                Exit.FAILED,
                f"the API of {name} failed: {error}. A request that it stored is still carried out; "
                f"{target.command('restore', name)} --list shows the snapshots",
            ) from error


def _ask(api: KubernetesApi, configmap: str, values: dict[str, str]) -> None:
    """Write the request, in the place of an earlier one and its answer."""
    document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": configmap, "namespace": "kube-system"},
        "data": values,
    }
    try:
        api.ask("PUT", f"{CONFIGMAPS}/{configmap}", document)
    except Refused as error:
        if error.status != 404:
            raise
        api.ask("POST", CONFIGMAPS, document)


def _answer(api: KubernetesApi, name: str, configmap: str, request: str, what: str) -> dict[str, Any]:
    """Return the agent's answer to this request. Raises Stop if another request replaced it, or if there is none."""
    end = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < end:
        data = api.ask("GET", f"{CONFIGMAPS}/{configmap}").get("data") or {}
        if data.get("request") != request:
            raise Stop(Exit.FAILED, f"another request of {what} of {name} replaced this one: run the command again")
        with suppress(ValueError, AttributeError):  # not written by an agent
            answer = json.loads(data.get("answer") or "{}")
            if answer.get("request") == request:
                return answer
        time.sleep(PAUSE)
    raise Stop(
        Exit.FAILED,
        f"the control plane of {name} did not answer within {ANSWER_SECONDS:.0f} s. Its agent is down, or older than "
        f"this command ({target.command('up', name)} renews it); {target.command('wait', name)} shows its errors",
    )
