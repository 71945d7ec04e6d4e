"""Bundles have the same bytes wherever they are made."""

import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from components.machine.bundle import CLOUD_INIT, OsFamily, bundle, scripts
from components.node.kinds import step
from components.node.plan import NodePlan, Phase, Scope, canonical
from components.plan import plan_cluster
from components.spec.models import ClusterSpec

PLAN = NodePlan("worker", "web", "windows-2019", (Phase("system", Scope.IMAGE, (step("reboot", "reboot"),)),))
POOLS = {"web": {"os": "windows-2019"}, "linux": {"os": "ubuntu-22.04"}}
SCRIPTS = {"node.ps1": b"exit 0\n", "modules/files.ps1": b"# files\n", "errors.json": b"{}\n"}
GOLDEN = "8151557e804201f599630d63abee3d500ad5830c52680360e96be04ad3fcaf22"


def test_the_digest_of_a_fixed_plan_and_fixed_scripts_is_golden() -> None:
    """If this digest changes, every new machine gets another bundle, whatever Python or system made it."""
    archive = bundle(PLAN, SCRIPTS)
    assert archive.sha256 == GOLDEN
    assert archive.key == f"bundles/web/{GOLDEN}.zip"
    assert archive.name == "web"


def test_the_order_of_the_scripts_does_not_matter() -> None:
    assert bundle(PLAN, SCRIPTS) == bundle(PLAN, dict(reversed(SCRIPTS.items())))


def test_bundle_entries_are_stored_sorted_and_without_dates_or_owners() -> None:
    with zipfile.ZipFile(io.BytesIO(bundle(PLAN, SCRIPTS).content)) as archive:
        entries = archive.infolist()
        assert [each.filename for each in entries] == ["errors.json", "modules/files.ps1", "node.ps1", "plan.json"]
        assert archive.read("plan.json") == canonical(PLAN.document())
        assert archive.testzip() is None
    assert {each.compress_type for each in entries} == {zipfile.ZIP_STORED}
    assert {each.date_time for each in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {(each.external_attr, each.extra, each.flag_bits) for each in entries} == {(0o100644 << 16, b"", 0)}


@pytest.mark.parametrize("name", ["plan.json", "/etc/x", "../x", "a/../../x", "a\\b"])
def test_a_script_is_refused_if_its_name_leaves_the_folder_or_hides_the_plan(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a script"):
        bundle(PLAN, {name: b""})


@pytest.mark.parametrize(("family", "ending"), [("linux", ".py"), ("windows", ".ps1")])
def test_the_scripts_of_a_system_are_its_executor_its_loader_and_the_shared_tables(
    family: OsFamily, ending: str
) -> None:
    files_of_system, folder = scripts(family), CLOUD_INIT / family
    files = {each.relative_to(folder).as_posix() for each in folder.rglob(f"*{ending}")}
    assert {f"node{ending}", f"loader{ending}"} <= files
    shared = {"errors.json", "redaction.json"}
    others = {each for each in files if each.startswith(("image/", "agent/", "contact/"))}
    assert files_of_system.keys() == files - others | shared, "no machine fetches what makes images or a first contact"
    assert all(files_of_system[each] == (CLOUD_INIT / each).read_bytes() for each in shared)


def test_only_control_planes_have_the_agent() -> None:
    """The agent's code is not on machines that run users' workloads."""
    plan = plan_cluster("dev", ClusterSpec.model_validate({"cloud": "aws", "kubernetes": "1.32.13", "pools": POOLS}))
    with zipfile.ZipFile(io.BytesIO(plan.control_plane.bundle.content)) as archive:
        assert {"agent/__main__.py", "agent/upgrade.py", "node.py"} <= set(archive.namelist())
    for pool in plan.pools:
        with zipfile.ZipFile(io.BytesIO(pool.bundle.content)) as archive:
            assert not [name for name in archive.namelist() if name.startswith("agent/")], pool.name


def test_changes_of_the_returned_scripts_do_not_reach_a_later_bundle() -> None:
    scripts("linux").clear()
    assert "node.py" in scripts("linux")


def test_no_script_exceeds_its_number_of_lines() -> None:
    lengths = {
        path.relative_to(CLOUD_INIT): len(path.read_text(encoding="ascii").splitlines())
        for family in ("linux", "windows")
        for path in Path(CLOUD_INIT / family).rglob("*.p[ys]*")
        if path.suffix != ".pyc"
    }
    # it has code for three clouds; tests/components/machine/test_user_data.py limits the part that a machine gets
    longest = {"loader.ps1": 320}
    assert {name: length for name, length in lengths.items() if length > longest.get(name.name, 260)} == {}


PRINTS_DIGESTS = """
import os, sys
os.umask(int(sys.argv[1], 8))
from components.machine.bundle import bundle, scripts
from components.node import plan_node
from components.spec.models import ClusterSpec
pools = {"web": {"os": "windows-2019"}, "linux": {"os": "ubuntu-22.04"}}
spec = ClusterSpec.model_validate({"cloud": "aws", "kubernetes": "1.32.13", "pools": pools})
for pool in (None, "linux", "web"):
    plan = plan_node("dev", spec, pool)
    print(plan.pool, plan.replace_digest, bundle(plan, scripts(plan.system)).sha256)
"""
PLACES: dict[str, tuple[str, dict[str, str]]] = {
    "here": ("022", {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "0"}),
    "elsewhere": ("077", {"TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "4711", "PYTHONUTF8": "0"}),
}


@pytest.mark.subprocess
def test_bundles_and_both_digests_do_not_depend_on_the_machine(tmp_path: Path) -> None:
    """Varies umask, time zone, locale, hash seed, and the dates and modes of the files."""
    printed: dict[str, str] = {}
    for name, (umask, environment) in PLACES.items():
        copy = tmp_path / name
        for folder in ("components", "cloud-init"):
            shutil.copytree(CLOUD_INIT.parent / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
        for file in (copy / "cloud-init").rglob("*.p[ys]*"):
            os.utime(file, (len(printed) * 1_000_000_000, 0))
            file.chmod(0o600 if printed else 0o755)
        argv = [sys.executable, "-c", PRINTS_DIGESTS, umask]
        whole = {**os.environ, **environment, "PYTHONPATH": str(copy)}
        process = subprocess.run(argv, env=whole, cwd=copy, capture_output=True, text=True, timeout=120, check=False)
        assert process.returncode == 0, process.stderr
        printed[name] = process.stdout
    assert printed["here"].count("\n") == 3
    assert printed["here"] == printed["elsewhere"]


def test_the_two_digests_cover_different_changes() -> None:
    """A changed script gives the same machine another bundle; a changed feature replaces the machine."""
    other = NodePlan("worker", "web", "windows-2019", (Phase("a", Scope.IMAGE, (step("feature", "f", feature="X"),)),))
    assert bundle(PLAN, {"node.ps1": b"exit 1\n"}).sha256 != bundle(PLAN, SCRIPTS).sha256
    assert other.replace_digest != PLAN.replace_digest
    waiting = NodePlan("worker", "web", "windows-2019", (Phase("a", Scope.IMAGE, (step("reboot", "again"),)),))
    assert waiting.replace_digest == PLAN.replace_digest, "a restart is no part of what a machine is"
    assert bundle(waiting, SCRIPTS).sha256 != bundle(PLAN, SCRIPTS).sha256
