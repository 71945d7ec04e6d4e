"""A machine that is asked answers through the store with its own role: with the logs of its real kubelet."""

import base64
import json
import re

import pytest

from sandbox.services.credentials import role_of
from tests.cloud_init.test_linux_logs import unpacked
from tests.lab.joining.conftest import Site
from tests.lab.joining.control_plane import TOKEN

pytestmark = [pytest.mark.lab, pytest.mark.engine]


@pytest.fixture
def asked(site: Site) -> str:
    """The name of the machine's objects, while somebody asks for its logs."""
    role = role_of(site.lab.world, site.worker.record)
    assert role is not None
    name = f"{role.outputs['uniqueId']}:{site.worker.record.id}.json"
    site.lab.put(site.lab.bucket, f"requests/{name}", json.dumps({"id": "lab"}).encode())
    return name


def test_ops_02_the_task_that_was_registered_answers_with_the_kubelets_logs(site: Site, asked: str) -> None:
    task = site.worker.kept("tasks")["mullion-collect-logs"]
    assert task["principal"]["UserId"] == "SYSTEM"
    command = re.search(r'-Command "(.*)"$', task["action"]["Argument"])
    assert command, task
    code, said = site.worker.pwsh(command[1], 240)
    assert code == 0, said
    answer = json.loads(site.lab.world.objects(site.lab.bucket)[f"logs/{asked}"].content)
    files = unpacked(base64.b64decode(answer["archive"]))
    assert "Flag" in files["kubelet/kubelet.log"] or "FLAG" in files["kubelet/kubelet.log"]
    assert site.kubernetes in files["versions/kubelet.txt"]
    assert json.loads(files["mullion/result.json"])["state"] == "done"
    whole = "\n".join(files.values())
    assert TOKEN not in whole
    assert "PRIVATE KEY" not in whole
