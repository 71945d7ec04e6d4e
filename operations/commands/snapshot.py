"""`mullion snapshot`: have the control plane store a snapshot of etcd now.

It writes a request into a ConfigMap; the active control-plane agent takes the snapshot and writes the answer beside it
(cloud-init/linux/agent/snapshots.py).
"""

import json
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from components.rollout.kubernetes_api import KubernetesApi, Refused, Unreachable
from components.rollout.plain_text import plain
from operations.commands import reached_api
from operations.console.exits import Exit, Stop
from operations.stacks import target

CONFIGMAPS = "/api/v1/namespaces/kube-system/configmaps"
NAME = "mullion-snapshot"
"""Name of the ConfigMap; data.request: an id, data.answer: JSON with `request` and `key` or `error`."""
ANSWER_SECONDS, PAUSE = 330.0, 2.0
"""Longest wait: the agent looks every 10 seconds, and a snapshot may take 300; seconds between two looks."""


def snapshot(name: str, kubeconfig: Path | None) -> None:
    """Request a snapshot, wait for the agent, and print its key. Raises Stop if the agent fails or does not answer."""
    with reached_api.administrator(name, kubeconfig) as text:
        api, request = reached_api.client(text), uuid.uuid4().hex
        try:
            _ask(api, request)
            answer = _answer(api, name, request)
        except (Unreachable, Refused) as error:
            raise Stop(
                Exit.FAILED,
                f"the API of {name} failed: {error}. A request that it stored is still carried out; "
                f"{target.command('restore', name)} --list shows the snapshots",
            ) from error
    if "error" in answer:
        raise Stop(Exit.FAILED, f"the control plane of {name} stored no snapshot: {plain(answer['error'])}")
    key = plain(answer["key"])
    print(f"{name}: stored {key}")
    print(f"Restore it with: {target.command('restore', name)} --snapshot {key}")


def _ask(api: KubernetesApi, request: str) -> None:
    """Write the request, in the place of an earlier one and its answer."""
    document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": "kube-system"},
        "data": {"request": request},
    }
    try:
        api.ask("PUT", f"{CONFIGMAPS}/{NAME}", document)
    except Refused as error:
        if error.status != 404:
            raise
        api.ask("POST", CONFIGMAPS, document)


def _answer(api: KubernetesApi, name: str, request: str) -> dict[str, Any]:
    """Return the agent's answer to this request. Raises Stop if another request replaced it, or if there is none."""
    end = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < end:
        data = api.ask("GET", f"{CONFIGMAPS}/{NAME}").get("data") or {}
        if data.get("request") != request:
            raise Stop(Exit.FAILED, f"another request of a snapshot of {name} replaced this one: run the command again")
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
