"""`make audit`: look up published advisories about what a clone installs and builds. Needs the network.

pip-audit (of tools/audit.lock) asks OSV about each package of the locks; govulncheck (of tools/govulncheck) asks Go's
database about the code that the programs of GO_FILES and the lab's own programs call. Exit code of
`python -m tools.audit` (make has its own): 3 if there is an advisory; 2 if a database did not answer for every package,
so the audit is incomplete; 1 if pip-audit or govulncheck could not be installed, built or run.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab import modules
from lab.go_toolchain import TOOLS, GoError, find_go, run
from lab.programs import own_programs
from operations.engine.build import MODULE
from tools.go_programs import package
from tools.golden.plans import NEWEST

ROOT = TOOLS.parent
LOCKS = (
    "requirements.lock",
    "components/requirements.txt",
    "portal/requirements.txt",
    "tools/go.lock",
    "tools/audit.lock",
)
"""Files of packages with hashes that this clone, the component package, the portal in production and this program
install.
"""
GO_FILES = ("tools/go.mod", "tools/actionlint/go.mod", "tools/govulncheck/go.mod", "tools/pulumi-yaml/go.mod")
"""Modules of the programs that a clone builds: the Pulumi engine, and tools."""
OSV, GO = "https://api.osv.dev/v1/query", "https://vuln.go.dev"
"""Databases of advisories: of Python's packages, and of Go's modules."""
FOUND, INCOMPLETE, FAULT = 3, 2, 1
"""Exit codes. FAULT: a program could not be installed, built or run; Python ends with it too at a fault of this one."""
GO_FOUND = 3
"""Exit code of govulncheck with an advisory (golang.org/x/vuln v1.9.0, internal/scan/errors.go)."""
MINUTES = 20


@dataclass(frozen=True)
class Verdict:
    """Result for one lock: advisories, or why it could not be audited."""

    subject: str
    found: tuple[str, ...] = ()
    silent: str = ""
    """Why the database's answer is incomplete; empty if it is complete."""

    def lines(self) -> Iterator[str]:
        """Yield the lines to print."""
        if self.silent:
            yield f"{self.subject}: not audited: {self.silent}"
        elif not self.found:
            yield f"{self.subject}: no advisory"
        for each in self.found:
            yield f"{self.subject}: {each}"


def of_pip_audit(lock: str, code: int, out: str, log: str) -> Verdict:
    """Return pip-audit's verdict, from its exit code, its JSON on standard output, and standard error."""
    try:
        packages = json.loads(out)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Verdict(lock, silent=f"{OSV} gave no answer (pip-audit, exit code {code}: {_last(log)})")
    skipped = [each["name"] for each in packages if "skip_reason" in each]
    found = tuple(_advisory(each, one) for each in packages for one in each.get("vulns", ()))
    return Verdict(lock, found, silent=f"{OSV} has no answer about {', '.join(skipped)}" if skipped else "")


def of_govulncheck(subject: str, code: int, out: str, log: str) -> Verdict:
    """Return govulncheck's verdict about a go.mod or a folder of lab/.

    code, out, log: its exit code, its text on standard output, and standard error.
    """
    if code == GO_FOUND:
        named = (line for line in out.splitlines() if line.startswith("Vulnerability #"))
        return Verdict(subject, tuple(line.partition(": ")[2] for line in named))
    why = f"{GO} gave no answer (govulncheck, exit code {code}: {_last(log)})" if code else ""
    return Verdict(subject, silent=why)


def main() -> int:
    """Print the verdict about each lock; return the exit code."""
    verdicts, faults = list[Verdict](), 0
    with tempfile.TemporaryDirectory(prefix="mullion-audit-") as scratch:
        for ask in (_python, _go):
            try:
                for verdict in ask(Path(scratch)):
                    verdicts.append(verdict)
                    print(*verdict.lines(), sep="\n", flush=True)
            except (GoError, OSError, subprocess.SubprocessError) as error:
                print(f"make audit: {_last(str(error))}", file=sys.stderr)
                faults += 1
    if any(each.found for each in verdicts):
        return FOUND
    if faults:
        return FAULT
    return INCOMPLETE if any(each.silent for each in verdicts) else 0


def _python(scratch: Path) -> Iterator[Verdict]:
    """Install pip-audit by hash into a scratch folder; yield its verdict about each lock."""
    programs = scratch / "pip-audit"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    _announce("make audit: installing pip-audit from tools/audit.lock")
    run([*pip, "--require-hashes", "--target", programs, "-r", TOOLS / "audit.lock"], ROOT, scratch / "log", _announce)
    options = ["--vulnerability-service", "osv", "--osv-url", OSV, "--strict", "--require-hashes", "--disable-pip"]
    options += ["--format", "json", "--progress-spinner", "off"]
    environment = {**os.environ, "PYTHONPATH": str(programs)}
    for lock in LOCKS:
        done = _ask([sys.executable, "-m", "pip_audit", *options, "-r", lock], environment)
        yield of_pip_audit(lock, done.returncode, done.stdout, done.stderr)


def _go(scratch: Path) -> Iterator[Verdict]:
    """Build govulncheck from tools/govulncheck; yield its verdict about each program."""
    go, program = find_go(scratch, _announce), scratch / "govulncheck"
    _announce("make audit: building govulncheck, then reading the programs' code; some minutes")
    command = [go, "build", "-mod=readonly", "-o", program, "golang.org/x/vuln/cmd/govulncheck"]
    run(command, TOOLS / "govulncheck", scratch / "log", _announce)
    fixed = {"PATH": f"{go.parent}{os.pathsep}{os.environ.get('PATH', '')}", "CGO_ENABLED": "0", "GOWORK": "off"}
    environment = {**os.environ, **fixed}

    def judged(subject: str, folder: Path, package: str, **more: str) -> Verdict:
        words = [str(program), "-db", GO, "-C", str(folder), package]
        done = _ask(words, {**environment, **more})
        return of_govulncheck(subject, done.returncode, done.stdout, done.stderr)

    for name in GO_FILES:
        folder = (ROOT / name).parent
        tool = f"{MODULE}/pkg/v3/cmd/pulumi" if folder == TOOLS else package((ROOT / name).read_text("utf-8"))
        yield judged(name, folder, tool)
    for each in own_programs(NEWEST):
        subject, folder = f"lab/{each.package}", scratch / "lab" / each.package
        folder.mkdir(parents=True)
        try:
            modules.lay_out(each, folder, go, environment)
        except subprocess.CalledProcessError as error:
            yield Verdict(subject, silent=f"{each.module} {each.version} cannot be downloaded: {_last(error.stderr)}")
            continue
        # the publisher's go.sum may lack what the folder's own packages need
        yield judged(subject, folder, f"./{each.package}", GOOS=each.os, GOFLAGS="-mod=mod")


def _ask(argv: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=60 * MINUTES
    )


def _advisory(package: dict[str, str], advisory: dict[str, list[str]]) -> str:
    fixed = ", ".join(advisory["fix_versions"]) or "no version yet"
    return f"{package['name']} {package['version']}: {advisory['id']}, fixed in {fixed}"


def _announce(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1][-300:]


if __name__ == "__main__":
    sys.exit(main())
