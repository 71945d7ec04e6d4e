"""`tools/read_release.py 1.38.0`: print the rows that components/releases/ needs for a Kubernetes version.

Downloads the Go modules of Kubernetes and compares their sources with the minor before it in the tables.
Ends with 1 if the tables have the version's minor and differ from the sources.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path[0] = str(ROOT)  # replaces tools/, so no file there shadows a module

from components import releases  # noqa: E402
from components.releases import documents, flag_tables, gate_tables, kubeadm_fields  # noqa: E402
from components.releases.kubernetes import RELEASES  # noqa: E402
from components.releases.spans import Spans  # noqa: E402
from lab import go_toolchain, modules  # noqa: E402
from lab.build import say  # noqa: E402
from lab.programs import KUBERNETES, Program  # noqa: E402
from tools import go_sources  # noqa: E402
from tools.go_sources import sources  # noqa: E402

STAGED = (
    *("apiserver", "apiextensions-apiserver", "client-go", "cloud-provider", "component-base", "controller-manager"),
    *("kubelet", "kube-proxy"),
)
"""Modules k8s.io/... with sources that the tables name; their versions are 0.N.P."""

OF_EVERY_PROGRAM = frozenset({"help", "version"})
"""Flags that spf13/pflag and component-base/version/verflag add; their names are in no call of these sources."""

TOGGLES = frozenset({"AllAlpha", "AllBeta"})
"""Gates that component-base/featuregate adds to every component."""

ELSEWHERE = "end_of_life, containerd, crictl, credential_provider, metrics_server"
"""Fields of `Release` whose values are not in these sources."""


@dataclass(frozen=True)
class Table:
    """One table of components/releases/. rows: its content. read: names in the sources, with their kinds."""

    module: str
    name: str
    rows: Spans
    read: Mapping[str, str]

    def held(self, minor: str) -> Mapping[str, str]:
        """Return the names that the table has for a minor, with their kinds."""
        return {name: span.kind for span in self.rows if span.covers(minor) for name in span.names}

    def changes(self, before: str, minor: str) -> Iterator[str]:
        """Yield the rows that describe the minor after the minor `before`, as the table writes them."""
        held = self.held(before)
        added: dict[str, list[str]] = {}
        for name in sorted(self.read.keys() - held.keys()):
            added.setdefault(self.read[name], []).append(name)
        for kind, names in sorted(added.items()):
            yield f"{kind} {minor}-: {' '.join(names)}".strip()
        gone = held.keys() - self.read.keys()
        for span in self.rows:
            if span.covers(before) and gone.intersection(span.names):
                names = sorted(gone.intersection(span.names))
                yield f"{span.kind} {span.first}-{before}: {' '.join(names)}".strip()

    def errors(self, minor: str) -> Iterator[str]:
        """Yield the differences between the table and the sources."""
        held = self.held(minor)
        for name in sorted(self.read.keys() ^ held.keys()):
            yield f"{self.name}: {name} is {'missing' if name in self.read else 'not in the sources'}"


class Modules:
    """The Go modules of one Kubernetes version, downloaded and checked by Go."""

    def __init__(self, version: str) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            go = go_toolchain.find_go(Path(scratch), say)
            staged = "0." + version.partition(".")[2]
            wanted = {KUBERNETES: version, **{f"k8s.io/{name}": staged for name in STAGED}}
            self._folders = {
                module: modules.download(Program(module, "linux", module, of_module, module), go, os.environ)
                for module, of_module in wanted.items()
            }

    def folder(self, module: str, *below: str) -> Path:
        """Return a folder or file of a module, without k8s.io/."""
        return self._folders[f"k8s.io/{module}"].joinpath(*below)

    def kubernetes(self, *paths: str) -> tuple[Path, ...]:
        """Return folders or files of k8s.io/kubernetes."""
        return tuple(self.folder("kubernetes", path) for path in paths)


def tables(found: Modules, minor: str) -> tuple[Table, ...]:
    """Return every table with the names that the sources have."""
    return (*_field_tables(found, minor), *_gate_tables(found, minor), *_flag_tables(found))


def release_fields(found: Modules) -> Mapping[str, str]:
    """Return the fields of `Release` that kubeadm's constants have."""
    named = go_sources.constants(sources(*found.kubernetes("cmd/kubeadm/app/constants/constants.go")))
    return {
        "pause": named["PauseVersion"],
        "etcd": named["DefaultEtcdVersion"],
        "coredns": f"coredns/coredns:{named['CoreDNSVersion']}",
    }


def kubeadm_versions(found: Modules) -> list[str]:
    """Return the API versions of the documents that kubeadm reads."""
    (folder,) = found.kubernetes("cmd/kubeadm/app/apis/kubeadm")
    return sorted(path.name for path in folder.glob("v*") if (path / "types.go").is_file())


def tested_with(found: Modules) -> Mapping[str, str]:
    """Return versions of other programs with which Kubernetes tests this version."""
    (file,) = found.kubernetes("build/dependencies.yaml")
    rows = yaml.safe_load(file.read_text(encoding="utf-8"))["dependencies"]
    return {row["name"]: str(row["version"]) for row in rows if row["name"] in ("cni", "crictl")}


def _field_tables(found: Modules, minor: str) -> Iterator[Table]:
    logs = found.folder("component-base", "logs/api/v1")
    kubelet = sources(found.folder("kubelet", "config/v1beta1"), logs, found.folder("component-base", "tracing/api/v1"))
    of_kubelet = go_sources.fields(kubelet, "KubeletConfiguration")
    yield Table("kubelet_fields.py", "KUBELET", documents.FIELDS["kubelet"], of_kubelet)
    client = found.folder("component-base", "config/v1alpha1")
    proxy = sources(found.folder("kube-proxy", "config/v1alpha1"), logs, client)
    of_proxy = go_sources.fields(proxy, "KubeProxyConfiguration")
    yield Table("kube_proxy_fields.py", "KUBE_PROXY", documents.FIELDS["kube-proxy"], of_proxy)
    known_minor = minor if minor in RELEASES else releases.supported_minors()[-1]
    version = RELEASES[known_minor].kubeadm_api.rpartition("/")[2]
    apis = "cmd/kubeadm/app/apis"
    kubeadm = sources(*found.kubernetes(f"{apis}/kubeadm/{version}", f"{apis}/bootstraptoken"))
    for name, kind in (("CLUSTER", "Cluster"), ("INIT", "Init"), ("JOIN", "Join")):
        read = go_sources.fields(kubeadm, f"{kind}Configuration")
        yield Table("kubeadm_fields.py", name, documents.FIELDS[f"{kind}Configuration"], read)


def _gate_tables(found: Modules, minor: str) -> Iterator[Table]:
    folders = [found.folder(name, "pkg/features") for name in ("kubernetes", "apiserver", "apiextensions-apiserver")]
    text = sources(*folders, found.folder("client-go", "features"), found.folder("component-base"))
    # controller-manager only names its constants: gates that kubelets know too are registered in k8s.io/kubernetes
    names = go_sources.constants(text + sources(found.folder("controller-manager", "pkg/features")))
    read = {gate.name: gate.locked for gate in go_sources.gates(text, names, minor)}
    yield Table("gate_tables.py", "KNOWN", gate_tables.KNOWN, dict.fromkeys(TOGGLES | read.keys(), ""))
    # the table keeps the locks of removed gates
    alive = tuple(replace(span, names=tuple(read.keys() & span.names)) for span in gate_tables.LOCKED)
    locks = {name: "on" if value else "off" for name, value in read.items() if value is not None}
    yield Table("gate_tables.py", "LOCKED", alive, locks)
    text = sources(*found.kubernetes("cmd/kubeadm/app/features"))
    gates = (gate.name for gate in go_sources.gates(text, go_sources.constants(text), minor))
    yield Table("kubeadm_fields.py", "GATES", kubeadm_fields.GATES, dict.fromkeys(gates, ""))


def _flag_tables(found: Modules) -> Iterator[Table]:
    base = [found.folder("component-base", path) for path in ("logs/api/v1", "featuregate")]
    for name, table, paths in (
        ("KUBELET", flag_tables.KUBELET, ("cmd/kubelet/app/options", "pkg/kubelet/config")),
        ("KUBE_PROXY", flag_tables.KUBE_PROXY, ("cmd/kube-proxy/app",)),
    ):
        places = (*found.kubernetes(*paths), *base)
        everywhere = OF_EVERY_PROGRAM | go_sources.flags(sources(*places, windows=False))
        windows = go_sources.flags(sources(*places))
        kinds = {name: "all" if name in everywhere else "windows" for name in windows | everywhere}
        yield Table("flag_tables.py", name, table + flag_tables.LOGGING, kinds)
    commands = [f"cmd/kube-{name}/app" for name in ("apiserver", "controller-manager", "scheduler")]
    own = ("pkg/kubeapiserver", "pkg/controlplane", "plugin/pkg/admission/defaulttolerationseconds")
    text = sources(
        *found.kubernetes(*commands, *own),
        *(found.folder("component-base", path) for path in ("metrics", "compatibility", "config")),
        *base,
        *_cloud_options(found),
        found.folder("apiserver", "pkg/server/options"),
        found.folder("controller-manager"),
        found.folder("client-go", "tools/leaderelection"),
    )
    read = OF_EVERY_PROGRAM | go_sources.flags(text, ("log", "webhook"))
    logging = tuple(replace(span, kind="") for span in flag_tables.LOGGING)
    yield Table("flag_tables.py", "CONTROL_PLANE", flag_tables.CONTROL_PLANE + logging, dict.fromkeys(read, ""))


def _cloud_options(found: Modules) -> Iterator[Path]:
    """Yield the files of k8s.io/cloud-provider whose options kube-controller-manager takes."""
    used = sources(*found.kubernetes("cmd/kube-controller-manager/app/options/options.go"))
    for file in ("cloudprovider.go", "kubecloudshared.go", "servicecontroller.go"):
        if file != "servicecontroller.go" or "cpoptions.ServiceControllerOptions" in used:
            yield found.folder("cloud-provider", "options", file)


def report(found: Modules, minor: str, before: str) -> Iterator[str]:
    """Yield the lines to print: the rows by which the minor differs from `before`."""
    old = RELEASES[before]
    yield f'kubernetes.py, CHANGES: "{minor}":'
    for field, value in release_fields(found).items():
        if getattr(old, field) != value:
            yield f'    "{field}": "{value}",'
    yield f"  not in the sources: {ELSEWHERE}"
    yield f"  kubeadm reads {', '.join(kubeadm_versions(found))}; plans of {before} write {old.kubeadm_api}"
    others = ", ".join(f"{name} {version}" for name, version in tested_with(found).items())
    yield f"  Kubernetes tests it with {others}; the tables have cni {releases.CNI_PLUGINS}"
    for table in tables(found, minor):
        rows = list(table.changes(before, minor))
        yield f"{table.module}, {table.name}:{'' if rows else ' no change'}"
        yield from (textwrap.fill(row, 119, subsequent_indent="  ", break_on_hyphens=False) for row in rows)


def errors(found: Modules, minor: str) -> Iterator[str]:
    """Yield the differences between the tables and the sources of a minor that the tables have."""
    row = RELEASES[minor]
    for field, value in release_fields(found).items():
        if getattr(row, field) != value:
            yield f"CHANGES: {field} is {getattr(row, field)}, in the sources {value}"
    for table in tables(found, minor):
        yield from table.errors(minor)


def main() -> int:
    """Print the rows; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("version", help="a patch of the minor, such as 1.38.0")
    version = parser.parse_args().version
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        parser.error(f"{version} is not a full version: write 1.38.0")
    minor = releases.minor(version)
    older = [name for name in RELEASES if releases.in_order((name, minor))[0] == name != minor]
    if not older:
        parser.error(f"the tables have no minor before {minor} to compare with; they begin with {next(iter(RELEASES))}")
    try:
        found = Modules(version)
    except (go_toolchain.GoError, subprocess.CalledProcessError) as error:
        parser.exit(1, f"{getattr(error, 'stderr', None) or error}\n")
    print("\n".join(report(found, minor, older[-1])))
    if minor not in RELEASES:
        return 0
    differences = list(errors(found, minor))
    print("\n".join(differences) or f"The tables agree with the sources of {minor}.")
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
