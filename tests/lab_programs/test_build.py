"""Builds of the lab: each program is built once and atomically, from the publisher's module."""

import stat
from pathlib import Path

import pytest

from components import releases
from lab import build, modules
from lab.programs import CNI_CHECK, KUBERNETES, NOT_BUILT, Program, programs

KUBELET = Program("kubelet", "windows", KUBERNETES, "1.37.1", f"{KUBERNETES}/cmd/kubelet")
SERVER = Program("kube-apiserver", "linux", KUBERNETES, "1.24.17", f"{KUBERNETES}/cmd/kube-apiserver")
CHECK = Program(CNI_CHECK, "linux", "example.com/plugins", "1.9.1", CNI_CHECK)

GO_MOD = """module k8s.io/kubernetes

go 1.26.0

godebug default=go1.26

require (
\tgithub.com/blang/semver/v4 v4.0.0
\tk8s.io/api v0.0.0
)

replace (
\tk8s.io/api => ./staging/src/k8s.io/api
\tk8s.io/kube-proxy => ./staging/src/k8s.io/kube-proxy
\tgithub.com/a/b => github.com/c/b v1.0.0
\tgithub.com/modern-go/reflect2 => github.com/modern-go/reflect2 v1.0.1
)
"""

GO = """#!/bin/sh
echo "$GOOS $CGO_ENABLED $*" >> {log}
case "$*" in
  "mod download"*) echo '{{"Dir": "{source}"}}' ;;
  build*) [ -e {source}/broken ] && {{ echo 'undefined: x' >&2; exit 1; }}
          while [ "$1" != -o ]; do shift; done
          mkdir -p "$(dirname "$2")" && cp go.mod "$2" ;;
  version*) echo go version go1.26.8 linux/amd64 ;;
esac
"""
"""Stand-in for Go whose product is the go.mod."""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a Go that logs its calls, and with a module's source."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "go.mod").write_text(GO_MOD)
    (source / "go.sum").write_text("sums\n")
    (source / "go.sum").chmod(stat.S_IRUSR)
    program = tmp_path / "bin" / "go"
    program.parent.mkdir()
    program.write_text(GO.format(log=tmp_path / "log", source=source))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def _asked(folder: Path) -> list[str]:
    return [each for each in (folder / "log").read_text().splitlines() if " build " in each]


@pytest.mark.subprocess
def test_a_program_is_built_once_from_the_publishers_choice_of_modules(go: Path) -> None:
    first = build.build(KUBELET, lambda _: None)
    assert build.build(KUBELET, lambda _: None) == first == build.place(KUBELET)
    [asked] = _asked(go)
    assert asked.startswith("windows 0 build ")
    assert "-X k8s.io/component-base/version.gitVersion=v1.37.1" in asked
    module = first.read_text()
    assert "module lab" in module
    assert "k8s.io/api => k8s.io/api v0.37.1" in module, "staging modules have the same patch version"
    assert "github.com/a/b => github.com/c/b v1.0.0" in module, "other replacements are kept"
    assert "github.com/modern-go/reflect2 v1.0.2" in module, "modules that today's Go needs newer are newer"
    assert "godebug default=go1.26" in module
    assert module.endswith("require k8s.io/kubernetes v1.37.1\n")
    assert "./staging" not in module


@pytest.mark.subprocess
def test_an_api_server_reports_its_version_from_whichever_module_reads_it(go: Path) -> None:
    build.build(SERVER, lambda _: None)
    for module in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        assert f"-X {module}.gitVersion=v1.24.17" in _asked(go)[0]


@pytest.mark.subprocess
def test_a_changed_recipe_builds_again(go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build.build(KUBELET, lambda _: None)
    monkeypatch.setattr(build, "_flags", lambda _: ["-race"])
    assert not build.is_built(KUBELET)
    build.build(KUBELET, lambda _: None)
    assert len(_asked(go)) == 2


@pytest.mark.subprocess
def test_our_own_program_is_built_from_the_sources_here_and_again_when_they_change(
    go: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = go / "own" / CNI_CHECK
    own.mkdir(parents=True)
    (own / "main.go").write_text("package main\n")
    monkeypatch.setattr(modules, "HERE", go / "own")
    build.build(CHECK, lambda _: None)
    assert build.is_built(CHECK)
    assert _asked(go)[0].endswith(f"./{CNI_CHECK}")
    (own / "main.go").write_text("package main // changed\n")
    assert not build.is_built(CHECK)


@pytest.mark.subprocess
def test_a_failed_build_quotes_go_and_leaves_no_file(go: Path) -> None:
    (go / "source" / "broken").touch()
    with pytest.raises(build.NotBuilt, match=r"kubelet 1\.37\.1 for windows: undefined: x"):
        build.build(KUBELET, lambda _: None)
    assert [each.name for each in build.folder().rglob("*") if each.is_file()] == ["lock"]


@pytest.mark.subprocess
def test_the_rest_of_an_interrupted_build_is_removed(go: Path) -> None:
    leftover = build.folder() / "building-cut"
    leftover.mkdir(parents=True)
    build.build(KUBELET, lambda _: None)
    assert not leftover.exists()


@pytest.mark.parametrize("minor", releases.supported_minors())
def test_every_minor_has_programs_each_in_its_own_folder(minor: str) -> None:
    built = programs(f"{minor}.1")
    assert len({build.place(each) for each in built}) == len(built)
    names = {(each.name, each.os) for each in built}
    assert {("kubeadm", "linux"), ("containerd", "windows"), ("kube-proxy", "windows")} <= names
    assert (("kubelet", "windows") in names) == ((minor, "kubelet") not in NOT_BUILT)
