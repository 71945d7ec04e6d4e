"""Stacks of this repository on the real engine, each in a sandbox of its own."""

import copy
import json
import os
import runpy
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi.automation as auto
import pytest
import yaml
from pulumi.automation._stack import StackInitMode

from components.stack_files.stack import CLUSTER
from operations.clouds import cloud_tables
from operations.engine import state, workspace
from operations.stacks.paths import REPOSITORY
from sandbox.cloud_state import CloudState
from tools.permissions.recorded import table

from . import variants
from .things import THINGS
from .variants import merge

INSTANCE = "aws:ec2/instance:Instance"


@dataclass(frozen=True)
class Step:
    """What the engine did, or would do, to one resource."""

    operations: tuple[str, ...]
    replaced_by: tuple[str, ...]
    """Properties that force the replacement."""


@dataclass
class Run:
    """One preview or update."""

    steps: dict[str, Step] = field(default_factory=dict)
    """Operations by type and name, without unchanged resources."""
    outputs: dict[str, Any] = field(default_factory=dict)

    def of(self, kind: str) -> dict[str, tuple[str, ...]]:
        """Operations on one type, by name."""
        return {key.split("|")[1]: step.operations for key, step in self.steps.items() if key.split("|")[0] == kind}


class Stack:
    """A copy of one stack file of the repository, with a sandbox, a state and an engine home of its own.

    Stacks of variants.py have from the beginning the network and the key of the user that they name.
    """

    def __init__(self, name: str, folder: Path, **fields: Any) -> None:
        """fields: changes of the cluster from the beginning, also of the user's network."""
        self.name, self.folder, self.log = name, folder, list[str]()
        self._built: dict[str, Any] | None = None
        self._file = folder / "work" / "stacks" / f"Pulumi.{name}.yaml"
        self._file.parent.mkdir(parents=True)
        shutil.copy(REPOSITORY / "Pulumi.yaml", folder / "work")
        self._settings: dict[str, Any] = {"config": variants.config(name)}
        merge(self._settings["config"][CLUSTER], fields)
        self._settings["config"]["mullion:world"] = "sandbox"
        self.edit()
        environment = workspace.prepare(folder)
        if not variants.has_file(name):
            with closing(self.cloud_state) as cloud_state:
                variants.prepare(cloud_state, name, self._settings["config"])
        space = auto.LocalWorkspace(str(folder / "work"), environment["PULUMI_HOME"], self._program, environment)
        self._stack = workspace.Run(name, space, StackInitMode.CREATE_OR_SELECT)

    @staticmethod
    def _program() -> None:
        runpy.run_path(str(REPOSITORY / "__main__.py"))

    def edit(self, **fields: Any) -> None:
        """Write the repository's stack file with changed fields of the cluster; dicts are merged."""
        settings = copy.deepcopy(self._settings)
        merge(settings["config"][CLUSTER], fields)
        if self._file.exists():  # the engine wrote the passphrase's salt
            settings |= {k: v for k, v in yaml.safe_load(self._file.read_text()).items() if k == "encryptionsalt"}
        self._file.write_text(yaml.safe_dump(settings))

    def preview(self) -> Run:
        """Preview `up`."""
        run = Run()
        self._stack.preview(on_event=self._listen(run), on_output=self.log.append)
        return run

    def up(self, *, refresh: bool = False) -> Run:
        """Run `up`. refresh: read all resources first."""
        run = Run()
        self._built = None
        result = self._stack.up(refresh=refresh, on_event=self._listen(run), on_output=self.log.append)
        self._built = self._written()
        run.outputs = {name: each.value for name, each in result.outputs.items()}
        assert result.outputs["kubeconfig"].secret
        return run

    @property
    def is_built(self) -> bool:
        """Return whether the last `up` succeeded and the stack file has not changed since."""
        return self._built == self._written()

    def down(self) -> Run:
        """Run `down`; protection and hooks are removed first, as `mullion down` does."""
        exported, file = json.loads(self._command("stack", "export")), self.folder / "export.json"
        assert state.released(exported["deployment"]["resources"])
        file.write_text(json.dumps(exported))
        self._command("stack", "import", "--file", str(file))
        self._built = None
        run = Run()
        self._stack.destroy(on_event=self._listen(run), on_output=self.log.append)
        return run

    def _written(self) -> dict[str, Any]:
        """Return the stack file's cluster; the engine rewrites the file's text."""
        return yaml.safe_load(self._file.read_text())

    def _listen(self, run: Run) -> Any:
        def hear(event: auto.EngineEvent) -> None:
            self.log.append(json.dumps(event, default=lambda each: getattr(each, "__dict__", None) or str(each)))
            step = event.resource_pre_event.metadata if event.resource_pre_event else None
            if step is None or step.op in ("same", "read") or "pulumi:providers" in step.urn:
                return
            key = f"{step.type}|{step.urn.split('::')[-1]}"
            before = run.steps.get(key, Step((), ()))
            # the stash of something generated differs in each run until the engine drops the new value
            forced = () if step.type == "pulumi:index:Stash" else tuple(sorted(step.keys or ()))
            operations = tuple(sorted({*before.operations, str(getattr(step.op, "value", step.op))}))
            run.steps[key] = Step(operations, tuple(sorted({*before.replaced_by, *forced})))

        return hear

    @property
    def cloud_state(self) -> CloudState:
        """The embedded cloud."""
        return CloudState(self.folder / "world.db")

    def calls_without_permissions(self) -> list[tuple[str, str]]:
        """Return kind and type of every call of this stack for which the cloud's table states no permission."""
        rows = table(self.cloud.name).types
        urn = f"urn:pulumi:{self.name}::"  # others are of the user's network, or of a controller
        with closing(self.cloud_state) as cloud_state:
            calls = {(each.kind, each.type) for each in cloud_state.operations() if each.urn.startswith(urn)}
        stated = {"create": lambda row: row.create, "update": lambda row: row.update, "delete": lambda row: True}
        return sorted((kind, type_) for kind, type_ in calls if not stated[kind](rows[type_]))

    def machines(self) -> dict[str, str]:
        """Return the instance ids in the sandbox, by machine name."""
        cloud = self.cloud
        return {
            machine.name.removeprefix(f"{self.name}-"): ({**machine.outputs, "id": machine.id})[cloud.instance]
            for machine in self.cloud_state.resources(cloud.machine)
        }

    @property
    def cloud(self) -> cloud_tables.Cloud:
        """The cloud in the stack's file."""
        return cloud_tables.CLOUDS[self._settings["config"][CLUSTER]["cloud"]]

    @property
    def is_temporary(self) -> bool:
        """Return whether the stack's file says when the cluster expires."""
        return "expires" in self._settings["config"][CLUSTER]

    def state(self) -> dict[str, Any]:
        """Return the state on the disk."""
        path = self.folder / "state" / ".pulumi" / "stacks" / "mullion" / f"{self.name}.json"
        return json.loads(path.read_text())["checkpoint"]["latest"]

    def secrets_of_the_state(self) -> list[str]:
        """Return every secret of Mullion's in the state, decrypted, as text."""
        exported = json.loads(self._command("stack", "export", "--show-secrets"))
        marked = THINGS[self.cloud.name].marked
        for each in exported["deployment"]["resources"]:
            for part in ("inputs", "outputs"):
                each[part] = {name: value for name, value in each.get(part, {}).items() if name not in marked}
        return list(_plaintexts(exported))

    def stashed(self, name: str) -> Any:
        """Return the decrypted value of a Stash in the state."""
        resources = json.loads(self._command("stack", "export", "--show-secrets"))["deployment"]["resources"]
        [found] = [each["outputs"]["output"] for each in resources if each["urn"].endswith(f"::{self.name}-{name}")]
        return json.loads(found["plaintext"])

    def _command(self, *words: str) -> str:
        space = self._stack.workspace
        environment = {**space.env_vars, "PULUMI_HOME": str(space.pulumi_home)}
        return space.pulumi_command.run([*words, "--stack", self.name], space.work_dir, environment).stdout


def _plaintexts(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        if "plaintext" in document:
            yield from _leaves(json.loads(document["plaintext"]))
        else:
            for each in document.values():
                yield from _plaintexts(each)
    elif isinstance(document, list):
        for each in document:
            yield from _plaintexts(each)


def _leaves(document: Any) -> Iterator[str]:
    if isinstance(document, Mapping):
        for each in document.values():
            yield from _leaves(each)
    elif isinstance(document, list):
        for each in document:
            yield from _leaves(each)
    elif isinstance(document, str):
        yield document


@pytest.fixture(scope="module")
def new_stack(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give `new_stack(name, **fields)`: a fresh Stack."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{engine.path.parent}{os.pathsep}{os.environ['PATH']}")
        made: list[Stack] = []

        def new(name: str, **fields: Any) -> Stack:
            made.append(Stack(name, tmp_path_factory.mktemp(name), **fields))
            return made[-1]

        yield new
        assert [(stack.name, calls) for stack in made if (calls := stack.calls_without_permissions())] == []
