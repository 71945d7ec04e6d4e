"""The Linux loader against simulated metadata and object store on loopback, which verify signatures."""

import hashlib
import io
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from components.machine.bundle import CLOUD_INIT, bundle, scripts
from components.machine.user_data import document, user_data
from components.node.plan import NodePlan
from tests.cloud_init.cloud import EACH_CLOUD, FakeCloud
from tests.cloud_init.linux import loader_of_user_data

FIRST = bundle(NodePlan("worker", "linux", "ubuntu-22.04", ()), {"node.py": b"print('first')\n", "kinds/a.py": b""})
SECOND = bundle(NodePlan("worker", "linux", "ubuntu-22.04", ()), {"node.py": b"print('second')\n"})
Tell = Callable[..., None]


def machine_json(url: str, sha256: str, facts: Mapping[str, str]) -> str:
    """Return machine.json as user-data writes it beside the loader."""
    text = user_data("linux", document(url, sha256, {"name": "linux-0"}, facts), "aws")
    return yaml.safe_load(text)["write_files"][0]["content"]


@pytest.fixture
def tell(cloud: FakeCloud, tmp_path: Path) -> Tell:
    """Return tell(bundle), which stores the bundle and writes machine.json. Overrides: content, sha256, target."""

    def told(made: Any, content: bytes | None = None, sha256: str | None = None, target: str = "sandbox") -> None:
        cloud.objects[f"/{made.key}"] = made.content if content is None else content
        facts = cloud.facts | {"world": target}
        text = machine_json(f"{cloud.url}/{made.key}", sha256 or made.sha256, facts)
        (tmp_path / "machine.json").write_text(text)

    return told


@EACH_CLOUD
def test_a_bundle_is_downloaded_with_the_machines_identity_and_becomes_current(
    cloud: FakeCloud, loader: ModuleType, tell: Tell, tmp_path: Path
) -> None:
    tell(FIRST)
    loader.main(tmp_path)
    current = tmp_path / "current"
    assert current.readlink() == Path("bundles") / FIRST.sha256, "a relative link survives another mount point"
    assert (current / "node.py").read_bytes() == b"print('first')\n"
    assert (current / "kinds" / "a.py").exists()
    assert not cloud.refused(), "each request has a valid signature or metadata token"
    assert [each.name for each in (tmp_path / "bundles").iterdir()] == [FIRST.sha256], "nothing partial is left"


def test_a_second_run_with_the_same_digest_sends_no_request_and_changes_nothing(
    cloud: FakeCloud, loader: ModuleType, tell: Tell, tmp_path: Path
) -> None:
    tell(FIRST)
    loader.main(tmp_path)
    cloud.asked.clear()
    (tmp_path / "current").unlink()
    (tmp_path / "current").symlink_to("elsewhere")  # the agent may have installed a later bundle since
    loader.main(tmp_path)
    assert cloud.asked == []
    assert (tmp_path / "current").readlink() == Path("elsewhere")


def test_a_new_digest_replaces_the_old_bundle_and_keeps_its_folder(
    loader: ModuleType, tell: Tell, tmp_path: Path
) -> None:
    for made in (FIRST, SECOND):
        tell(made)
        loader.main(tmp_path)
    assert (tmp_path / "current").resolve().name == SECOND.sha256
    assert (tmp_path / "bundles" / FIRST.sha256).is_dir()


def test_a_wrong_digest_is_refused_before_anything_is_unpacked(loader: ModuleType, tell: Tell, tmp_path: Path) -> None:
    tell(FIRST, content=SECOND.content)
    with pytest.raises(loader.Refused, match=f"{SECOND.sha256}, not {FIRST.sha256}"):
        loader.main(tmp_path)
    assert not (tmp_path / "bundles").exists()
    assert not (tmp_path / "current").is_symlink()


@pytest.mark.parametrize(
    ("path", "statuses"),
    [
        (f"/{FIRST.key}", [404, 404, 500]),
        ("/latest/api/token", [503]),
        ("/latest/meta-data/placement/region", [404]),
    ],
    ids=["object", "token", "region"],
)
def test_a_service_that_comes_up_late_is_waited_for(
    cloud: FakeCloud, loader: ModuleType, tell: Tell, tmp_path: Path, path: str, statuses: list[int]
) -> None:
    tell(FIRST)
    cloud.fail(path, statuses)
    loader.main(tmp_path)
    assert (tmp_path / "current").resolve().name == FIRST.sha256
    assert not cloud.failing()


@EACH_CLOUD
def test_an_identity_and_a_permission_that_come_late_are_waited_for(
    cloud: FakeCloud, loader: ModuleType, tell: Tell, tmp_path: Path
) -> None:
    tell(FIRST)
    cloud.fail(cloud.account.token, [404, 400, 429, 500])
    cloud.services.faults.plan(f"* GET /{FIRST.key}", "refuse", "denied", times=2)
    cloud.services.faults.plan(f"* GET /{FIRST.key}", "throttle", nth=3)
    loader.main(tmp_path)
    assert (tmp_path / "current").resolve().name == FIRST.sha256
    assert not cloud.failing()


def test_waits_grow_to_a_minute_and_stay_there(
    loader: ModuleType, tell: Tell, tmp_path: Path, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(FIRST)
    cloud.fail(f"/{FIRST.key}", [404] * 9)
    slept: list[int] = []
    monkeypatch.setattr(loader.time, "sleep", slept.append)
    loader.main(tmp_path)
    assert slept == [1, 2, 4, 8, 15, 30, 60, 60, 60]


def zipped(names: list[str]) -> bytes:
    """Return a zip with these entries."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), b"x")
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["../../evil.py", "/etc/evil.py", "kinds/../../../evil.py"])
def test_an_entry_that_leaves_the_folder_is_refused_and_nothing_is_written(
    loader: ModuleType, tell: Tell, tmp_path: Path, name: str
) -> None:
    content = zipped(["node.py", name])
    tell(FIRST, content=content, sha256=hashlib.sha256(content).hexdigest())
    with pytest.raises(loader.Refused, match="leave its folder"):
        loader.main(tmp_path)
    assert not list(tmp_path.rglob("*.py"))
    assert not (tmp_path / "current").is_symlink()


class Cut(BaseException):
    """A power loss."""


@pytest.mark.parametrize("effect", ["Path.mkdir", "Path.write_bytes", "os.sync", "Path.rename", "Path.symlink_to"])
def test_after_a_power_loss_before_the_switch_the_old_bundle_is_current_and_the_next_run_finishes(
    loader: ModuleType, tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, effect: str
) -> None:
    tell(FIRST)
    loader.main(tmp_path)
    tell(SECOND)

    def cut(*args: Any, **kwargs: Any) -> None:
        raise Cut

    with monkeypatch.context() as patch:
        owner = loader.os if effect.startswith("os.") else Path
        patch.setattr(owner, effect.partition(".")[2], cut)
        with pytest.raises(Cut):
            loader.main(tmp_path)
    assert (tmp_path / "current" / "node.py").read_bytes() == b"print('first')\n"
    loader.main(tmp_path)
    assert (tmp_path / "current" / "node.py").read_bytes() == b"print('second')\n"
    assert not list((tmp_path / "bundles").glob(".*"))


def test_after_a_power_loss_after_the_switch_the_next_run_finishes(
    loader: ModuleType, tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(FIRST)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", lambda *args: (_ for _ in ()).throw(Cut()))
        with pytest.raises(Cut):
            loader.main(tmp_path)
    loader.main(tmp_path)
    assert (tmp_path / "installed").read_text() == FIRST.sha256


def test_plain_http_is_refused_outside_the_sandbox(
    loader: ModuleType, tell: Tell, tmp_path: Path, cloud: FakeCloud
) -> None:
    tell(FIRST, target="aws")
    with pytest.raises(loader.Refused, match="is not https"):
        loader.main(tmp_path)
    assert cloud.asked == []


@pytest.mark.subprocess
@EACH_CLOUD
def test_the_loader_in_user_data_installs_the_executor(cloud: FakeCloud, tmp_path: Path) -> None:
    """Runs the loader as a program from the user-data; only the metadata address is replaced."""
    made = bundle(NodePlan("worker", "linux", "ubuntu-22.04", ()), scripts("linux"))
    cloud.objects[f"/{made.key}"] = made.content
    loader = loader_of_user_data(tmp_path, cloud, f"{cloud.url}/{made.key}", made.sha256)
    ran = subprocess.run([sys.executable, "-B", loader], capture_output=True, text=True, timeout=30, check=False)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert ran.stdout == f"mullion: bundle {made.sha256} is current\n"
    assert (tmp_path / "current" / "node.py").read_bytes() == scripts("linux")["node.py"]


@pytest.mark.subprocess
def test_a_refusal_ends_the_loader_with_one_line(tmp_path: Path) -> None:
    text = (CLOUD_INIT / "linux" / "loader.py").read_text().replace("/opt/mullion", str(tmp_path))
    (tmp_path / "loader.py").write_text(text)
    (tmp_path / "machine.json").write_text(
        machine_json("http://example.org/b.zip", "0" * 64, {"cloud": "aws", "world": "aws"})
    )
    ran = subprocess.run(
        [sys.executable, "-B", tmp_path / "loader.py"], capture_output=True, text=True, timeout=30, check=False
    )
    assert ran.returncode == 1
    assert ran.stderr == "mullion: http://example.org/b.zip is not https\n"
