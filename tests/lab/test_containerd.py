"""containerd reads each rendered config.toml without a warning and applies all settings, on both systems."""

from pathlib import Path

import pytest

from tests.lab.conftest import Find
from tests.lab.judge import Judgement, Windows, run
from tests.lab.rendered import Rendered

pytestmark = pytest.mark.lab


@pytest.fixture(params=["linux", "windows"])
def os(request: pytest.FixtureRequest) -> str:
    return request.param


def _files(rendered: tuple[Rendered, ...], os: str) -> dict[str, str]:
    """Return each different config.toml once, by machine; machines with Docker have none."""
    found: dict[str, str] = {}
    for each in rendered:
        if (each.pool == "windows") == (os == "windows") and each.has("containerd-config"):
            found.setdefault(each.content("containerd-config"), each.name)
    return {name: text for text, name in found.items()}


def dump(path: Path, config: str, folder: Path, windows: Windows | None) -> Judgement:
    """Return `containerd config dump` of a config.toml."""
    if windows is None:
        (folder / "config.toml").write_text(config, encoding="utf-8")
        return run([path, "--config", folder / "config.toml", "config", "dump"], folder)
    program = windows.install(path, r"C:\lab\containerd.exe")
    windows.path(r"C:\lab\config.toml").write_text(config, encoding="utf-8")
    return windows.run([program, "--config", r"C:\lab\config.toml", "config", "dump"])


def _settings(text: str) -> set[str]:
    """Return lines with settings, with one kind of quotes: containerd writes single or double quotes."""
    lines = (line.strip() for line in text.splitlines() if " = " in line)
    return {line.replace("'", '"').replace("\\\\", "\\") for line in lines}


def _objections(config: str, said: Judgement) -> list[str]:
    """Return warnings, and settings that containerd drops: 1.x drops unknown settings silently."""
    lost = sorted(_settings(config) - _settings(said.text))
    return said.objections + [f"left out: {each}" for each in lost] + ([said.text[-800:]] if said.code else [])


def test_every_config_is_read_without_a_warning(
    rendered: tuple[Rendered, ...], os: str, program: Find, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """RUN-06, RUN-07."""
    path = program("containerd", os)
    machine = request.getfixturevalue("windows") if os == "windows" else None
    files = _files(rendered, os)
    assert len(files) > 1
    for name, config in files.items():
        judgement = dump(path, config, tmp_path, machine)
        assert _objections(config, judgement) == [], name


def test_a_misspelt_key_is_found(
    rendered: tuple[Rendered, ...], os: str, program: Find, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Proves that the check above finds faults."""
    machine = request.getfixturevalue("windows") if os == "windows" else None
    config = next(iter(_files(rendered, os).values()))
    wrong = config.replace("conf_dir =", "conf_dirr =")
    assert wrong != config
    judgement = dump(program("containerd", os), wrong, tmp_path, machine)
    assert _objections(wrong, judgement)
