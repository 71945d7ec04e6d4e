"""Bundle files in the cache: written once, readable by the user only, rewritten if changed."""

from pathlib import Path

import pytest

from components.machine.bundle import Bundle
from components.wiring import bundle_files

BUNDLE = Bundle("web", b"content of a bundle", "0" * 64, "bundles/web/0.zip")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def stored() -> Path:
    return Path(str(bundle_files.asset(BUNDLE).path))


def test_a_bundle_is_written_once_to_a_folder_that_only_the_user_reads() -> None:
    first = stored()
    written = first.stat().st_mtime_ns
    assert stored().stat().st_mtime_ns == written
    assert first.read_bytes() == BUNDLE.content
    assert first.parent.stat().st_mode & 0o777 == 0o700


def test_a_changed_file_is_rewritten_even_if_its_size_is_the_same() -> None:
    stored().write_bytes(b"x" * len(BUNDLE.content))
    assert stored().read_bytes() == BUNDLE.content


def test_a_symbolic_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(BUNDLE.content)
    path = stored()
    path.unlink()
    path.symlink_to(elsewhere)
    assert not stored().is_symlink()
    assert elsewhere.read_bytes() == BUNDLE.content


def test_a_relative_cache_folder_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert bundle_files.directory() == tmp_path / ".cache" / "mullion" / "bundles"
