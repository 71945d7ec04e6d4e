"""The Windows loader under real PowerShell for Windows, as user-data and as the boot task."""

import hashlib
import socket
import time
import zipfile
from pathlib import Path

import pytest

from components.azure.machines import COMMAND
from components.machine.bundle import CLOUD_INIT, Bundle, bundle
from components.node.plan import NodePlan
from sandbox.boot.windows.winpwsh import MULLION, Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.windows import first_boot, tell, until, windows_scripts

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

DAY = 86400
LOG = r"C:\ProgramData\mullion\loader.log"


def made_of(text: str) -> Bundle:
    """Return a bundle whose executor writes a line and exits with 7."""
    script = f"[IO.File]::AppendAllText('C:\\ran.txt', \"{text}`n\"); exit 7\n"
    return bundle(NodePlan("worker", "web", "windows-2019", ()), {"node.ps1": script.encode(), "modules/a.ps1": b"#"})


@pytest.fixture
def stored(cloud: FakeCloud) -> Bundle:
    """Return a bundle that is in the store."""
    return store(cloud, made_of("first"))


def store(cloud: FakeCloud, made: Bundle) -> Bundle:
    """Put the bundle into the store."""
    cloud.objects[f"/{made.key}"] = made.content
    return made


def current(machine: Machine) -> str:
    """Return the digest of the current bundle; empty if there is none."""
    pointer = machine.path(rf"{MULLION}\current.txt")
    return pointer.read_text() if pointer.exists() else ""


def test_user_data_registers_a_boot_task_that_installs_the_bundle_once_and_runs_it_at_every_boot(
    machine: Machine, stored: Bundle, cloud: FakeCloud
) -> None:
    assert machine.pwsh(f"& {tell(machine, cloud, stored)}") == (0, "")
    (name, task), *others = machine.kept("tasks").items()
    assert (name, others) == ("mullion", [])
    assert task["principal"] == {"UserId": "SYSTEM", "LogonType": "ServiceAccount", "RunLevel": "Highest"}
    assert task["trigger"]["AtStartup"] is True
    assert task["settings"] == {
        "ExecutionTimeLimit": "PT0S", "MultipleInstances": "IgnoreNew", "Priority": 4,
        "RestartCount": 3, "RestartInterval": 60,
    }  # fmt: skip
    assert rf'-File "{MULLION}\loader.ps1"' in task["action"]["Argument"]
    assert machine.asked() == [{"name": "Start-ScheduledTask", "asked": {"TaskName": "mullion"}}]
    assert cloud.asked == [], "only the task sends requests, user-data sends none"

    cloud.fail(f"/{stored.key}", [404])
    cloud.fail("/latest/meta-data/iam/security-credentials/", [404])
    assert machine.boot_task() == (7, ""), "the executor's exit code is the task's"
    assert current(machine) == stored.sha256
    folder = machine.path(rf"{MULLION}\bundles\{stored.sha256}")
    assert sorted(each.name for each in folder.iterdir()) == ["modules", "node.ps1", "plan.json"]
    assert not cloud.refused(), "each request has a valid signature or metadata token"
    assert machine.path(LOG).read_text().count("again in") == 2
    asked = len(cloud.asked)
    assert machine.boot_task() == (7, "")
    assert len(cloud.asked) == asked, "a second run with the same digest sends no request"
    assert machine.path(r"C:\ran.txt").read_text().split() == ["first", "first"]


def test_a_boot_task_that_cannot_be_registered_yet_is_registered_later(
    machine: Machine, stored: Bundle, cloud: FakeCloud
) -> None:
    refuses = "$global:Left = 2; function global:Register-ScheduledTask { if ($global:Left-- -gt 0) "
    refuses += r"{ throw 'WMI is not there yet' }; windows\Register-ScheduledTask @args }; "
    refuses += r"function global:Start-Sleep { [IO.File]::AppendAllText('C:\slept.txt', 'x') }"
    assert machine.pwsh(f"{refuses}; & {tell(machine, cloud, stored)}") == (0, "")
    assert list(machine.kept("tasks")) == ["mullion"]
    assert machine.path(r"C:\slept.txt").read_text() == "xx"
    assert machine.path(LOG).read_text().count("WMI is not there yet") == 2


def test_azures_command_fails_if_the_loader_cannot_start(machine: Machine) -> None:
    """Azure shows an extension whose command ends with 0 as a success."""
    script = COMMAND.partition('-Command "')[2].removesuffix('"')
    assert machine.pwsh(script)[0] == 1, "no custom data"
    data = machine.path(r"C:\AzureData\CustomData.bin")
    data.parent.mkdir(parents=True)
    data.write_text("if (")
    assert machine.pwsh(script)[0] == 1, "not a script"
    data.write_text("exit 7")
    assert machine.pwsh(script)[0] == 7


def test_a_wrong_digest_plain_http_and_an_entry_outside_the_folder_are_refused(
    machine: Machine, cloud: FakeCloud, tmp_path: Path
) -> None:
    evil = tmp_path / "evil.zip"
    with zipfile.ZipFile(evil, "w") as archive:
        archive.writestr("node.ps1", "x")
        archive.writestr("../../evil.ps1", "x")
    good = made_of("first").content
    cases = [
        (good + b"x", hashlib.sha256(good).hexdigest(), "sandbox", "it was changed or is another one"),
        (good, hashlib.sha256(good).hexdigest(), "aws", "is not https"),
        (evil.read_bytes(), hashlib.sha256(evil.read_bytes()).hexdigest(), "sandbox", "leaves its folder"),
    ]
    boots: list[str] = []
    for number, (content, sha256, target, _) in enumerate(cases):
        made = made_of(f"{number}")
        cloud.objects[f"/{made.key}"] = content
        script = machine.path(tell(machine, cloud, made, sha256=sha256, target=target))
        script.rename(script.with_name(f"{number}.ps1"))
        boots.append(first_boot(rf"C:\user\{number}.ps1") + r"; [IO.File]::AppendAllText('C:\codes', $LASTEXITCODE)")
    sleep = "function global:Start-Sleep { throw 'power cut' }"
    machine.pwsh("; ".join([sleep, *boots]))
    assert machine.path(r"C:\codes").read_text() == "111"
    log = [line for line in machine.path(LOG).read_text().splitlines() if "power cut" not in line]
    assert [said in line for (*_, said), line in zip(cases, log, strict=True)] == [True] * 3, log
    assert ["again in" in line for line in log] == [True, False, True], "a later run downloads the right bundle"
    assert current(machine) == ""
    assert not list(machine.drive.rglob("evil.ps1"))


def test_after_a_power_loss_in_the_download_the_old_bundle_is_current_and_the_next_boot_finishes(
    machine: Machine, stored: Bundle, cloud: FakeCloud
) -> None:
    assert machine.pwsh(first_boot(tell(machine, cloud, stored)))[0] == 7
    second = store(cloud, made_of("second"))
    machine.path(rf"{MULLION}\installed.txt").unlink()  # otherwise user-data exits at once
    cloud.hang(f"/{second.key}")
    run = machine.start(first_boot(tell(machine, cloud, second)))
    until(lambda: any(second.key in each for each in cloud.asked))
    machine.cut()
    run.communicate(timeout=30)
    assert current(machine) == stored.sha256
    cloud.release()
    cloud.services.clock = lambda: time.time() + DAY
    assert machine.boot_task()[0] == 7, "the date of the services' answers corrects a clock that is off by a day"
    assert current(machine) == second.sha256
    assert machine.path(r"C:\ran.txt").read_text().split()[-1] == "second"


def test_a_bundle_that_cannot_be_renamed_while_a_scanner_reads_it_is_installed_a_second_later(
    machine: Machine, stored: Bundle, cloud: FakeCloud
) -> None:
    folder = rf"{MULLION}\bundles\.{stored.sha256}"
    scan = rf"[void][IO.Directory]::CreateDirectory('{folder}'); "
    scan += rf"$global:Scanned = [IO.File]::Open('{folder}\scanned', 'Create', 'Write', 'None'); "
    scan += "function global:Start-Sleep { param([int] $Seconds) $Scanned.Dispose(); "
    scan += r"[IO.File]::AppendAllText('C:\slept.txt', $Seconds) }"
    assert machine.pwsh(f"{scan}; {first_boot(tell(machine, cloud, stored))}")[0] == 7
    assert machine.path(r"C:\slept.txt").read_text() == "1"
    assert current(machine) == stored.sha256


def held(file: str, milliseconds: int) -> str:
    """Return a command that opens the file as a scanner does, and closes it after a time."""
    return (
        rf"$scanned = [IO.File]::Open('{file}', 'Open', 'Read', 'Read'); "
        rf"$scan = {{ param($open) [Threading.Thread]::Sleep({milliseconds}); $open.Dispose() }}; "
        "[void][PowerShell]::Create().AddScript($scan).AddArgument($scanned).BeginInvoke()"
    )


def test_a_file_that_a_scanner_reads_for_a_moment_is_replaced_and_one_that_stays_open_is_not(machine: Machine) -> None:
    machine.path(r"C:\loader.ps1").write_bytes((CLOUD_INIT / "windows/loader.ps1").read_bytes())
    for name in ("old", "kept"):
        machine.path(rf"C:\{name}").write_text("first")
    write = r"Set-WholeFile 'C:\{0}' $Utf8.GetBytes('second')"
    parts = [
        r". C:\loader.ps1 -Functions", held(r"C:\old", 300), write.format("old"),
        held(r"C:\kept", 9000), f"try {{ {write.format('kept')} }} catch {{ 'refused' }}", "exit 0",
    ]  # fmt: skip
    assert machine.pwsh("; ".join(parts)) == (0, "refused\n")
    assert [machine.path(rf"C:\{name}").read_text() for name in ("old", "kept")] == ["second", "first"]


def test_a_log_that_another_program_has_open_does_not_end_the_loader(
    machine: Machine, stored: Bundle, cloud: FakeCloud
) -> None:
    script = tell(machine, cloud, stored)
    machine.path(LOG).parent.mkdir(parents=True)
    opened = rf"$global:Opened = [IO.File]::Open('{LOG}', 'Create', 'Write', 'None')"
    cloud.fail(f"/{stored.key}", [404])
    assert machine.pwsh(f"{opened}; {first_boot(script)}")[0] == 7
    assert current(machine) == stored.sha256


def test_a_failed_run_is_repeated_after_a_minute_as_on_linux(machine: Machine, cloud: FakeCloud) -> None:
    script = "$done = [IO.File]::Exists('C:\\ran.txt'); [IO.File]::AppendAllText('C:\\ran.txt', 'x')\n"
    script += "if ($done) { exit 7 }; exit 1\n"
    made = store(cloud, bundle(NodePlan("worker", "web", "windows-2019", ()), {"node.ps1": script.encode()}))
    sleep = "function global:Start-Sleep { param([int] $Seconds) [IO.File]::AppendAllText('C:\\slept.txt', $Seconds) }"
    assert machine.pwsh(f"{sleep}; {first_boot(tell(machine, cloud, made))}")[0] == 7
    assert machine.path(r"C:\ran.txt").read_text() == "xx"
    assert machine.path(r"C:\slept.txt").read_text() == "60"


def test_a_redirect_is_not_followed_because_the_signature_would_go_with_it(
    machine: Machine, stored: Bundle, cloud: FakeCloud
) -> None:
    cloud.services.faults.plan("s3 GET *", "redirect", f"{cloud.url}/public/elsewhere")
    cloud.objects["/public/elsewhere"] = stored.content
    assert machine.pwsh(first_boot(tell(machine, cloud, stored)))[0] == 7, "the store itself answers the next try"
    assert "redirects, with status 30" in machine.path(LOG).read_text()
    assert not [each for each in cloud.asked if "elsewhere" in each]


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ("[Security.Authentication.AuthenticationException]::new('not valid')", "not valid See docs/images.md, roots"),
        ("[Net.Sockets.SocketException]::new(10061)", "refused"),
    ],
    ids=["a certificate", "a port"],
)
def test_a_refused_certificate_is_logged_with_the_page_that_says_how_an_image_gets_its_root(
    machine: Machine, cloud: FakeCloud, failure: str, said: str
) -> None:
    """Both exceptions are inside the one of a request, as .NET throws them. Wine makes no TLS connection."""
    machine.path(r"C:\loader.ps1").write_bytes(windows_scripts(cloud)["loader.ps1"])
    read = f"(Read-Refusal ([Net.WebException]::new('closed', {failure}))).Message"
    code, text = machine.pwsh(rf". C:\loader.ps1 -Functions; [Console]::Out.Write({read}); $global:LASTEXITCODE = 0")
    assert code == 0 and said in text and ("roots" in text) == ("roots" in said)


def test_a_metadata_service_that_does_not_answer_ends_the_request(machine: Machine, cloud: FakeCloud) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}".encode()
        loader = windows_scripts(cloud)["loader.ps1"].replace(cloud.url.encode(), address)
        machine.path(r"C:\loader.ps1").write_bytes(loader)
        ask = "try { Get-AwsMetadata '/latest/meta-data/instance-id' } catch { [Console]::Out.Write('no answer') }"
        said = machine.pwsh(rf". C:\loader.ps1 -Functions; {ask}; $global:LASTEXITCODE = 0")
    assert said == (0, "no answer")
