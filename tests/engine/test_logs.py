"""`mullion logs`: request and answer pass through the bundle store, with the roles that the program created."""

import io
import re
import subprocess
import sys
import zipfile
from itertools import product

import pytest

from operations.console.exits import Exit
from operations.engine.locate import Engine
from sandbox.boot.cloud_services import services_of
from sandbox.cloud_state import CloudState
from sandbox.log_requests import NOTE

from . import sampling
from .clone import Clone

pytestmark = [pytest.mark.sampled, pytest.mark.engine]


@pytest.fixture(scope="module", params=sampling.one(sampling.FOR_CI))
def clone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    """A built cluster."""
    return Clone(
        tmp_path_factory.mktemp("clone"), engine, sampling.drawn(request.param, sampling.FOR_CI, "logs")
    ).built()


def test_ops_02_logs_writes_the_archive_prints_an_issue_template_and_leaves_no_request(clone: Clone) -> None:
    refused = clone.run("logs", clone.stack, "windows-0")
    assert refused.returncode == Exit.USAGE
    assert f"the sandbox of {clone.stack} is not booted" in refused.stderr
    ran = fetch(clone, "windows-0")
    assert ran.returncode == Exit.OK, ran.stderr
    found = re.match(r"(\S+\.zip) \(", ran.stdout)
    assert found, ran.stdout
    with zipfile.ZipFile(io.BytesIO((clone.folder / found[1]).read_bytes())) as packed:
        assert packed.read("note.txt").decode() == NOTE
    assert "\n/sig windows\n" in ran.stdout
    assert not [each for each in objects(clone) if each.startswith("requests/")]
    assert not clone.differences()


def test_a_machine_that_does_not_exist_is_refused_with_the_names_of_all_machines(clone: Clone) -> None:
    ran = fetch(clone, "web-7")
    assert "no machine 'web-7'; it has control-plane-0, " in ran.stderr


def fetch(clone: Clone, machine: str) -> subprocess.CompletedProcess[str]:
    """Fetch the logs of a simulated machine, which the command refuses."""
    code = f"from operations.commands.logs import fetch; fetch({clone.stack!r}, {machine!r}, None)"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=clone.folder,
        env=clone.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def objects(clone: Clone) -> list[str]:
    """Return the keys of all objects in the sandbox."""
    cloud_state = CloudState(clone.sandbox / "world.db")
    try:
        return [row[0] for row in cloud_state.connection.execute("SELECT key FROM objects WHERE etag <> ''")]
    finally:
        cloud_state.close()


def test_a_machine_reads_no_request_and_writes_no_answer_of_another_group(clone: Clone) -> None:
    """Only AWS distinguishes machines of a group: tests/components/aws/test_access.py."""
    with clone.cloud_state() as cloud_state:
        machines = services_of(cloud_state).machines
        told = [(each, machines.document(each.inputs)) for each in services_of(cloud_state).records(cloud_state)]
        places = {each.id: machines.status_url(found, machines.instance(each)) for each, found in told if found}
        assert len(places) == 2, "a control plane and a worker"
        for (machine, _), (key, place) in product(told, places.items()):
            rights = ((machines.read, "requests"), (machines.write, "logs"))
            for action, folder in rights:
                refused = machines.not_allowed(cloud_state, machine, action, place.replace("/status/", f"/{folder}/"))
                assert bool(refused) is (machine.id != key), f"{action} {folder} of {key} by {machine.id}: {refused}"
