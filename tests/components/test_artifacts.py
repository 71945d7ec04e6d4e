"""Artefacts: each pinned, each with its source, the file small."""

import json
import re
from pathlib import Path

import pytest

from components import artifacts

ENTRIES = json.loads(Path(artifacts.__file__).with_name("artifacts.json").read_text(encoding="ascii"))


def test_every_entry_has_one_digest_a_secure_url_and_a_source() -> None:
    lengths = {"sha256": 64, "sha512": 128}
    for entry in ENTRIES:
        (algorithm,) = lengths.keys() & entry.keys()
        assert re.fullmatch(rf"[0-9a-f]{{{lengths[algorithm]}}}", entry[algorithm]), entry
        assert entry["url"].startswith("https://"), entry
        assert entry["source"], entry
        assert entry["os"] in ("linux", "windows"), entry


def test_no_two_entries_are_for_the_same_file() -> None:
    keys = [(each["name"], each["version"], each["os"]) for each in ENTRIES]
    assert len(keys) == len(set(keys))


def test_the_file_stays_small_enough_to_read_in_a_plan() -> None:
    assert Path(artifacts.__file__).with_name("artifacts.json").stat().st_size < 150_000


def test_finding_an_artefact_gives_url_and_digest() -> None:
    found = artifacts.find("kubernetes-node", "1.32.13", "windows")
    assert found.url == "https://dl.k8s.io/v1.32.13/kubernetes-node-windows-amd64.tar.gz"
    assert found.digest.startswith("sha512:")
    assert found.file_name == "kubernetes-node-windows-amd64.tar.gz"


def test_versions_are_those_every_system_has_oldest_first() -> None:
    both = artifacts.versions("kubernetes-node")
    assert both[0] == "1.31.12"
    assert both.index("1.33.9") < both.index("1.33.10"), "sorted as numbers, not as text"
    assert both == artifacts.versions("kubernetes-node", "linux") == artifacts.versions("kubernetes-node", "windows")
    assert artifacts.versions("runc", "windows") == ()
    assert artifacts.versions("nothing") == ()


@pytest.mark.parametrize(
    ("name", "version", "os", "says"),
    [
        ("kubernetes-node", "1.32.1", "linux", "nearest are 1.32.1[1-3]"),
        ("runc", "1.3.6", "windows", "known names are cni-plugins, containerd"),
    ],
)
def test_what_is_missing_names_the_nearest(name: str, version: str, os: str, says: str) -> None:
    with pytest.raises(artifacts.UnknownArtifact, match=f"no {name} {version} for {os}; {says}"):
        artifacts.find(name, version, os)
