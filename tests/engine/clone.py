"""A copy of the clone, in which tests run the command as a person does: in processes of its own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from operations import agreement
from operations.engine import Engine
from operations.paths import REPOSITORY
from operations.workspace import sandbox_environment
from sandbox.world import World

PARTS = ("components", "operations", "sandbox", "cloud-init", "policies", "stacks", "Pulumi.yaml", "__main__.py")
STASH = "pulumi:index:Stash"


class Clone:
    """A copy with one stack of interest, aws-ci, and its sandbox."""

    stack = "aws-ci"

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder, self.engine = folder, engine
        for part in filter(lambda each: (REPOSITORY / each).exists(), PARTS):
            if (REPOSITORY / part).is_dir():
                shutil.copytree(REPOSITORY / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(REPOSITORY / part, folder)
        self.sandbox = folder / ".mullion" / "sandbox" / self.stack
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "AWS_"))}
        known = {"PYTHONPATH": str(folder), "MULLION_PULUMI": str(engine.path), "XDG_CACHE_HOME": str(folder / "cache")}
        self.environment = {**inherited, **known}

    def fresh(self) -> None:
        """Forget all stacks and worlds."""
        shutil.rmtree(self.folder / ".mullion", ignore_errors=True)
        self.sandbox.mkdir(parents=True)

    def words(self, *words: str) -> list[str]:
        """The command line of `mullion WORDS`."""
        return [sys.executable, "-m", "operations", *words]

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start the command in a session of its own."""
        return subprocess.Popen(
            self.words(*words),
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        process = self.start(*words)
        output, errors = process.communicate(timeout=180)
        return subprocess.CompletedProcess(words, process.returncode, output, errors)

    def up(self, *more: str) -> subprocess.CompletedProcess[str]:
        """Build the cluster in the sandbox."""
        return self.run("up", self.stack, "--sandbox", "--yes", *more)

    @contextmanager
    def world(self) -> Iterator[World]:
        """Open the embedded cloud. Closed late, SQLite would take away files of the next world at this place."""
        world = World(self.sandbox / "world.db")
        try:
            yield world
        finally:
            world.close()

    def locks(self) -> list[Path]:
        """Lock files of the backend."""
        return list((self.sandbox / "state" / ".pulumi" / "locks").rglob("*.json"))

    def engine_id(self) -> int | None:
        """Process id of the engine that works on the stack: it holds the lock."""
        try:
            return next(iter(json.loads(each.read_text())["pid"] for each in self.locks()), None)
        except (OSError, ValueError):  # written or taken away right now
            return None

    def state(self) -> dict[str, Any]:
        """The state as it lies on the disk; empty before there is one."""
        path = self.sandbox / "state" / ".pulumi" / "stacks" / "mullion" / f"{self.stack}.json"
        return json.loads(path.read_text())["checkpoint"].get("latest") or {} if path.exists() else {}

    def differences(self) -> agreement.Disagreement:
        """Where state and world differ."""
        there = agreement.in_sandbox(self.sandbox / "world.db")
        return agreement.compare(self.state().get("resources") or [], there)

    def secrets(self) -> dict[str, Any]:
        """What each Stash of the state holds, decrypted, by URN; empty before there is a state."""
        if not self.state().get("resources"):
            return {}
        copy = self.folder / "copy"  # without what a run that was cut off may have left half written
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.sandbox / "state", copy, ignore=shutil.ignore_patterns("*.attrs", "locks"))
        exported = subprocess.run(
            [self.engine.path, "stack", "export", "--show-secrets", "--stack", self.stack],
            cwd=self.sandbox / "work",
            env={**self.environment, **sandbox_environment(self.sandbox), "PULUMI_BACKEND_URL": copy.as_uri()},
            check=True,
            capture_output=True,
            text=True,
        )
        resources = json.loads(exported.stdout)["deployment"]["resources"]
        return {each["urn"]: each["outputs"]["output"] for each in resources if each["type"] == STASH}
