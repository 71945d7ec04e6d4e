"""The Go module that a program is built in: the publisher's own go.mod, so that every dependency is the one it chose.

A module that is required by another loses its replacements, and Kubernetes' staging modules are such ones: they
lie beside it in its repository, but as modules of their own (v0.N.P) in the proxies.
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
    # reflect2 1.0.1 crashes in programs that Go 1.18 or newer built (modern-go/reflect2#22); Kubernetes to 1.22 has it
    "github.com/modern-go/reflect2 v1.0.1": "github.com/modern-go/reflect2 v1.0.2",
}
"""Dependencies of old versions that today's Go needs newer."""


def lay_out(program: Program, folder: Path, go: Path, environment: Mapping[str, str]) -> None:
    """Write go.mod and go.sum into the folder, and our own sources where the program is ours.

    subprocess.CalledProcessError, with what Go said, where the module is not to be had.
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
    """Fetch the module's source into Go's cache, which checks it against the checksum database."""
    command = [go, "mod", "download", "-json", f"{program.module}@v{program.version}"]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=900)
    if done.returncode:
        error = json.loads(done.stdout).get("Error", "") if done.stdout.startswith("{") else done.stderr
        raise subprocess.CalledProcessError(done.returncode, command, stderr=error)
    return Path(json.loads(done.stdout)["Dir"])


def _requiring(program: Program, text: str) -> str:
    """The publisher's go.mod as that of a module which requires the publisher's."""
    text = re.sub(r"^module .*$", "module lab", text, count=1, flags=re.MULTILINE)
    if program.module == KUBERNETES:
        staging = "v0." + program.version.partition(".")[2]
        text = re.sub(r"(k8s\.io/\S+) => \./staging/src/\S+", rf"\1 => \1 {staging}", text)
    for old, new in NEWER.items():
        text = text.replace(old, new)
    # modules that lie in the publisher's own repository are published beside it
    text = re.sub(r"^.*=> \.\.?/.*\n", "", text, flags=re.MULTILINE)
    return f"{text}\nrequire {program.module} v{program.version}\n"
