"""tools/audit.py: its verdicts on what pip-audit 2.10.1 and govulncheck 1.9.0 print."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.programs import own_programs
from tools import audit
from tools.golden.plans import NEWEST

PACKAGE = {"name": "pyyaml", "version": "6.0.3", "vulns": []}
ADVISORY = {"id": "PYSEC-2026-1", "fix_versions": ["99.0"], "aliases": [], "description": "y"}
UNREACHABLE = "requests.exceptions.ConnectionError: Failed to resolve 'api.osv.dev'"
IN_ENGINE = """=== Symbol Results ===

Vulnerability #1: GO-2026-9999
    Example
  More info: https://pkg.go.dev/vuln/GO-2026-9999
  Module: github.com/pulumi/pulumi/pkg/v3

Your code is affected by 1 vulnerability from 1 module.
"""


def python(code: int, packages: list[dict] | None, log: str = "") -> audit.Verdict:
    out = "" if packages is None else json.dumps({"dependencies": packages, "fixes": []})
    return audit.of_pip_audit("requirements.lock", code, out, log)


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        (python(0, [PACKAGE]), "requirements.lock: no advisory"),
        (
            python(1, [{**PACKAGE, "vulns": [ADVISORY]}]),
            "requirements.lock: pyyaml 6.0.3: PYSEC-2026-1, fixed in 99.0",
        ),
        (
            python(1, [{**PACKAGE, "vulns": [{**ADVISORY, "fix_versions": []}]}]),
            "requirements.lock: pyyaml 6.0.3: PYSEC-2026-1, fixed in no version yet",
        ),
        (
            python(1, None, f"Traceback\n{UNREACHABLE}\n"),
            (
                "requirements.lock: not audited: https://api.osv.dev/v1/query gave no answer "
                f"(pip-audit, exit code 1: {UNREACHABLE})"
            ),
        ),
        # pip-audit ends with 0 and "No known vulnerabilities found" for packages that a database does not know
        (
            python(0, [{"name": "pyyaml", "skip_reason": "Dependency not found on PyPI"}]),
            "requirements.lock: not audited: https://api.osv.dev/v1/query has no answer about pyyaml",
        ),
        (audit.of_govulncheck("tools/go.mod", 0, "No vulnerabilities found.\n", ""), "tools/go.mod: no advisory"),
        (audit.of_govulncheck("tools/go.mod", 3, IN_ENGINE, ""), "tools/go.mod: GO-2026-9999"),
        (
            audit.of_govulncheck("tools/go.mod", 1, "", "govulncheck: fetching vulnerabilities: no such host\n"),
            (
                "tools/go.mod: not audited: https://vuln.go.dev gave no answer "
                "(govulncheck, exit code 1: govulncheck: fetching vulnerabilities: no such host)"
            ),
        ),
    ],
)
def test_verdict_names_the_advisory_or_why_nothing_can_be_said(verdict: audit.Verdict, line: str) -> None:
    assert list(verdict.lines()) == [line]


def test_advisories_are_shown_beside_packages_without_an_answer() -> None:
    unknown = {"name": "pulumi", "skip_reason": "Dependency not found on PyPI"}
    verdict = python(1, [unknown, {**PACKAGE, "vulns": [ADVISORY]}])
    assert verdict.found == ("pyyaml 6.0.3: PYSEC-2026-1, fixed in 99.0",)
    assert "no answer about pulumi" in verdict.silent


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([audit.Verdict("a")], 0),
        ([audit.Verdict("a"), audit.Verdict("b", silent="no answer")], 2),
        ([audit.Verdict("a", ("X-1",)), audit.Verdict("b", silent="no answer")], 3),
    ],
)
def test_main_returns_the_exit_code_of_the_worst_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verdicts: list[audit.Verdict], code: int
) -> None:
    monkeypatch.setattr(audit, "_python", lambda _: verdicts[:-1])
    monkeypatch.setattr(audit, "_go", lambda _: verdicts[-1:])
    assert audit.main() == code
    assert len(capsys.readouterr().out.splitlines()) == len(verdicts)


@pytest.mark.parametrize(("found", "code"), [(("X-1",), audit.FOUND), ((), audit.FAULT)])
def test_a_program_that_cannot_be_built_hides_no_advisory_and_is_no_incomplete_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], found: tuple[str, ...], code: int
) -> None:
    def broken(_: Path) -> Iterator[audit.Verdict]:
        yield audit.Verdict("tools/go.mod")
        raise audit.GoError("no Go compiler")

    monkeypatch.setattr(audit, "_python", lambda _: [audit.Verdict("requirements.lock", found)])
    monkeypatch.setattr(audit, "_go", broken)
    assert audit.main() == code
    said = capsys.readouterr()
    assert ("requirements.lock: X-1" in said.out) == bool(found)
    assert "tools/go.mod: no advisory" in said.out and "no Go compiler" in said.err


def test_every_lock_of_the_clone_is_audited() -> None:
    compiled = re.findall(r" -o (\S+)", (audit.ROOT / "Makefile").read_text("utf-8"))
    assert set(compiled) == set(audit.LOCKS)
    assert all((audit.ROOT / Path(each)).is_file() for each in audit.LOCKS)


def test_every_go_program_of_the_clone_is_audited() -> None:
    """Each go.mod, and each folder of lab/ with Go sources, which takes its publisher's go.mod."""
    files = {path.relative_to(audit.ROOT).as_posix() for path in (audit.ROOT / "tools").rglob("go.mod")}
    assert files == set(audit.GO_FILES)
    sources = {path.parent.relative_to(audit.ROOT / "lab").as_posix() for path in (audit.ROOT / "lab").rglob("*.go")}
    assert {each.package for each in own_programs(NEWEST)} == sources
