"""Answers of simulated machines to requests for logs (`mullion logs`), as the task of real machines writes them.

Simulated machines have no logs, so the archive holds a note.
"""

import base64
import io
import json
import zipfile

from sandbox.cloud_state import CloudState
from sandbox.machines import Machines

NOTE = "This machine is simulated by the sandbox, so it has no logs.\n"


def answer(machines: Machines, cloud_state: CloudState) -> None:
    """Write the answer of each booted machine whose logs are requested, with the rights of the machine's role."""
    for boot in cloud_state.boots("ready"):
        machine = cloud_state.find(machines.type, boot.instance)
        document = machines.document(machine.inputs) if machine else None
        if machine is None or document is None:
            continue
        store, status = document["facts"]["bundle_store"], document["facts"]["status_url"]
        name = f"{status.removeprefix(f'{store}/status/')}{machines.instance(machine)}.json"
        request, target = f"{store}/requests/{name}", f"{store}/logs/{name}"
        requested = cloud_state.object(*machines.place(request))
        if requested is None or machines.not_allowed(cloud_state, machine, machines.read, request):
            continue
        body = _body(str(json.loads(requested.content)["id"]))
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
