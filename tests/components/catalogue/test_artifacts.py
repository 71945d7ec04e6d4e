"""Artefacts: each has its publisher's URL and a digest or `unknown`; every plan's downloads have an entry."""

import json
import re
from pathlib import Path

import pytest

from components import releases
from components.catalogue import artifacts
from components.node.downloads import needed, wanted
from components.node.role import role
from components.spec.models import Artifacts
from tools.golden.samples import SYSTEMS, plan, spec

ENTRIES = json.loads(Path(artifacts.__file__).with_name("artifacts.json").read_text(encoding="ascii"))

GITHUB = "https://github.com"
K8S = "https://dl.k8s.io"
URLS = {
    "auth-provider-gcp": "https://artifacts.k8s.io/binaries/cloud-provider-gcp/v{version}/auth-provider-gcp/{os}/amd64/",
    "azure-acr-credential-provider": (
        f"{GITHUB}/kubernetes-sigs/cloud-provider-azure/releases/download/v{{version}}"
        "/azure-acr-credential-provider-{os}-amd64"
    ),
    "cni-plugins": f"{GITHUB}/containernetworking/plugins/releases/download/v{{version}}/cni-plugins-{{os}}-amd64-v",
    "containerd": f"{GITHUB}/containerd/containerd/releases/download/v{{version}}/containerd-{{version}}-{{os}}-amd64",
    "cri-dockerd": f"{GITHUB}/Mirantis/cri-dockerd/releases/download/v{{version}}/cri-dockerd-{{version}}.",
    "crictl": f"{GITHUB}/kubernetes-sigs/cri-tools/releases/download/v{{version}}/crictl-v{{version}}-{{os}}-amd64",
    "docker": "https://download.docker.com/win/static/stable/x86_64/docker-{version}.zip",
    "ecr-credential-provider": "https://artifacts.k8s.io/binaries/cloud-provider-aws/v{version}/{os}/amd64/",
    "etcd": f"{GITHUB}/etcd-io/etcd/releases/download/v{{version}}/etcd-v{{version}}-{{os}}-amd64",
    "flannel-cni-plugin": f"{GITHUB}/flannel-io/cni-plugin/releases/download/v{{version}}/flannel-amd64.exe",
    "flanneld": f"{GITHUB}/flannel-io/flannel/releases/download/v{{version}}/flanneld.exe",
    "kubernetes-node": f"{K8S}/v{{version}}/kubernetes-node-{{os}}-amd64.tar.gz",
    "nssm": "https://nssm.cc/ci/nssm-{version}.zip",
    "runc": f"{GITHUB}/opencontainers/runc/releases/download/v{{version}}/runc.amd64",
    "windows_exporter": (
        f"{GITHUB}/prometheus-community/windows_exporter/releases/download/v{{version}}/windows_exporter-{{version}}-am"
        f"d"
        f"6"
        f"4"
    ),
}
"""Start of the publisher's URL of each artefact."""

LENGTHS = {"sha256": 64, "sha512": 128}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda each: f"{each['name']}-{each['version']}-{each['os']}")
def test_every_entry_has_the_publishers_url_one_digest_and_its_source(entry: dict[str, str]) -> None:
    """SRV-02."""
    assert entry["os"] in ("linux", "windows")
    assert entry["url"].startswith(URLS[entry["name"]].format_map(entry)), "right host, name, version and system"
    assert len(entry["source"]) > 10, "the source of the digest"
    (kind,) = {"sha256", "sha512", "digest"} & entry.keys()
    if kind == "digest":
        assert entry["digest"] == artifacts.UNKNOWN
    else:
        assert re.fullmatch(rf"[0-9a-f]{{{LENGTHS[kind]}}}", entry[kind])


def test_the_built_in_entries_are_valid_as_a_users_entries() -> None:
    assert len(Artifacts.model_validate({"entries": ENTRIES}).entries) == len(ENTRIES)


def test_files_and_digests_of_entries_are_unique() -> None:
    keys = [(each["name"], each["version"], each["os"]) for each in ENTRIES]
    digests = [each[kind] for each in ENTRIES for kind in LENGTHS if kind in each]
    assert len(keys) == len(set(keys))
    assert len({each["url"] for each in ENTRIES}) == len(ENTRIES)
    assert len(digests) == len(set(digests)), "a digest that occurs twice was copied to the wrong row"


def test_entries_are_sorted_one_to_a_line() -> None:
    def key(entry: dict[str, str]) -> tuple[str, list[int], str, str]:
        numbers = [int(each) for each in re.findall(r"\d+", entry["version"])]
        return entry["name"], numbers, entry["version"], entry["os"]

    assert sorted(ENTRIES, key=key) == ENTRIES
    lines = Path(artifacts.__file__).with_name("artifacts.json").read_text().splitlines()
    assert len(lines) == len(ENTRIES) + 2, "one line an entry"


def test_the_artifact_file_is_smaller_than_150_kb() -> None:
    assert Path(artifacts.__file__).with_name("artifacts.json").stat().st_size < 150_000


@pytest.mark.parametrize("minor", releases.supported_minors())
def test_every_minor_has_a_patch_with_digests_and_the_newest_have_three(minor: str) -> None:
    patches = [each for each in artifacts.versions("kubernetes-node") if releases.minor(each) == minor]
    several = releases.supported_minors()[-6:-1]
    assert len(patches) >= (3 if minor in several else 1)


@pytest.mark.parametrize("os", [None, *SYSTEMS])
@pytest.mark.parametrize("minor", releases.supported_minors())
def test_every_download_of_every_supported_combination_has_an_entry(minor: str, os: str | None) -> None:
    kubernetes = next(each for each in artifacts.versions("kubernetes-node") if releases.minor(each) == minor)
    subject = role("dev", spec(os, kubernetes=kubernetes), "pool" if os else None)
    for download in wanted(subject):
        assert artifacts.find(download.name, download.version, subject.system).is_pinned, download


def test_find_returns_url_and_digest() -> None:
    artifact = artifacts.find("kubernetes-node", "1.32.13", "windows")
    assert artifact.url == "https://dl.k8s.io/v1.32.13/kubernetes-node-windows-amd64.tar.gz"
    assert artifact.digest.startswith("sha512:")
    assert artifact.file_name == "kubernetes-node-windows-amd64.tar.gz"


def test_versions_lists_what_every_system_has_oldest_first() -> None:
    both = artifacts.versions("kubernetes-node")
    assert both[0] == "1.20.15"
    assert both.index("1.33.9") < both.index("1.33.10"), "sorted as numbers"
    assert both == artifacts.versions("kubernetes-node", "linux") == artifacts.versions("kubernetes-node", "windows")
    assert artifacts.versions("runc", "windows") == ()
    assert artifacts.versions("nothing") == ()


def test_versions_without_a_digest_are_listed_only_on_request() -> None:
    assert "1.37.1" not in artifacts.versions("kubernetes-node")
    assert "1.37.1" in artifacts.BUILT_IN.versions("kubernetes-node", pinned=False)
    assert artifacts.versions("cri-dockerd", "windows") == ()
    assert not artifacts.find("cri-dockerd", "0.4.3", "windows").is_pinned


@pytest.mark.parametrize(
    ("name", "version", "os", "says"),
    [
        ("kubernetes-node", "1.32.1", "linux", "nearest are 1.32.1[1-3]"),
        ("runc", "1.3.6", "windows", "known names are auth-provider-gcp, azure-acr-credential-provider, cni-plugins"),
    ],
)
def test_the_error_for_a_missing_artifact_names_the_nearest(name: str, version: str, os: str, says: str) -> None:
    with pytest.raises(artifacts.UnknownArtifact, match=f"no {name} {version} for {os}; {says}"):
        artifacts.find(name, version, os)


OWN = {
    "name": "kubernetes-node",
    "version": "1.32.13",
    "os": "windows",
    "url": "https://files.example/node.tar.gz",
    "sha256": 64 * "1",
    "size": 5,
}


def _downloads(**options: object) -> dict[str, dict[str, object]]:
    """Return name -> fields of the download steps of a Windows pool."""
    node_plan = plan("windows-2019", artifacts=options)
    return {each.name: dict(each.fields) for each in node_plan.steps if each.kind == "artifact"}


def test_a_users_entry_replaces_the_built_in_one_in_the_plan() -> None:
    ours, theirs = _downloads(), _downloads(entries=[OWN])
    name = "download-kubernetes-node"
    assert (theirs[name]["url"], theirs[name]["digest"], theirs[name]["size"]) == (OWN["url"], f"sha256:{64 * '1'}", 5)
    assert {each for each in ours if ours[each] != theirs[each]} == {name}


@pytest.mark.parametrize("mirror", ["https://mirror.example/k8s", "http://10.0.0.5:8080/", "https://mirror.example"])
def test_a_mirror_is_put_before_the_host_and_keeps_the_digests(mirror: str) -> None:
    """The form is <mirror>/<host>/<path>."""
    ours, theirs = _downloads(), _downloads(mirror=mirror)
    for name, fields in ours.items():
        assert theirs[name]["url"] == f"{mirror.rstrip('/')}/{str(fields['url']).removeprefix('https://')}"
        assert theirs[name]["digest"] == fields["digest"]


def test_a_plan_has_the_fallbacks_of_an_entry_and_with_a_mirror_none() -> None:
    own = {**OWN, "fallbacks": ["https://other.example/node.tar.gz"]}
    assert _downloads(entries=[own])["download-kubernetes-node"]["fallbacks"] == own["fallbacks"]
    assert _downloads()["download-nssm"]["fallbacks"]
    assert not any("fallbacks" in each for each in _downloads(entries=[own], mirror="https://m.example").values())


@pytest.mark.parametrize("os", ["ubuntu-22.04", "windows-2019"])
def test_a_changed_mirror_replaces_no_machine_but_a_changed_digest_does(os: str) -> None:
    system = "windows" if os.startswith("windows") else "linux"
    now = plan(os).replace_digest
    assert plan(os, artifacts={"mirror": "https://mirror.example"}).replace_digest == now
    assert plan(os, artifacts={"entries": [{**OWN, "os": system}]}).replace_digest != now
    known = [{**OWN, "os": system}, {**OWN, "os": system, "fallbacks": ["https://other.example/x"]}]
    assert len({plan(os, artifacts={"entries": [each]}).replace_digest for each in known}) == 1


def test_a_url_on_the_mirror_itself_is_kept() -> None:
    entry = {**OWN, "url": "https://mirror.example/own/node.tar.gz"}
    downloads = _downloads(entries=[entry], mirror="https://mirror.example/")
    assert downloads["download-kubernetes-node"]["url"] == entry["url"]


def test_the_artifacts_that_a_cluster_needs_are_listed_once() -> None:
    listed = needed("dev", spec("windows-2022", {"count": 3}))
    keys = [(each.name, each.os) for each in listed]
    assert len(keys) == len(set(keys))
    both = {("kubernetes-node", "linux"), ("kubernetes-node", "windows")}
    assert both | {("runc", "linux"), ("nssm", "windows")} <= set(keys)
