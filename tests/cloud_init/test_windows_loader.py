"""The Windows loader under real PowerShell for Windows, as user-data and as the boot task."""

import hashlib
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.bundle import Bundle, bundle
from components.node.plan import NodePlan
from sandbox.boot.windows.winpwsh import MULLION, Machine
from tests.cloud_init.cloud import Cloud
from tests.cloud_init.windows import tell, until

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]

DAY = 86400
LOG = r"C:\ProgramData\mullion\loader.log"


def made_of(text: str) -> Bundle:
    """A bundle whose executor writes a line and ends with 7."""
    script = f"[IO.File]::AppendAllText('C:\\ran.txt', \"{text}`n\"); exit 7\n"
    return bundle(NodePlan("worker", "web", "windows-2019", ()), {"node.ps1": script.encode(), "modules/a.ps1": b"#"})


@pytest.fixture
def installed(machine: Machine, cloud: Cloud) -> Iterator[Bundle]:
    """A machine that has run its user-data."""
    made = made_of("first")
    cloud.objects[f"/{made.key}"] = made.content
    assert machine.pwsh(f"& {tell(machine, cloud, made)}") == (0, "")
    yield made
    machine.cut()


def current(machine: Machine) -> str:
    """The digest that the pointer names, or nothing."""
    pointer = machine.path(rf"{MULLION}\current.txt")
    return pointer.read_text() if pointer.exists() else ""


def test_user_data_registers_the_boot_task_as_system_starts_it_and_returns(
    machine: Machine, installed: Bundle, cloud: Cloud
) -> None:
    (name, task), *others = machine.kept("tasks").items()
    assert (name, others) == ("mullion", [])
    assert task["principal"] == {"UserId": "SYSTEM", "LogonType": "ServiceAccount", "RunLevel": "Highest"}
    assert task["trigger"]["AtStartup"] is True
    assert task["settings"] == {"ExecutionTimeLimit": 0, "MultipleInstances": "IgnoreNew"}
    assert rf'-File "{MULLION}\loader.ps1"' in task["action"]["Argument"]
    assert machine.asked() == [{"name": "Start-ScheduledTask", "asked": {"TaskName": "mullion"}}]
    assert cloud.asked == [], "the task fetches, user-data does not"


def test_the_boot_task_installs_the_bundle_once_and_runs_its_executor_at_every_boot(
    machine: Machine, installed: Bundle, cloud: Cloud
) -> None:
    cloud.fail(f"/{installed.key}", [404])
    cloud.fail("/latest/meta-data/iam/security-credentials/", [404])
    assert machine.boot_task() == (7, ""), "the executor's exit code is the task's"
    assert current(machine) == installed.sha256
    folder = machine.path(rf"{MULLION}\bundles\{installed.sha256}")
    assert sorted(each.name for each in folder.iterdir()) == ["modules", "node.ps1", "plan.json"]
    assert not cloud.refused(), "each request has a valid signature or metadata token"
    assert machine.path(LOG).read_text().count("again in") == 2
    asked = len(cloud.asked)
    assert machine.boot_task() == (7, "")
    assert len(cloud.asked) == asked, "a second run with the same digest asks nothing"
    assert machine.path(r"C:\ran.txt").read_text().split() == ["first", "first"]


def test_a_wrong_digest_plain_http_and_an_entry_that_leaves_are_refused(
    machine: Machine, installed: Bundle, cloud: Cloud, tmp_path: Path
) -> None:
    good = cloud.objects[f"/{installed.key}"]
    evil = tmp_path / "evil.zip"
    with zipfile.ZipFile(evil, "w") as archive:
        archive.writestr("node.ps1", "x")
        archive.writestr("../../evil.ps1", "x")
    cases = [
        (good + b"x", installed.sha256, "sandbox", "it was changed or is another one"),
        (good, installed.sha256, "aws", "is not https"),
        (evil.read_bytes(), hashlib.sha256(evil.read_bytes()).hexdigest(), "sandbox", "leaves its folder"),
    ]
    for content, sha256, world, said in cases:
        cloud.objects[f"/{installed.key}"] = content
        machine.pwsh(f"& {tell(machine, cloud, installed, sha256=sha256, world=world)}")
        assert machine.boot_task() == (1, "")
        assert said in machine.path(LOG).read_text().splitlines()[-1]
        assert current(machine) == ""
        assert not list(machine.drive.rglob("evil.ps1"))


def test_a_power_cut_in_the_download_leaves_the_old_bundle_current_and_the_next_boot_finishes(
    machine: Machine, installed: Bundle, cloud: Cloud
) -> None:
    machine.boot_task()
    second = made_of("second")
    cloud.objects[f"/{second.key}"] = second.content
    machine.path(rf"{MULLION}\installed.txt").unlink()  # else user-data ends at once
    machine.pwsh(f"& {tell(machine, cloud, second)}")
    cloud.hang(f"/{second.key}")
    run = machine.start(rf"& '{MULLION}\loader.ps1'")
    until(lambda: any(second.key in each for each in cloud.asked))
    machine.cut()
    run.communicate(timeout=30)
    assert current(machine) == installed.sha256
    cloud.release()
    cloud.services.clock = lambda: time.time() + DAY
    assert machine.boot_task()[0] == 7, "a clock that is off by a day is the services' to correct"
    assert current(machine) == second.sha256
    assert machine.path(r"C:\ran.txt").read_text().split()[-1] == "second"


def test_a_run_that_failed_is_tried_again_after_a_minute_as_on_linux(machine: Machine, cloud: Cloud) -> None:
    script = "$done = [IO.File]::Exists('C:\\ran.txt'); [IO.File]::AppendAllText('C:\\ran.txt', 'x')\n"
    script += "if ($done) { exit 7 }; exit 1\n"
    made = bundle(NodePlan("worker", "web", "windows-2019", ()), {"node.ps1": script.encode()})
    cloud.objects[f"/{made.key}"] = made.content
    machine.pwsh(f"& {tell(machine, cloud, made)}")
    sleep = "function global:Start-Sleep { param([int] $Seconds) [IO.File]::AppendAllText('C:\\slept.txt', $Seconds) }"
    assert machine.pwsh(rf"{sleep}; & '{MULLION}\loader.ps1'")[0] == 7
    assert machine.path(r"C:\ran.txt").read_text() == "xx"
    assert machine.path(r"C:\slept.txt").read_text() == "60"


def test_a_redirect_is_not_followed_since_the_signature_would_go_with_it(
    machine: Machine, installed: Bundle, cloud: Cloud
) -> None:
    cloud.services.faults.plan("s3 GET *", "redirect", f"{cloud.url}/public/elsewhere")
    cloud.objects["/public/elsewhere"] = cloud.objects[f"/{installed.key}"]
    assert machine.boot_task()[0] == 7, "the next try is answered by the store itself"
    assert "redirects, with status 30" in machine.path(LOG).read_text()
    assert not [each for each in cloud.asked if "elsewhere" in each]
