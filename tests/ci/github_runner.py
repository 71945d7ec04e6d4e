"""Runs GitHub workflows of a clone on this machine: jobs, matrices, reusable workflows, local and known actions.

A key, an action, an expression or a permission that it does not know is an error, so that no step is skipped unseen.
"""

import itertools
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from . import steps, token_service
from .expressions import FUNCTIONS, Unknown, filled, holds, text

WORKFLOW = {"name", "on", "permissions", "concurrency", "jobs"}
JOB = {
    *("if", "needs", "permissions", "strategy", "concurrency", "environment", "runs-on", "timeout-minutes", "steps"),
    *("uses", "with", "secrets"),
}
STEP = {"name", "id", "if", "uses", "with", "run", "shell", "env"}
CLOUDS = ("aws-actions/configure-aws-credentials", "azure/login", "google-github-actions/auth")


def document(path: Path) -> dict[str, Any]:
    """Return a workflow or action; YAML 1.1 reads the key `on` as true."""
    whole = yaml.safe_load(path.read_text("utf-8"))
    return {("on" if key is True else key): value for key, value in whole.items()}


def known(keys: Mapping[str, Any], allowed: set[str], where: str) -> None:
    """Raise Unknown if there is a key that the runner does not know."""
    if more := set(keys) - allowed:
        raise Unknown(f"{where}: {sorted(more)}")


@dataclass
class Job:
    """One job that ran. result: success, failure, cancelled or skipped."""

    name: str
    permissions: dict[str, str]
    result: str = "success"
    output: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    concurrency: Any = None
    approved_by: str = ""


@dataclass
class GitHub:
    """GitHub with one repository, whose checkout is `clone`. event: of the run. secrets: of the repository."""

    clone: Path
    event_name: str
    event: dict[str, Any]
    secrets: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    environment_secrets: dict[str, dict[str, str]] = field(default_factory=dict)
    """Secrets of environments: a job that uses one gets them in place of its caller's (docs.github.com, "Reuse
    workflows")."""
    actor: str = "me"
    api: str = "http://127.0.0.1:1"
    cancel: Callable[[], bool] | None = None
    patience: tuple[float, float] = (steps.INTERRUPT_SECONDS, steps.TERMINATE_SECONDS)
    clean_up: bool = True
    """Whether steps run after a cancellation; a runner that dies runs none."""
    artifacts: dict[str, Path] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    signed_in: list[dict[str, str]] = field(default_factory=list)
    """What the actions that sign in to clouds were given."""
    token_variables: dict[str, str] = field(default_factory=dict)
    """Variables of jobs that may write id-token."""

    def run(self, path: str, only: set[str] | None = None) -> dict[str, str]:
        """Run a workflow of the clone, or `only` some of its jobs; return their results."""
        whole = document(self.clone / path)
        known(whole, WORKFLOW, path)
        whole["jobs"] = {name: job for name, job in whole["jobs"].items() if only is None or name in only}
        self.temp.mkdir(exist_ok=True)
        with token_service.serving() as self.token_variables:
            return self._jobs(whole, {}, self.secrets, None)

    @property
    def temp(self) -> Path:
        """The folder RUNNER_TEMP."""
        return self.clone / ".runner-temp"

    def _github(self, permissions: Mapping[str, str]) -> dict[str, Any]:
        return {
            "event_name": self.event_name,
            "event": self.event,
            "repository": "me/mullion",
            "actor": self.actor,
            "ref": "refs/pull/7/merge",
            "run_id": "9000000001",
            "run_attempt": "1",
            "token": json.dumps(dict(permissions)),
        }

    def _jobs(
        self, whole: Mapping[str, Any], inputs: Any, secrets: Any, granted: Mapping[str, str] | None
    ) -> dict[str, str]:
        """Run jobs in the order of the file. granted: permissions of the calling job; None at the top."""
        results: dict[str, str] = {}
        for name, job in whole["jobs"].items():
            known(job, JOB, name)
            needs = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
            outcomes = {each: {"result": results[each]} for each in needs}
            permissions = dict(job.get("permissions", whole.get("permissions", {})))
            if granted is not None and (
                more := {k for k, v in permissions.items() if granted.get(k) not in (v, "write")}
            ):
                raise Unknown(f"{name} asks for permissions that its caller does not grant: {sorted(more)}")
            contexts = {
                "github": self._github(permissions),
                "inputs": inputs,
                "secrets": secrets,
                "needs": outcomes,
            }
            so_far = {each["result"] for each in outcomes.values()}
            functions = {
                **FUNCTIONS,
                "always": lambda: True,
                "success": lambda so_far=so_far: so_far <= {"success"},
                "failure": lambda so_far=so_far: "failure" in so_far,
                "cancelled": lambda so_far=so_far: "cancelled" in so_far,
            }
            if not holds(job.get("if"), contexts, functions):
                results[name] = "skipped"
                continue
            filled(whole.get("concurrency"), contexts, functions)
            results[name] = self._job(name, job, contexts, functions, permissions)
        return results

    def _job(self, name: str, job: Any, contexts: Any, functions: Any, permissions: dict[str, str]) -> str:
        if "uses" in job:
            called = document(self.clone / job["uses"])
            known(called, WORKFLOW, job["uses"])
            declared = called["on"]["workflow_call"]
            given = filled(job.get("with", {}), contexts, functions)
            secrets = dict.fromkeys(declared.get("secrets", {}), "")
            secrets |= filled(job.get("secrets", {}), contexts, functions)
            results = self._jobs(called, _inputs(declared["inputs"], given, job["uses"]), secrets, permissions)
            return _worst(results.values())
        results = []
        strategy = filled(job.get("strategy", {}), contexts, functions)
        known(strategy, {"fail-fast", "matrix"}, f"{name}.strategy")
        matrix = strategy.get("matrix", {})
        for index, values in enumerate(itertools.product(*matrix.values())):
            own = {
                **contexts,
                "matrix": dict(zip(matrix, values, strict=True)),
                "strategy": {"job-index": float(index)},
            }
            done = Job(name, permissions)
            self.jobs.append(done)
            done.concurrency = filled(job.get("concurrency"), own, functions)
            done.approved_by = filled(job.get("environment", ""), own, functions)
            own["secrets"] = {**own["secrets"], **self.environment_secrets.get(done.approved_by, {})}
            own |= {"runner": {"os": "Linux", "arch": "X64", "temp": f"{self.temp}"}}
            self._steps(done, job["steps"], own)
            results.append(done.result)
        return _worst(results)

    def _steps(self, job: Job, listed: list[Any], contexts: dict[str, Any]) -> None:
        outputs: dict[str, Any] = {}
        contexts = {**contexts, "steps": outputs}
        functions = {
            **FUNCTIONS,
            "always": lambda: True,
            "success": lambda: job.result == "success",
            "failure": lambda: job.result == "failure",
            "cancelled": lambda: job.result == "cancelled",
        }
        for step in listed:
            known(step, STEP, str(step.get("name", step.get("uses"))))
            if (job.result == "cancelled" and not self.clean_up) or not holds(step.get("if"), contexts, functions):
                continue
            environment = {key: text(value) for key, value in filled(step.get("env", {}), contexts, functions).items()}
            if "uses" in step:
                self._uses(job, step, filled(step.get("with", {}), contexts, functions), contexts)
            else:
                got = self._script(job, step, filled(step["run"], contexts, functions), environment)
                if "id" in step:
                    outputs[step["id"]] = {"outputs": got}

    def _script(self, job: Job, step: Any, script: str, environment: dict[str, str]) -> dict[str, str]:
        """Run a script with the command files of the runner (GITHUB_OUTPUT and others); return its outputs."""
        temp = self.clone / ".runner"
        shutil.rmtree(temp, ignore_errors=True)
        temp.mkdir()
        files = {name: temp / name for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.touch()
        (temp / "script.sh").write_text(script)
        shell = {"bash": ["--noprofile", "--norc", "-eo", "pipefail"], None: ["-e"]}
        if step.get("shell") not in shell:
            raise Unknown(f"shell {step['shell']}")
        ended = steps.run(
            ["bash", *shell[step.get("shell")], str(temp / "script.sh")],
            self.clone,
            {
                **self.environment,
                **job.environment,
                **{name: str(file) for name, file in files.items()},
                **(self.token_variables if job.permissions.get("id-token") == "write" else {}),
                "RUNNER_TEMP": str(self.temp),
                "GITHUB_API_URL": self.api,
                "GITHUB_REPOSITORY": "me/mullion",
                "CI": "true",
                **environment,
            },
            self.cancel if job.result == "success" else None,
            self.patience,
        )
        job.output += f"## {step.get('name')}\n{ended.output}{files['GITHUB_STEP_SUMMARY'].read_text()}"
        if ended.cancelled:
            job.result = "cancelled"
        elif ended.code and job.result == "success":
            job.result = "failure"
        job.environment |= _pairs(files["GITHUB_ENV"])
        return _pairs(files["GITHUB_OUTPUT"])

    def _uses(self, job: Job, step: Any, given: dict[str, Any], contexts: Any) -> None:
        action = step["uses"].partition("@")[0]
        if action.startswith("./"):
            whole = document(self.clone / action / "action.yml")
            known(whole, {"name", "description", "inputs", "runs"}, action)
            inputs = {key: text(value) for key, value in _inputs(whole["inputs"], given, action).items()}
            # a composite action sees its own inputs and steps, and no secrets
            kept = {key: contexts[key] for key in ("github", "runner", "matrix", "strategy")}
            self._steps(job, whole["runs"]["steps"], {**kept, "inputs": inputs})
        elif action in CLOUDS:
            if job.permissions.get("id-token") != "write":
                raise Unknown(f"{action} needs the permission id-token: write")
            self.signed_in.append({"action": action, **{key: text(value) for key, value in given.items()}})
        elif action == "actions/upload-artifact":
            known(given, {"name", "path", "if-no-files-found"}, action)
            if (self.clone / given["path"]).exists():
                self.artifacts[given["name"]] = _copied(
                    self.clone / given["path"], self.clone / ".uploads" / given["name"]
                )
        elif action == "actions/download-artifact":
            known(given, {"name", "path"}, action)
            shutil.copytree(self.artifacts[given["name"]], self.clone / given.get("path", ""), dirs_exist_ok=True)
        elif action not in ("actions/checkout", "actions/cache"):
            raise Unknown(f"action {action}")


def _inputs(declared: Mapping[str, Any], given: Mapping[str, Any], where: str) -> dict[str, Any]:
    known(given, set(declared), where)
    if lacking := [name for name, each in declared.items() if each.get("required") and name not in given]:
        raise Unknown(f"{where} lacks {lacking}")
    return {name: given.get(name, each.get("default", "")) for name, each in declared.items()}


def _worst(results: Any) -> str:
    results = set(results)
    return next((each for each in ("failure", "cancelled", "success") if each in results), "skipped")


def _pairs(file: Path) -> dict[str, str]:
    """Return the lines NAME=VALUE of a command file. Raises Unknown for values of several lines."""
    lines = file.read_text("utf-8").splitlines()
    if bad := [line for line in lines if "=" not in line or "<<" in line.partition("=")[0]]:
        raise Unknown(f"{file.name}: {bad}")
    return dict(line.split("=", 1) for line in lines)


def _copied(path: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    if path.is_dir():
        shutil.copytree(path, to)
    else:
        to.mkdir(parents=True)
        shutil.copy(path, to)
    return to
