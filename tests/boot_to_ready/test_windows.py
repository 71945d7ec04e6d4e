"""The whole way of a Windows machine: user-data, EC2Launch, boot task, loader, services, bundle, executor, record."""

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

pytestmark = [pytest.mark.engine, pytest.mark.subprocess, pytest.mark.windows]
TOKEN = "abcdef.0123456789abcdef"
Make = Callable[[str], AbstractContextManager[Server]]


@pytest.fixture(scope="module")
def space(site: Lab) -> str:
    """The network namespace of the Windows worker."""
    return site.join(site.machine("web"))


@pytest.fixture
def make(winpwsh: str, site: Lab, space: str, tmp_path: Path) -> Make:
    """make(version of EC2Launch): the Windows worker with a new disk."""
    record = site.machine("web")
    site.forget(record)
    site.set_secret("join_secret", record, TOKEN)
    return lambda launch: server(winpwsh, site, record, space, tmp_path / "server", launch)


def test_a_machine_becomes_ready_over_its_restart_although_identity_and_store_come_late(make: Make) -> None:
    with make("v1") as here:
        lab, made = here.lab, plans.windows(here.lab, "first")
        lab.store(made)
        lab.name_bundle(here.record, made)
        lab.services.faults.plan("metadata GET /latest/meta-data/iam/*", "status", 404)
        lab.services.faults.plan(f"s3 GET */{made.key}", "throttle")
        here.power_on()
        record, told = lab.record(here.record), lab.told(here.record)
        assert record["state"] == "ready", (record, here.log())
        assert (record["machine"], record["instance"]) == (told["machine"]["name"], here.record.id)
        assert (record["bundle"], record["kubernetes"]) == (made.sha256, "1.36.4")
        assert here.restarts() == 1, "for its name and the feature together"
        assert here.name == told["machine"]["name"]
        about = json.loads(here.path(r"C:\lab\about.json").read_text())
        assert about["node.provider_id"] == f"aws:///{here.record.outputs['availabilityZone']}/{here.record.id}"
        assert here.path(r"C:\lab\keys\token").read_text() == TOKEN
        assert here.path(r"C:\lab\tool\bin\tool.txt").read_text() == "tool\n"
        assert TOKEN not in here.log() + json.dumps([here.result(), here.asked()])
        wrong = [one for one in lab.services.asked if one.code and one.code != "SlowDown"]
        assert not wrong, "every request was signed, and within the machine's rights"
        assert here.path(r"C:\fakes\launched.txt").read_text() == "v1\n", "user-data ran once, over two boots"


def test_a_wrong_object_and_power_that_goes_cost_nothing_but_time_and_a_second_boot_sets_nothing(make: Make) -> None:
    with make("v2") as here:
        lab, made, other = here.lab, plans.windows(here.lab, "second"), plans.windows(here.lab, "evil")
        current, tool = here.path(r"C:\Program Files\mullion\current.txt"), here.path(r"C:\lab\tool.tgz")
        lab.name_bundle(here.record, made)
        lab.store(made, other.content)
        here.power_on()
        assert other.sha256 in here.log(), "it says what it got"
        assert not here.path(r"C:\Program Files\mullion\bundles").exists()
        assert lab.record(here.record) == {}
        here.cut()
        lab.store(made)
        lab.services.asked.clear()
        _cut_at(here, f"s3 GET */{made.key}")
        assert not current.exists()
        _cut_at(here, "s3 GET */tool.tgz")
        assert current.read_text() == made.sha256
        assert not tool.exists(), "half a file has not its name"
        here.power_on()
        assert lab.record(here.record)["state"] == "ready", here.log()
        assert here.path(r"C:\lab\tool\bin\tool.txt").read_text() == "tool\n"
        assert here.path(r"C:\fakes\launched.txt").read_text() == "v2\n", "user-data ran once, over all boots"
        here.cut()
        lab.forget(here.record)
        here.power_on()
        assert lab.record(here.record)["state"] == "ready"
        assert set(here.outcomes().values()) == {"held"}
        assert not [one for one in lab.services.asked if made.key in one.path], "it fetches no bundle"


def _asked(here: Server, ending: str) -> bool:
    return any(one.path.endswith(ending) for one in here.lab.services.asked)


def _cut_at(here: Server, route: str) -> None:
    """Boot until a request stalls, and take the power away."""
    services, ending = here.lab.services, route.rpartition("*")[2]
    services.faults.plan(route, "stall")
    for _ in range(3):  # restarts on the way
        here.begin()
        run = next(iter(here.tasks()))
        asked = partial(_asked, here, ending)
        until(lambda ended=run.poll, asked=asked: ended() is not None or asked(), f"{route} is asked")
        met = asked()
        here.cut()
        run.communicate(timeout=60)
        if met:
            break
    services.faults.release()
