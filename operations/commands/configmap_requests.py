"""Requests to the active control-plane agent in ConfigMaps of kube-system, which it answers beside them.

cloud-init/linux/agent/configmap_requests.py is the agent's side.
"""

import json
import sys
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from components.rollout.kubernetes_api import KubernetesApi, Refused, Unreachable
from components.rollout.plain_text import plain
from operations.commands import reached_api
from operations.console.exits import Exit, Stop
from operations.stacks import target

CONFIGMAPS = "/api/v1/namespaces/kube-system/configmaps"
"""data.request: an id, data.answer: JSON with `request` and the result or `error`."""
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/mullion-agent"
BEGIN_SECONDS = 660.0
"""Longest wait until an agent begins: it looks every 10 seconds, and one that is busy with snapshots or copies has 300
seconds for each of them, or loses its Lease to another one after 60."""
ANSWER_SECONDS = 330.0
"""Longest wait from then on: a request may take 300 seconds."""
NOTE_SECONDS = 30.0
"""Wait after which a line says which agent is waited for."""
PAUSE = 2.0
"""Seconds between two looks."""


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
    since, machine, noted = time.monotonic(), "", False
    while (waited := time.monotonic() - since) < (ANSWER_SECONDS if machine else BEGIN_SECONDS):
        data = api.ask("GET", f"{CONFIGMAPS}/{configmap}").get("data") or {}
        if data.get("request") != request:
            raise Stop(Exit.FAILED, f"another request of {what} of {name} replaced this one: run the command again")
        if answer := _own(data, "answer", request):
            return answer
        if not machine and (started := _own(data, "started", request)):
            since, machine = time.monotonic(), plain(f"{started.get('machine') or 'an unknown machine'}"[:100])
        elif not machine and not noted and waited > NOTE_SECONDS:
            print(f"mullion: waiting for {what}: no agent has begun it yet; {_active(api)}", file=sys.stderr)
            noted = True
        time.sleep(PAUSE)
    if machine:
        why = f"the agent of {machine} has begun this and did not answer within {ANSWER_SECONDS:.0f} s"
    else:
        why = (
            f"the control plane of {name} did not begin this within {BEGIN_SECONDS:.0f} s; {_active(api)}. It may be"
            f" down, busy, or older than this command ({target.command('up', name)} renews it)"
        )
    raise Stop(Exit.FAILED, f"{why}; {target.command('wait', name)} shows the errors of agents")


def _own(data: dict[str, Any], field: str, request: str) -> dict[str, Any]:
    """Return what an agent wrote about this request; empty if it wrote nothing, or if no agent wrote it."""
    with suppress(ValueError, AttributeError):
        found = json.loads(data.get(field) or "{}")
        if found.get("request") == request:
            return found
    return {}


def _active(api: KubernetesApi) -> str:
    """Return which agent has to begin, and whether its machine's turn keeps it from that."""
    try:
        holder = api.ask("GET", LEASE)["spec"].get("holderIdentity")
        turn = (api.ask("GET", f"{CONFIGMAPS}/mullion-agent").get("data") or {}).get("turn")
    except (Refused, KeyError):
        return "no agent has the Lease kube-system/mullion-agent"
    about = ", and its machine changes now: it begins nothing long meanwhile" if holder and holder == turn else ""
    return f"the agent of {plain(holder)[:100]} has the Lease{about}"
