"""`mullion versions`: what fits together, and what is over."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from typer.testing import Result

from components import releases
from components.catalogue.artifacts import BUILT_IN
from operations.commands import versions

Mullion = Callable[..., Result]


@pytest.fixture(autouse=True)
def a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "today", lambda: date(2026, 11, 21))


def rows(text: str) -> dict[str, str]:
    return {line.split()[0]: line for line in text.splitlines() if line.strip()}


def test_every_minor_is_listed_with_its_newest_patch_and_end_of_support(mullion: Mullion) -> None:
    ended = mullion("versions")
    assert ended.exit_code == 0, ended.output
    found = rows(ended.output)
    for minor in releases.supported_minors():
        assert releases.release(minor).end_of_life in found[minor]
        assert versions.newest(minor) in found[minor]
        assert versions.newest(minor) in BUILT_IN.versions("kubernetes-node"), "only what has a digest is offered"
    assert "ended" in found["1.34"]
    assert "ended" not in found["1.35"]
    assert ended.output.count("https://") == len(versions.SOURCES)


def test_a_windows_release_is_listed_only_where_kubernetes_supports_it(mullion: Mullion) -> None:
    found = rows(mullion("versions").output)
    assert "2025" in found["1.33"]
    assert "2022, 2025" not in found["1.32"]
    assert "2019 (untested)" in found["1.33"]
    assert "dockershim" in found["1.23"]
    assert "cri-dockerd" in found["1.24"]


@pytest.mark.parametrize(
    ("end", "said"),
    [("2026-11-20", "ended"), ("2026-11-21", "ends in 0 days"), ("2027-02-19", "ends in 90 days"), ("2027-02-20", "")],
)
def test_an_end_is_near_for_ninety_days_and_over_the_day_after(end: str, said: str) -> None:
    assert versions.state(end, date(2026, 11, 21)) == said


def test_versions_of_a_stack_names_ended_versions_and_each_upgrade_to_a_supported_one(
    mullion: Mullion, clone: Path
) -> None:
    file = clone / "stacks" / "Pulumi.small.yaml"
    assert "Nothing to do." in mullion("versions", "small").output
    file.write_text(file.read_text().replace("1.36.4", "1.33.13"))
    found = mullion("versions", "small").output
    hops = [versions.newest(each) for each in ("1.34", "1.35", "1.36", "1.37")]
    assert f"Kubernetes 1.33.13: upgrade one minor at a time: {', '.join(hops)}" in found
    assert "no supported containerd works with Kubernetes 1.33" in found


def test_versions_counts_the_days_to_the_end_of_support(
    mullion: Mullion, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "today", lambda: date(2027, 6, 1))
    assert "ends in 27 days" in mullion("versions", "small").output


def test_default_versions_of_a_cluster_fit_together_by_the_table() -> None:
    for minor in releases.supported_minors():
        line = releases.minor(releases.release(minor).containerd.version)
        assert versions.takes(minor, line)


def test_an_unknown_stack_is_refused_before_anything_is_printed(mullion: Mullion, clone: Path) -> None:
    result = mullion("versions", "1.37")
    assert (result.exit_code, result.stdout) == (2, "")
