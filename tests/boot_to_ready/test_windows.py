"""A Windows machine's full boot: user-data, EC2Launch, boot task, loader, cloud services, bundle, executor, record."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from tests.awaited import until
from tests.boot_to_ready import plans
from tests.boot_to_ready.lab import Lab
from tests.boot_to_ready.windows import Server, server

pytestmark = [pytest.mark.sampled, pytest.mark.engine, pytest.mark.subprocess, pytest.mark.windows]
TOKEN = "abcdef.0123456789abcdef"
Make = Callable[[str], AbstractContextManager[Server]]


@pytest.fixture(scope="module")
def space(site: Lab) -> str:
    """Return the network namespace of the Windows worker."""
    return site.join(site.machine("web"))


@pytest.fixture
def make(winpwsh: str, site: Lab, space: str, tmp_path: Path) -> Make:
    """Return make(version of EC2Launch): the Windows worker with a new disk."""
    record = site.machine("web")
    site.forget(record)
    site.set_secret("join_secret", record, TOKEN)
    return lambda launch: server(winpwsh, site, record, space, tmp_path / "server", launch)


def test_a_machine_becomes_ready_after_its_restart_with_a_late_identity_and_a_throttled_store(make: Make) -> None:
    with make("v1") as machine:
        lab, bundle = machine.lab, plans.windows(machine.lab, "first")
        lab.store(bundle)
        lab.name_bundle(machine.record, bundle)
        lab.services.faults.plan("metadata GET /latest/meta-data/iam/*", "status", 404)
        lab.services.faults.plan(f"s3 GET */{bundle.key}", "throttle")
        machine.power_on()
        record, document = lab.record(machine.record), lab.told(machine.record)
        assert record["state"] == "ready", (record, machine.log())
        assert (record["machine"], record["instance"]) == (document["machine"]["name"], machine.record.id)
        assert (record["bundle"], record["kubernetes"]) == (bundle.sha256, "1.36.4")
        assert machine.restarts() == 1, "one restart for the host name and the feature"
        assert machine.name == document["machine"]["name"]
        about = json.loads(machine.path(r"C:\lab\about.json").read_text())
        assert about["node.provider_id"] == f"aws:///{machine.record.outputs['availabilityZone']}/{machine.record.id}"
        assert machine.path(r"C:\lab\keys\token").read_text() == TOKEN
        assert machine.path(r"C:\lab\tool\bin\tool.txt").read_text() == "tool\n"
        assert TOKEN not in machine.log() + json.dumps([machine.result(), machine.asked()])
        # no restore wrote epoch.json, and S3 tells a caller without the right to list that it is denied
        judged = [request for request in lab.services.asked if request.path != "/epoch.json"]
        wrong = [request for request in judged if request.code and request.code != "SlowDown"]
        assert not wrong, "every request was signed and allowed for the machine"
        assert machine.path(r"C:\fakes\launched.txt").read_text() == "v1\n", "user-data ran once in two boots"


def test_a_machine_becomes_ready_after_a_wrong_object_and_power_cuts_and_a_second_boot_sets_nothing(make: Make) -> None:
    with make("v2") as machine:
        lab, bundle, other = machine.lab, plans.windows(machine.lab, "second"), plans.windows(machine.lab, "evil")
        current, tool = machine.path(r"C:\Program Files\mullion\current.txt"), machine.path(r"C:\lab\tool.tgz")
        lab.name_bundle(machine.record, bundle)
        lab.store(bundle, other.content)
        named = partial(_logged, machine, other.sha256)
        assert _cut_once(machine, named, "the log has the digest of the wrong object"), machine.log()
        assert not machine.path(r"C:\Program Files\mullion\bundles").exists()
        assert lab.record(machine.record) == {}
        lab.store(bundle)
        lab.services.asked.clear()
        _cut_at(machine, f"s3 GET */{bundle.key}")
        assert not current.exists()
        _cut_at(machine, "s3 GET */tool.tgz")
        assert current.read_text() == bundle.sha256
        assert not tool.exists(), "a partial file does not get its final name"
        machine.power_on()
        assert lab.record(machine.record)["state"] == "ready", machine.log()
        assert machine.path(r"C:\lab\tool\bin\tool.txt").read_text() == "tool\n"
        assert machine.path(r"C:\fakes\launched.txt").read_text() == "v2\n", "user-data ran once in all boots"
        machine.cut()
        lab.forget(machine.record)
        machine.power_on()
        assert lab.record(machine.record)["state"] == "ready"
        assert set(machine.outcomes().values()) == {"held"}
        assert not [request for request in lab.services.asked if bundle.key in request.path], (
            "a second boot fetches no bundle"
        )


def _logged(machine: Server, text: str) -> bool:
    return text in machine.log()


def _asked(machine: Server, ending: str) -> bool:
    return any(request.path.endswith(ending) for request in machine.lab.services.asked)


def _cut_once(machine: Server, reached: Callable[[], bool], doing: str) -> bool:
    """Boot, cut the power once `reached` is true or the task has ended, and return whether it was reached."""
    machine.begin()
    run = next(iter(machine.tasks()))
    until(lambda: run.poll() is not None or reached(), doing)
    met = reached()
    machine.cut()
    run.communicate(timeout=60)
    return met


def _cut_at(machine: Server, route: str) -> None:
    """Boot until a request stalls, then cut the power."""
    services, ending = machine.lab.services, route.rpartition("*")[2]
    services.faults.plan(route, "stall")
    for _ in range(3):  # more than one: the machine restarts on the way
        if _cut_once(machine, partial(_asked, machine, ending), f"{route} is requested"):
            break
    services.faults.release()
