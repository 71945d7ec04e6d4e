"""A Linux machine's full boot: user-data, cloud-init, loader, cloud services, bundle, executor, ready record."""

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

pytestmark = [pytest.mark.sampled, pytest.mark.engine, pytest.mark.subprocess]
TOKEN = "abcdef.0123456789abcdef"


@pytest.fixture(scope="module")
def space(site: Lab) -> str:
    """Return the network namespace of the Linux worker, the same for all its disks."""
    return site.join(site.machine("linux"))


@pytest.fixture
def node(site: Lab, space: str, tmp_path: Path) -> Iterator[Node]:
    """Return the Linux worker with a new disk."""
    record = site.machine("linux")
    site.forget(record)
    site.set_secret("join_secret", record, TOKEN)
    machine = Node(site, record, tmp_path / "node", space)
    yield machine
    machine.off()


def reached(node: Node, state: str, bundle: str = "") -> dict[str, Any]:
    """Wait until the machine's record has this state, and return the record."""

    def found() -> dict[str, Any] | None:
        record = node.lab.record(node.record)
        return record if record.get("state") == state and record["bundle"] == (bundle or record["bundle"]) else None

    try:
        return until(found, f"{node.record.name} is {state}")
    except AssertionError as error:
        journal = node.run("journalctl", "-u", "mullion", "--no-pager")
        raise AssertionError(f"{error}; {node.lab.record(node.record)}\n{journal}") from None


def outcomes(node: Node) -> dict[str, str]:
    """Return held or set, by step, of the last run."""
    result = json.loads(node.file("/var/lib/mullion/result.json").read_text())
    return {step["name"]: step["outcome"] for phase in result["phases"] for step in phase["steps"]}


def asked(node: Node, what: Callable[[Asked], bool]) -> list[Asked]:
    """Return the requests so far that match."""
    return [request for request in node.lab.services.asked if what(request)]


def test_a_machine_becomes_ready_after_a_late_identity_and_a_throttled_store_and_again_at_its_next_boot(
    node: Node,
) -> None:
    lab, bundle = node.lab, plans.linux(node.lab, "first")
    lab.store(bundle)
    lab.services.faults.plan("metadata GET /latest/meta-data/iam/*", "status", 404, times=2)
    lab.services.faults.plan(f"s3 GET */{bundle.key}", "throttle")
    lab.name_bundle(node.record, bundle)
    node.boot()
    ready = reached(node, "ready", bundle.sha256)
    document = lab.told(node.record)
    assert (ready["machine"], ready["instance"]) == (document["machine"]["name"], node.record.id)
    assert (ready["kubernetes"], ready["code"]) == ("1.36.4", 0)
    assert lab.services.faults.left() == [], "each fault was used"
    about = json.loads(node.file("/etc/lab/about.json").read_text())
    assert about["node.provider_id"] == f"aws:///{node.record.outputs['availabilityZone']}/{node.record.id}"
    assert about["node.address"] == node.record.outputs["privateIp"]
    assert node.file("/etc/lab/keys/token").read_text() == TOKEN
    assert node.run("systemctl", "is-active", "lab", "mullion-lab.timer") == "active\nactive"
    assert node.run("hostname") == document["machine"]["name"]
    assert TOKEN not in node.run("journalctl", "--no-pager") + node.console()
    wrong = [one for one in lab.services.asked if one.code and one.code != "SlowDown"]
    assert not wrong, "every request was signed and allowed for the machine"
    node.off()
    lab.forget(node.record)
    node.boot()
    reached(node, "ready", bundle.sha256)
    again = {name for name, outcome in outcomes(node).items() if outcome != "held"}
    assert not again, "a second boot sets nothing"
    assert not asked(node, lambda one: bundle.key in one.path), "a second boot fetches no bundle"
    assert node.file("/etc/lab/ran").read_text() == "ran\n"


def test_a_machine_becomes_ready_after_power_cuts_during_downloads(node: Node) -> None:
    lab, bundle = node.lab, plans.linux(node.lab, "second")
    lab.store(bundle)
    lab.services.faults.plan(f"s3 GET */{bundle.key}", "stall")
    lab.name_bundle(node.record, bundle)
    node.boot()
    until(lambda: asked(node, lambda one: bundle.key in one.path), "the bundle is requested")
    node.off()
    assert not node.file("/opt/mullion/current").exists()
    lab.services.faults.release()
    lab.services.faults.plan("s3 GET */tool.tar.gz", "stall")
    node.boot()
    until(lambda: asked(node, lambda one: one.path.endswith("/tool.tar.gz")), "the artifact is requested")
    node.off()
    assert node.file("/opt/mullion/current").is_symlink()
    assert not node.file("/var/cache/lab/tool.tar.gz").exists(), "a partial file does not get its final name"
    lab.services.faults.release()
    node.boot()
    reached(node, "ready", bundle.sha256)
    assert node.file("/opt/lab/bin/tool").read_text() == plans.LINUX_TOOL
    assert node.run("systemctl", "is-active", "lab") == "active"


def test_an_object_with_another_digest_than_the_user_data_names_is_not_unpacked(node: Node) -> None:
    lab, bundle, other = node.lab, plans.linux(node.lab, "third"), plans.linux(node.lab, "evil")
    lab.store(bundle, other.content)
    lab.name_bundle(node.record, bundle)
    node.boot()
    until(
        lambda: other.sha256 in node.run("journalctl", "-u", "mullion", "--no-pager"), "the loader refuses the object"
    )
    assert not node.file("/opt/mullion/bundles").exists()
    assert lab.record(node.record) == {}
    node.off()
    lab.store(bundle)
    node.boot()
    reached(node, "ready", bundle.sha256)


def test_the_programs_own_bundle_arrives_and_the_error_of_its_plan_is_in_the_record(node: Node) -> None:
    """No download succeeds here: the lab serves its own plans, but the program's bundle needs the publishers."""
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
