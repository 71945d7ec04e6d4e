"""Runs one program of examples/ on the real engine in a sandbox: wrong input, preview, up, up again, a change,
destroy."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from operations.engine import workspace
from operations.engine.locate import Engine
from operations.stacks.paths import REPOSITORY
from sandbox.cloud_state import CloudState
from tools import go_programs

STACK = "dev"


@dataclass(frozen=True)
class Language:
    """How to run the program of one language.

    lacks: returns why the program cannot run here, or "". prepare: makes the copied folder ready to run.
    commands: the commands for `preview`, `up` and `destroy`, run in the folder.
    """

    name: str
    lacks: Callable[[], str]
    prepare: Callable[[Path], None]
    commands: Mapping[str, list[str]]


@dataclass(frozen=True)
class Journey:
    """Outputs and states of one program, in the order of the fields."""

    refused: str
    """Output of a preview with Kubernetes 1.99.0, which must fail."""
    previewed: list[str]
    """What the cloud had after a preview: types and names."""
    built: Mapping[str, Any]
    """The state after `up`, secrets encrypted."""
    shown: str
    """What `pulumi stack output` then printed."""
    repeated: Mapping[str, int]
    """What a second `up` did: resources by operation."""
    grown: Mapping[str, Any]
    """The state after `up` with a second Windows worker."""
    removed: Mapping[str, Any]
    """The state after `destroy`."""
    left: list[str]
    """What the cloud then had: types and names."""


def _yaml_lacks() -> str:
    if shutil.which("pulumi-language-yaml") or go_programs.place(go_programs.YAML_HOST).is_file():
        return ""
    return "there is no pulumi-language-yaml here; `make languages` builds it"


YAML = Language(
    "yaml",
    _yaml_lacks,
    lambda folder: None,
    {
        "preview": ["pulumi", "preview", "--non-interactive"],
        "up": ["pulumi", "up", "--yes", "--skip-preview"],
        "destroy": ["pulumi", "destroy", "--yes", "--skip-preview", "--run-program"],
    },
)


def _without(*programs: str) -> Callable[[], str]:
    """Return a function that says which of the programs is not on PATH."""
    return lambda: ", ".join(f"there is no {each} here" for each in programs if not shutil.which(each))


def _by(*command: str) -> dict[str, list[str]]:
    """Return the commands of a program that takes the operation as its argument."""
    return {operation: [*command, operation] for operation in ("preview", "up", "destroy")}


def _ready(*commands: list[str]) -> Callable[[Path], None]:
    """Return a function that runs commands in a program's folder, such as those that install and compile."""

    def prepare(folder: Path) -> None:
        for command in commands:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500, check=False)
            assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}"

    return prepare


TYPESCRIPT = Language(
    "typescript",
    _without("node", "npm"),
    _ready(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"], ["npx", "tsc"]),
    _by("node", "run.js"),
)

GO = Language("go", _without("go"), _ready(["go", "build", "-o", "cluster", "."]), _by("./cluster"))


def _java_ready(folder: Path) -> None:
    _ready(["mvn", "-q", "-B", "compile", "dependency:copy-dependencies", "-DoutputDirectory=lib"])(folder)
    shutil.copytree(REPOSITORY / "examples" / "yaml", folder / "yaml")


JAVA = Language(
    "java",
    lambda: _without("java", "mvn")() or _yaml_lacks(),
    _java_ready,
    {
        **_by("java", "-cp", f"target/classes{os.pathsep}lib/*", "Cluster"),
        # Java's Automation API cannot run the program in a destroy; the program in YAML of the same stack can
        "destroy": [
            *YAML.commands["destroy"],
            "--stack",
            STACK,
            "--cwd",
            "yaml",
            "--config-file",
            "../Pulumi.dev.yaml",
        ],
    },
)


class Runner:
    """A copy of the example with a sandbox of its own."""

    def __init__(self, language: Language, folder: Path, engine: Engine) -> None:
        self.language, self.program, self.sandbox = language, folder / "program", folder / "sandbox"
        shutil.copytree(REPOSITORY / "examples" / language.name, self.program)
        self.sandbox.mkdir()
        self.variables = environment(self.sandbox, engine)
        settings = {"aws:region": "eu-west-1", "mullion:world": "sandbox"}
        (self.program / f"Pulumi.{STACK}.yaml").write_text(yaml.safe_dump({"config": settings}))
        language.prepare(self.program)
        self.pulumi("stack", "init", STACK)

    def pulumi(self, *words: str) -> str:
        """Run the engine in the program's folder; return its output."""
        return self._ran(["pulumi", *words, "--stack", STACK] if "init" not in words else ["pulumi", *words])

    def run(self, operation: str, *, fails: bool = False) -> str:
        """Run the program with an operation; return its output."""
        return self._ran(self.language.commands[operation], fails=fails)

    def state(self) -> dict[str, Any]:
        """Return the stack's exported state."""
        return json.loads(self.pulumi("stack", "export"))["deployment"]

    def in_the_cloud(self) -> list[str]:
        """Return types and names of what the sandbox's cloud has."""
        cloud = CloudState(self.sandbox / "world.db")
        try:
            return [f"{each.type} {each.name}" for each in cloud.resources()]
        finally:
            cloud.close()

    def _ran(self, command: list[str], *, fails: bool = False) -> str:
        done = subprocess.run(
            command, cwd=self.program, env=self.variables, capture_output=True, text=True, timeout=300, check=False
        )
        assert bool(done.returncode) == fails, f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout if not fails else done.stdout + done.stderr


def environment(folder: Path, engine: Engine) -> dict[str, str]:
    """Return the sandbox's environment with the engine, language hosts and the component package's plug-in on PATH."""
    plugin = folder / "bin" / "pulumi-resource-mullion"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{REPOSITORY / "components"}" "$@"\n')
    plugin.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(workspace.REMOVED)}
    hosts = go_programs.place(go_programs.YAML_HOST).parent
    path = os.pathsep.join([str(plugin.parent), str(engine.path.parent), str(hosts), os.environ["PATH"]])
    return {**kept, **workspace.prepare(folder), "PATH": path}


def travel(language: Language, folder: Path, engine: Engine) -> Journey:
    """Run one language's program from the wrong input to `destroy`."""
    runner = Runner(language, folder, engine)
    runner.pulumi("config", "set", "kubernetes", "1.99.0")
    refused = runner.run("preview", fails=True)
    runner.pulumi("config", "set", "kubernetes", "1.36.4")
    runner.run("preview")
    previewed = runner.in_the_cloud()
    runner.run("up")
    built, shown = runner.state(), runner.pulumi("stack", "output", "--json")
    runner.run("up")
    repeated = json.loads(runner.pulumi("stack", "history", "--json"))[0]["resourceChanges"]
    runner.pulumi("config", "set", "windowsWorkers", "2")
    runner.run("up")
    grown = runner.state()
    runner.run("destroy")
    return Journey(refused, previewed, built, shown, repeated, grown, runner.state(), runner.in_the_cloud())
