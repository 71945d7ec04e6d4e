"""The Go module in which a program is built: the publisher's go.mod, which fixes the versions of dependencies.

Go ignores `replace` lines of required modules. Kubernetes replaces its staging modules with folders of its repository;
Go module proxies have them as separate modules (v0.N.P).
"""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lab.programs import KUBERNETES, Program

HERE = Path(__file__).parent

NEWER = {
    # reflect2 1.0.1, used up to Kubernetes 1.22, crashes in programs built by Go 1.18 or newer (modern-go/reflect2#22)
    "github.com/modern-go/reflect2 v1.0.1": "github.com/modern-go/reflect2 v1.0.2",
    # no proxy has the fork that cloud controllers take in its place
    "github.com/cel-expr/cel-go v0.31.0": "github.com/google/cel-go v0.29.2",
    # of the same commit as external-snapshotter 8.6.0, which takes it from its own folder
    "github.com/kubernetes-csi/external-snapshotter/client/v8 v8.4.0": (
        "github.com/kubernetes-csi/external-snapshotter/client/v8 v8.6.0"
    ),
}
"""Dependencies that do not work with current Go or cannot be downloaded, and their replacements."""


def lay_out(program: Program, folder: Path, go: Path, environment: Mapping[str, str]) -> None:
    """Write go.mod and go.sum into the folder; also the sources of a program of lab/.

    Raises subprocess.CalledProcessError with Go's message if the module cannot be downloaded.
    """
    source = download(program, go, environment)
    text = (source / "go.mod").read_text(encoding="utf-8")
    (folder / "go.mod").write_text(_requiring(program, text), encoding="utf-8")
    if (source / "go.sum").is_file():
        shutil.copyfile(source / "go.sum", folder / "go.sum")
        (folder / "go.sum").chmod(0o644)
    if (HERE / program.package).is_dir():
        shutil.copytree(HERE / program.package, folder / program.package)


def download(program: Program, go: Path, environment: Mapping[str, str]) -> Path:
    """Download the module's source into Go's cache, which verifies its checksum; return the folder."""
    command = [go, "mod", "download", "-json", f"{program.module}@v{program.version}"]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=900)
    if done.returncode:
        error = json.loads(done.stdout).get("Error", "") if done.stdout.startswith("{") else done.stderr
        raise subprocess.CalledProcessError(done.returncode, command, stderr=error)
    return Path(json.loads(done.stdout)["Dir"])


def _requiring(program: Program, text: str) -> str:
    """Return the publisher's go.mod, changed to a module that requires the publisher's module."""
    text = re.sub(r"^module .*$", "module lab", text, count=1, flags=re.MULTILINE)
    if program.module == KUBERNETES:
        staging = "v0." + program.version.partition(".")[2]
        text = re.sub(r"(k8s\.io/\S+) => \./staging/src/\S+", rf"\1 => \1 {staging}", text)
    for old, new in NEWER.items():
        text = text.replace(old, new)
    # modules in subfolders of the publisher's repository are also published as modules of their own
    text = re.sub(r"^.*=> \.\.?/.*\n", "", text, flags=re.MULTILINE)
    return f"{text}\nrequire {program.module} v{program.version}\n"
