"""Runs the jobs of a GitLab pipeline on this machine; keys and conditions that it does not know are errors."""

import itertools
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from . import steps
from .expressions import Unknown

JOB = {
    *("extends", "image", "id_tokens", "variables", "cache", "before_script", "script", "after_script", "artifacts"),
    *("interruptible", "timeout", "rules", "parallel", "environment", "resource_group", "when", "needs"),
}
COMPARED = re.compile(r'\$(\w+) (==|!=) (?:"([^"]*)"|\$(\w+))')


@dataclass(frozen=True)
class Job:
    """One job that ran. code: of its script."""

    name: str
    code: int
    output: str
    variables: dict[str, str]
    manual: bool


def run(
    clone: Path,
    file: Path,
    variables: Mapping[str, str],
    environment: Mapping[str, str],
    cancel: Callable[[], bool] | None = None,
) -> list[Job]:
    """Run the jobs of a pipeline whose rules hold. variables: those of the pipeline and the project.

    Once `cancel` returns true, the script of a job is cancelled; its after_script runs.
    """
    whole = yaml.safe_load(file.read_text("utf-8"))
    jobs: dict[str, Any] = {}
    for each in whole.pop("include", []):
        jobs |= yaml.safe_load((clone / each["local"]).read_text("utf-8"))
    whole.pop("workflow", None)
    jobs |= whole
    ran = list[Job]()
    for name in whole:
        job = _extended(jobs, name)
        if more := set(job) - JOB:
            raise Unknown(f"{name}: {sorted(more)}")
        for rule in job.get("rules", []):
            if not all(_holds(part, variables) for part in rule["if"].split(" && ")):
                continue
            if more := set(rule) - {"if", "when"}:
                raise Unknown(f"{name}.rules: {sorted(more)}")
            if set(job.get("needs", [])) - {each.name for each in ran if each.code == 0}:
                break
            for leg in _legs(job):
                own = {**variables, **leg, "CI_JOB_ID": str(int(variables["CI_JOB_ID"]) + len(ran))}
                ran.append(_run(clone, name, job, own, environment, rule.get("when") == "manual", cancel))
            break
    return ran


def _extended(jobs: Mapping[str, Any], name: str) -> dict[str, Any]:
    job = jobs[name]
    above = _extended(jobs, job["extends"]) if "extends" in job else {}
    merged = {**above, **job}
    merged["variables"] = {**above.get("variables", {}), **job.get("variables", {})}
    return merged


def _legs(job: Mapping[str, Any]) -> list[dict[str, str]]:
    matrices = job.get("parallel", {"matrix": [{}]})["matrix"]
    return [
        dict(zip(matrix, values, strict=True)) for matrix in matrices for values in itertools.product(*matrix.values())
    ]


def _holds(part: str, variables: Mapping[str, str]) -> bool:
    match = COMPARED.fullmatch(part.strip())
    if not match:
        raise Unknown(f"rule {part!r}")
    right = match[3] if match[3] is not None else variables.get(match[4], "")
    return (variables.get(match[1], "") == right) is (match[2] == "==")


def _run(
    clone: Path,
    name: str,
    job: Any,
    variables: dict[str, str],
    environment: Mapping[str, str],
    manual: bool,
    cancel: Callable[[], bool] | None,
) -> Job:
    # variables of the project and of a matrix win over those of a job
    own = {**{key: str(value) for key, value in job["variables"].items()}, **variables}
    own = {
        key: re.sub(r"\$(\w+)", lambda match: own.get(match[1], ""), value) if key != "TEST" else value
        for key, value in own.items()
    }
    own |= {each: f"token for {of['aud']}" for each, of in job["id_tokens"].items()}
    lines = [*job["before_script"], *job["script"]]
    done = _script(clone, lines, {**environment, **own}, cancel)
    output, code = done.output, done.code
    if after := job.get("after_script"):
        last = _script(clone, after, {**environment, **own})
        output += last.output  # GitLab ignores its exit code, so this runner must not
        code = code or last.code
    return Job(name, code, output, own, manual)


def _script(
    clone: Path, lines: list[str], environment: Mapping[str, str], cancel: Callable[[], bool] | None = None
) -> steps.Ended:
    script = "\n".join(["set -eo pipefail", *(f"eval {shlex.quote(line)}" for line in lines)])
    container = f"CI_JOB_ID={environment['CI_JOB_ID']}"
    return steps.run(["bash", "-c", script], clone, environment, cancel, container=container, timeout=600)
