"""Machines of the sandbox that are asked for their logs (`mullion logs`): booted ones answer, as their task would.

They only seem to run, so the archive holds a note in the place of logs.
"""

import base64
import io
import json
import zipfile

from sandbox.cloud_state import CloudState
from sandbox.machines import Machines

NOTE = "This machine is one of the sandbox: it only seems to run, and has no logs.\n"


def answer(machines: Machines, cloud_state: CloudState) -> None:
    """Every booted machine looks whether somebody asked; as on real ones, its role says what it may."""
    for boot in cloud_state.boots("ready"):
        machine = cloud_state.find(machines.type, boot.instance)
        found = machines.document(machine.inputs) if machine else None
        if machine is None or found is None:
            continue
        store, status = found["facts"]["bundle_store"], found["facts"]["status_url"]
        name = f"{status.removeprefix(f'{store}/status/')}{machines.instance(machine)}.json"
        request, target = f"{store}/requests/{name}", f"{store}/logs/{name}"
        asked = cloud_state.object(*machines.place(request))
        if asked is None or machines.not_allowed(cloud_state, machine, machines.read, request):
            continue
        body = _body(str(json.loads(asked.content)["id"]))
        bucket, key = machines.place(target)
        before = cloud_state.object(bucket, key)
        if before is not None and before.content == body:
            continue
        if not machines.not_allowed(cloud_state, machine, machines.write, target):
            cloud_state.put_object(
                bucket, key, body, "application/json", versioned=machines.versioned(cloud_state, bucket)
            )


def _body(id: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr(zipfile.ZipInfo("note.txt"), NOTE)
    return json.dumps({"id": id, "archive": base64.b64encode(buffer.getvalue()).decode()}).encode()
