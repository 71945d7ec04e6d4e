"""The whole way of a Linux machine: user-data, cloud-init, loader, services, bundle, executor, ready record."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from components.machine.bundle import CLOUD_INIT
from sandbox.services.server import Asked
from tests.awaited import until
from tests.boot_to_ready import plans
from tests.boot_to_ready.lab import Lab
from tests.boot_to_ready.linux import Node

pytestmark = [pytest.mark.engine, pytest.mark.subprocess]
TOKEN = "abcdef.0123456789abcdef"


@pytest.fixture(scope="module")
def space(site: Lab) -> str:
    """The network namespace of the Linux worker, the same for each disk that it gets here."""
    return site.join(site.machine("linux"))


@pytest.fixture
def node(site: Lab, space: str, tmp_path: Path) -> Iterator[Node]:
    """The Linux worker with a new disk."""
    record = site.machine("linux")
    site.forget(record)
    site.set_secret("join_secret", record, TOKEN)
    here = Node(site, record, tmp_path / "node", space)
    yield here
    here.off()


def reached(node: Node, state: str, bundle: str = "") -> dict[str, Any]:
    """The machine's record once it says so."""

    def found() -> dict[str, Any] | None:
        record = node.lab.record(node.record)
        return record if record.get("state") == state and record["bundle"] == (bundle or record["bundle"]) else None

    try:
        return until(found, f"{node.record.name} is {state}")
    except AssertionError as error:
        said = node.run("journalctl", "-u", "mullion", "--no-pager")
        raise AssertionError(f"{error}; {node.lab.record(node.record)}\n{said}") from None


def outcomes(node: Node) -> dict[str, str]:
    """held or set, by step, of the last run."""
    result = json.loads(node.file("/var/lib/mullion/result.json").read_text())
    return {step["name"]: step["outcome"] for phase in result["phases"] for step in phase["steps"]}


def asked(node: Node, what: Callable[[Asked], bool]) -> list[Asked]:
    """Requests so far of a sort."""
    return [one for one in node.lab.services.asked if what(one)]


def test_a_machine_becomes_ready_although_identity_and_store_come_late_and_stays_so_at_its_next_boot(
    node: Node,
) -> None:
    lab, made = node.lab, plans.linux(node.lab, "first")
    lab.store(made)
    lab.services.faults.plan("metadata GET /latest/meta-data/iam/*", "status", 404, times=2)
    lab.services.faults.plan(f"s3 GET */{made.key}", "throttle")
    lab.name_bundle(node.record, made)
    node.boot()
    ready = reached(node, "ready", made.sha256)
    told = lab.told(node.record)
    assert (ready["machine"], ready["instance"]) == (told["machine"]["name"], node.record.id)
    assert (ready["kubernetes"], ready["code"]) == ("1.36.4", 0)
    assert lab.services.faults.left() == [], "all of them came"
    about = json.loads(node.file("/etc/lab/about.json").read_text())
    assert about["node.provider_id"] == f"aws:///{node.record.outputs['availabilityZone']}/{node.record.id}"
    assert about["node.address"] == node.record.outputs["privateIp"]
    assert node.file("/etc/lab/keys/token").read_text() == TOKEN
    assert node.run("systemctl", "is-active", "lab", "mullion-lab.timer") == "active\nactive"
    assert node.run("hostname") == told["machine"]["name"]
    assert TOKEN not in node.run("journalctl", "--no-pager") + node.console()
    wrong = [one for one in lab.services.asked if one.code and one.code != "SlowDown"]
    assert not wrong, "every request was signed, and within the machine's rights"
    node.off()
    lab.forget(node.record)
    node.boot()
    reached(node, "ready", made.sha256)
    again = {name for name, outcome in outcomes(node).items() if outcome != "held"}
    assert not again, "a second boot sets nothing"
    assert not asked(node, lambda one: made.key in one.path), "and fetches no bundle"
    assert node.file("/etc/lab/ran").read_text() == "ran\n"


def test_power_that_goes_in_a_download_and_in_a_run_costs_nothing_but_time(node: Node) -> None:
    lab, made = node.lab, plans.linux(node.lab, "second")
    lab.store(made)
    lab.services.faults.plan(f"s3 GET */{made.key}", "stall")
    lab.name_bundle(node.record, made)
    node.boot()
    until(lambda: asked(node, lambda one: made.key in one.path), "the bundle is asked for")
    node.off()
    assert not node.file("/opt/mullion/current").exists()
    lab.services.faults.release()
    lab.services.faults.plan("s3 GET */tool.tar.gz", "stall")
    node.boot()
    until(lambda: asked(node, lambda one: one.path.endswith("/tool.tar.gz")), "the artifact is asked for")
    node.off()
    assert node.file("/opt/mullion/current").is_symlink()
    assert not node.file("/var/cache/lab/tool.tar.gz").exists(), "half a file has not its name"
    lab.services.faults.release()
    node.boot()
    reached(node, "ready", made.sha256)
    assert node.file("/opt/lab/bin/tool").read_text() == plans.LINUX_TOOL
    assert node.run("systemctl", "is-active", "lab") == "active"


def test_an_object_that_is_not_what_the_user_data_names_is_not_unpacked(node: Node) -> None:
    lab, made, other = node.lab, plans.linux(node.lab, "third"), plans.linux(node.lab, "evil")
    lab.store(made, other.content)
    lab.name_bundle(node.record, made)
    node.boot()
    until(lambda: other.sha256 in node.run("journalctl", "-u", "mullion", "--no-pager"), "the loader refuses it")
    assert not node.file("/opt/mullion/bundles").exists()
    assert lab.record(node.record) == {}
    node.off()
    lab.store(made)
    node.boot()
    reached(node, "ready", made.sha256)


def test_the_programs_own_bundle_arrives_and_what_stops_its_plan_is_in_the_record(node: Node) -> None:
    """Where nothing can be downloaded; the lab's own plans have what they need, this one wants the publishers."""
    node.lab.name_own_bundle(node.record)
    sha256 = node.lab.told(node.lab.machine("linux"))["bundle"]["sha256"]
    node.boot()
    failed = reached(node, "failed", sha256)
    assert node.file("/opt/mullion/current").readlink().name == sha256
    codes = {row["name"]: row["code"] for row in json.loads((CLOUD_INIT / "errors.json").read_text())["errors"]}
    assert failed["code"] == codes[failed["name"]]
    result = json.loads(node.file("/var/lib/mullion/result.json").read_text())
    assert (result["state"], result["code"]) == ("failed", failed["code"])
    assert (failed["phase"], failed["step"]) == (result["phase"], result["step"])
