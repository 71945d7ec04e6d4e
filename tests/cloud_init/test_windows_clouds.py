"""A Windows machine on each of the other clouds: user-data, bundle and executor with the machine's identity."""

import importlib
import json
from pathlib import Path

import pytest

from components.machine.bundle import bundle
from components.node.kinds import ref, step
from components.node.plan import NodePlan, Phase, Scope
from sandbox.boot.windows.winpwsh import Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.windows import NAME, first_boot, tell, windows_scripts

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

TOKEN = "abcdef.0123456789abcdef"
STEPS = (
    step("secret", "token", secret=ref("facts.join_secret"), path=r"C:\k\token"),
    step("file", "joins", path=r"C:\k\joins", content=ref("node.bootstrap_token")),
    step("file", "me", path=r"C:\k\me.json", format="json", content={"providerID": ref("node.provider_id")}),
)


def why_not(cloud: FakeCloud, announced: dict[str, str]) -> str:
    """Return why the control plane's agent does not admit the machine that announced itself."""
    module, name = importlib.import_module(f"clouds.{cloud.facts['cloud']}"), cloud.account.instance
    run = importlib.import_module("run").Run(Path("/nothing"), {"machine": {}, "facts": cloud.facts}, {})
    run.try_for(60)
    if cloud.facts["cloud"] == "azure":
        module._identities.clear()
    module._published.clear()
    return module.disproof(run, announced, name)


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("cloud", ["gcp", "azure"], indirect=True)
def test_a_machine_reads_its_bundle_secret_and_name_and_writes_its_record_with_its_identity(
    machine: Machine, cloud: FakeCloud
) -> None:
    plan = NodePlan("worker", "web", "windows-2019", (Phase("all", Scope.NODE, STEPS),))
    made = bundle(plan, windows_scripts(cloud))
    cloud.objects[f"/{made.key}"] = made.content
    cloud.secrets["join"] = TOKEN
    cloud.fail(cloud.account.token, [404, 429])
    cloud.services.faults.plan(f"* GET /{made.key}", "refuse", "denied")
    facts = {name: cloud.facts[name] for name in ("status_url", "bundle_store")}
    booted = machine.pwsh(first_boot(tell(machine, cloud, made, name=NAME, **facts)))
    assert booted == (0, ""), machine.path(r"C:\ProgramData\mullion\node.log").read_text()
    assert machine.path(r"C:\k\token").read_text() == TOKEN
    assert json.loads(machine.path(r"C:\k\me.json").read_text()) == {"providerID": cloud.account.provider_id}
    announced = json.loads(cloud.objects[f"/bundles/join/AROAEXAMPLE:{cloud.account.instance}.json"])
    assert announced["instance"] == cloud.account.instance
    assert why_not(cloud, announced) == "", "the agent admits it"
    record = json.loads(cloud.objects[f"/status/AROAEXAMPLE:{cloud.account.instance}.json"])
    assert (record["instance"], record["state"]) == (cloud.account.instance, "ready")
    assert machine.path(r"C:\ProgramData\mullion\loader.log").read_text().count("again in") == 3
    denied = [each for each in cloud.refused() if "/metadata/" not in each]
    assert len(denied) == 1, "only the request before the permission existed was refused"
    assert not cloud.failing()
    cloud.asked.clear()
    assert machine.pwsh(r"& C:\user\UserScript.ps1") == (0, "")
    assert cloud.asked == [], "user-data of a later boot sends no request"
    assert len(machine.asked()) == 1, "the boot task was started once"
