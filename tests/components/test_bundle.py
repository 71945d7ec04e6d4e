"""Bundles are the same byte for byte wherever they are made."""

import io
import zipfile
from pathlib import Path

import pytest

from components.bundle import CLOUD_INIT, OsFamily, bundle, scripts
from components.node.kinds import step
from components.node.plan import NodePlan, Phase, Scope, canonical

PLAN = NodePlan("worker", "web", "windows-2019", (Phase("system", Scope.IMAGE, (step("reboot", "reboot"),)),))
SCRIPTS = {"node.ps1": b"exit 0\n", "modules/files.ps1": b"# files\n", "errors.json": b"{}\n"}
GOLDEN = "8151557e804201f599630d63abee3d500ad5830c52680360e96be04ad3fcaf22"


def test_the_digest_of_a_fixed_plan_and_fixed_scripts_is_golden() -> None:
    """A change here means that every machine made from now on gets another bundle, on every Python and system."""
    made = bundle(PLAN, SCRIPTS)
    assert made.sha256 == GOLDEN
    assert made.key == f"bundles/web/{GOLDEN}.zip"
    assert made.name == "web"


def test_the_order_of_the_scripts_does_not_matter() -> None:
    assert bundle(PLAN, SCRIPTS) == bundle(PLAN, dict(reversed(SCRIPTS.items())))


def test_entries_are_stored_sorted_and_without_dates_or_owners() -> None:
    with zipfile.ZipFile(io.BytesIO(bundle(PLAN, SCRIPTS).content)) as archive:
        entries = archive.infolist()
        assert [each.filename for each in entries] == ["errors.json", "modules/files.ps1", "node.ps1", "plan.json"]
        assert archive.read("plan.json") == canonical(PLAN.document())
        assert archive.testzip() is None
    assert {each.compress_type for each in entries} == {zipfile.ZIP_STORED}
    assert {each.date_time for each in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {(each.external_attr, each.extra, each.flag_bits) for each in entries} == {(0o100644 << 16, b"", 0)}


@pytest.mark.parametrize("name", ["plan.json", "/etc/x", "../x", "a/../../x", "a\\b"])
def test_a_script_whose_name_would_leave_the_folder_or_hide_the_plan_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a script"):
        bundle(PLAN, {name: b""})


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (
            "linux",
            {"errors.json", "node.py", "run.py", "failure.py", "loader.py", "kinds/__init__.py", "kinds/files.py"},
        ),
        ("windows", {"errors.json", "node.ps1", "loader.ps1", "modules/run.ps1", "modules/files.ps1"}),
    ],
)
def test_the_scripts_of_a_system_are_its_executor_its_loader_and_the_error_table(
    family: OsFamily, expected: set[str]
) -> None:
    found = scripts(family)
    assert expected <= found.keys()
    assert not [name for name in found if "__pycache__" in name or name.endswith(".yaml")]
    assert found["errors.json"] == (CLOUD_INIT / "errors.json").read_bytes()


def test_what_a_caller_does_with_the_scripts_changes_no_later_bundle() -> None:
    scripts("linux").clear()
    assert "node.py" in scripts("linux")


def test_no_script_is_so_large_that_a_reader_gives_up() -> None:
    lengths = {
        each.relative_to(CLOUD_INIT): len(each.read_text(encoding="ascii").splitlines())
        for family in ("linux", "windows")
        for each in Path(CLOUD_INIT / family).rglob("*.p[ys]*")
        if each.suffix != ".pyc"
    }
    assert {name: length for name, length in lengths.items() if length > 260} == {}
