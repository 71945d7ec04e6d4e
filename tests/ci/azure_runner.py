"""Runs the jobs of an Azure pipeline on this machine; keys, tasks and expressions that it does not know are errors."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from . import steps
from .expressions import Evaluation, Unknown, filled, text

FUNCTIONS = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "coalesce": lambda *values: next(filter(None, values), ""),
    "lower": lambda value: text(value).lower(),
    "replace": lambda value, old, new: value.replace(old, new),
}
JOB = {
    *("job", "deployment", "displayName", "timeoutInMinutes", "cancelTimeoutInMinutes", "pool", "strategy"),
    *("variables", "steps", "environment"),
}
STEP = {"bash", "task", "checkout", "persistCredentials", "displayName", "condition", "inputs", "env"}
SILENT = ("Cache@2", "PublishTestResults@2", "PublishPipelineArtifact@1")
KEY = re.compile(r"\$\{\{ (if|else|each) ?(.*?) ?\}\}")
CONDITION = re.compile(r"eq\(variables\['([\w.]+)'\], '(\w+)'\)")


@dataclass
class Job:
    """One job that ran. connections: service connections that its tasks used."""

    name: str
    code: int = 0
    output: str = ""
    environment: str = ""
    connections: set[str] = field(default_factory=set)


def expanded(value: Any, contexts: Mapping[str, Any]) -> Any:
    """Return a template's value with its compile-time expressions replaced."""
    if isinstance(value, list):
        result = list[Any]()
        held = False
        for item in value:
            match = KEY.fullmatch(next(iter(item))) if isinstance(item, dict) and len(item) == 1 else None
            if match is None:
                result.append(expanded(item, contexts))
                continue
            inner = next(iter(item.values()))
            if match[1] == "each":
                result += [made for own in _loop(match[2], contexts) for made in expanded(inner, own)]
                continue
            held = not held if match[1] == "else" else bool(Evaluation(match[2], contexts, FUNCTIONS).value())
            if held:
                result += expanded(inner, contexts)
        return result
    if isinstance(value, dict):
        made: dict[str, Any] = {}
        for key, each in value.items():
            match = KEY.fullmatch(key)
            if match and match[1] != "each":
                raise Unknown(f"{key} in a mapping")
            for own in _loop(match[2], contexts) if match else ():
                made |= expanded(each, own)
            if not match:
                made[filled(key, contexts, FUNCTIONS)] = expanded(each, contexts)
        return made
    return filled(value, contexts, FUNCTIONS)


def _loop(words: str, contexts: Mapping[str, Any]) -> list[dict[str, Any]]:
    name, _, values = words.partition(" in ")
    return [{**contexts, name: value} for value in Evaluation(values, contexts, FUNCTIONS).value()]


def template(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template with these parameters; nested ones are not replaced yet."""
    whole = yaml.safe_load(path.read_text("utf-8"))
    declared = {each["name"]: each for each in whole.pop("parameters")}
    if more := set(given) - set(declared):
        raise Unknown(f"{path.name} has no parameters {sorted(more)}")
    if lacking := [name for name, each in declared.items() if "default" not in each and name not in given]:
        raise Unknown(f"{path.name} lacks {lacking}")
    parameters = {name: given.get(name, each.get("default")) for name, each in declared.items()}
    return expanded(whole, {"parameters": parameters})


def run(clone: Path, file: Path, variables: Mapping[str, str], environment: Mapping[str, str]) -> list[Job]:
    """Run the stages of a pipeline whose conditions hold. variables: predefined ones and those of the run."""
    whole, ran = yaml.safe_load(file.read_text("utf-8")), list[Job]()
    succeeded = dict[str, bool]()
    for folder, stage in _stages(clone, whole["stages"]):
        if set(stage) - {"stage", "condition", "dependsOn", "jobs"} or "dependsOn" not in stage:
            raise Unknown(f"stage {stage['stage']}")
        done = list[Job]()
        if starts := _starts(stage, variables, succeeded):
            for each in stage["jobs"]:
                path = folder / each.get("template", "")
                inner = template(path, each["parameters"])["jobs"] if "template" in each else [each]
                own = {**whole["variables"], **variables}
                for job in inner:
                    done += _job(clone, path.parent if "template" in each else folder, job, own, environment)
        succeeded[stage["stage"]] = starts and not any(job.code for job in done)
        ran += done
    return ran


def _stages(clone: Path, stages: list[Any]) -> Iterator[tuple[Path, Any]]:
    """Yield each stage, also those of templates, with the folder that its templates are relative to."""
    for stage in stages:
        if "template" in stage:
            path = clone / stage["template"]
            yield from ((path.parent, each) for each in template(path, stage["parameters"])["stages"])
        else:
            yield clone, stage


def _starts(stage: Any, variables: Mapping[str, str], succeeded: Mapping[str, bool]) -> bool:
    """Return whether a stage starts. Without a condition all stages that it depends on must have succeeded."""
    if "condition" not in stage:
        before = stage["dependsOn"]
        return all(succeeded[each] for each in ([before] if isinstance(before, str) else before))
    match = CONDITION.fullmatch(stage["condition"])
    if not match or stage["dependsOn"]:
        raise Unknown(f"stage {stage['stage']}")
    return variables.get(match[1], "") == match[2]


def _job(clone: Path, folder: Path, job: Any, variables: dict[str, str], environment: Mapping[str, str]) -> list[Job]:
    if more := set(job) - JOB:
        raise Unknown(f"job: {sorted(more)}")
    deployed = job.get("strategy", {}).get("runOnce", {}).get("deploy", {})
    legs, ran = job.get("strategy", {}).get("matrix", {"": {}}), list[Job]()
    for position, (leg, own) in enumerate(legs.items(), 1):
        values = {
            **variables,
            "System.StageAttempt": "1",
            "System.JobPositionInPhase": str(position),
            **job.get("variables", {}),
            **own,
        }
        done = Job(leg or job.get("job") or job["deployment"], environment=job.get("environment", ""))
        for step in job.get("steps") or deployed["steps"]:
            nested = template(folder / step["template"], step["parameters"])["steps"] if "template" in step else [step]
            for each in nested:
                _step(clone, done, each, values, environment)
        ran.append(done)
    return ran


def _step(clone: Path, job: Job, step: Any, variables: Mapping[str, str], environment: Mapping[str, str]) -> None:
    if more := set(step) - STEP:
        raise Unknown(f"step: {sorted(more)}")
    if step.get("condition", "always()") != "always()":
        raise Unknown(f"condition {step['condition']}")
    if step.get("task") in SILENT or "checkout" in step or (job.code and "condition" not in step):
        return
    script = step.get("bash")
    if script is None:
        if step["task"] != "AzureCLI@2" or step["inputs"]["scriptType"] != "bash":
            raise Unknown(f"task {step['task']}")
        script = step["inputs"]["inlineScript"]
        job.connections.add(step["inputs"]["azureSubscription"])
    env = {_name(key): _macros(str(value), variables) for key, value in {**variables, **step.get("env", {})}.items()}
    ended = steps.run(
        ["bash", "--noprofile", "--norc", "-c", _macros(script, variables)], clone, {**environment, **env}
    )
    job.output += ended.output
    job.code = job.code or ended.code


def _name(variable: str) -> str:
    return variable.upper().replace(".", "_")


def _macros(value: str, variables: Mapping[str, str]) -> str:
    """Replace $(NAME); an unknown one stays, as Azure Pipelines leaves it."""
    return re.sub(r"\$\(([\w.]+)\)", lambda match: str(variables.get(match[1], match[0])), value)
