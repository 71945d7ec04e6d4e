"""A temporary copy of this clone with one stack in its sandbox, in which commands run as separate processes.

`mullion chaos` and the tests of recovery interrupt runs in it; the clone itself is not touched.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from components.stack_files.stack import CLUSTER
from operations.engine.locate import Engine
from operations.engine.process import end_session
from operations.engine.workspace import REMOVED, sandbox_environment
from operations.stacks.paths import REPOSITORY
from sandbox.cloud_state import CloudState

PARTS = (
    *("components", "operations", "sandbox", "lab", "cloud-init", "policies", "stacks", "Pulumi.yaml", "__main__.py"),
    *("tools/go.mod", "tools/go.sum", "tools/go.lock"),
)
"""All that `mullion` reads: its packages, and the pins of the engine that it builds if a machine has none."""
STASH = "pulumi:index:Stash"
RUN_SECONDS = 600
"""Seconds after which a run counts as hung."""


def copy_clone(folder: Path) -> None:
    """Copy the files that the command needs, with compiled code, without files that are being written."""
    for part in PARTS:
        if (REPOSITORY / part).is_dir():
            shutil.copytree(REPOSITORY / part, folder / part, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            (folder / part).parent.mkdir(exist_ok=True)
            shutil.copy2(REPOSITORY / part, folder / part)


class ScratchClone:
    """A copy of the clone in a folder, for one stack."""

    def __init__(self, folder: Path, engine: Engine, stack: str, config: Mapping[str, Any] | None = None) -> None:
        """config: the stack's configuration, if the clone has no file of it."""
        self.folder, self.engine, self.stack = folder, engine, stack
        copy_clone(folder)
        self.file = folder / "stacks" / f"Pulumi.{stack}.yaml"
        if config is not None:
            self.file.write_text(yaml.safe_dump({"config": dict(config)}, sort_keys=False), "utf-8")
        self._original = self.file.read_bytes()
        self.sandbox = folder / ".mullion" / "sandbox" / stack
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(REMOVED)}
        own = {"PYTHONPATH": str(folder), "MULLION_PULUMI": str(engine.path), "XDG_CACHE_HOME": str(folder / "cache")}
        self.environment = {**inherited, **own}
        self.fresh()

    def fresh(self) -> None:
        """Delete all states and sandboxes, and restore the stack file. The sandbox gets what the file names of the
        user: networks and the key. Raises RuntimeError with the command's error if it cannot.
        """
        shutil.rmtree(self.folder / ".mullion", ignore_errors=True)
        self.sandbox.mkdir(parents=True)
        self.file.write_bytes(self._original)
        cluster = self.document()
        if (cluster.get("network") or {}).get("existing") or (cluster.get("api") or {}).get("virtual_network_rules"):
            self._created("network")
        if cluster.get("encryption_key"):
            self._created("key")

    def _created(self, what: str) -> None:
        done = self.run("sandbox", what, self.stack)
        if done.returncode:
            raise RuntimeError(f"mullion sandbox {what} {self.stack}: {done.stderr}")

    def document(self) -> dict[str, Any]:
        """Return the stack file's `mullion:cluster` object."""
        return yaml.safe_load(self.file.read_text("utf-8"))["config"][CLUSTER]

    def write(self, cluster: dict[str, Any]) -> None:
        """Write a `mullion:cluster` object into the stack file."""
        settings = yaml.safe_load(self.file.read_text("utf-8"))
        settings["config"][CLUSTER] = cluster
        self.file.write_text(yaml.safe_dump(settings, sort_keys=False), "utf-8")

    def words(self, *words: str) -> list[str]:
        """Return the command line of `mullion WORDS`."""
        return [sys.executable, "-m", "operations", *words]

    @contextmanager
    def start(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """Start the command in a session of its own, and kill it if the caller raises."""
        process = subprocess.Popen(
            self.words(*words),
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        except BaseException:
            self.end(process)
            raise

    def end(self, process: subprocess.Popen[str]) -> None:
        """Kill a run and its engine."""
        engine = self.engine_id()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if engine is not None:
            end_session(engine)
        process.communicate()

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command, and wait until it ends."""
        with self.start(*words) as process:
            output, errors = process.communicate(timeout=RUN_SECONDS)
        return subprocess.CompletedProcess(words, process.returncode, output, errors)

    def up(self, *more: str) -> subprocess.CompletedProcess[str]:
        """Run `mullion up` in the sandbox."""
        return self.run("up", self.stack, "--sandbox", "--yes", *more)

    @contextmanager
    def cloud_state(self) -> Iterator[CloudState]:
        """Open the cloud state. It must be closed before the file is deleted: SQLite would delete files of its
        successor.
        """
        cloud_state = CloudState(self.sandbox / "world.db")
        try:
            yield cloud_state
        finally:
            cloud_state.close()

    def locks(self) -> list[Path]:
        """Return the lock files of the backend."""
        return list((self.sandbox / "state" / ".pulumi" / "locks").rglob("*.json"))

    def rolls(self) -> list[Path]:
        """Return the file of unfinished rolls, if it exists."""
        return list((self.folder / ".mullion" / self.stack).glob("rolls.json"))

    def engine_id(self) -> int | None:
        """Return the process id of the engine that holds the stack's lock, or None."""
        try:
            return next(iter(json.loads(each.read_text())["pid"] for each in self.locks()), None)
        except (OSError, ValueError):  # being written or deleted
            return None

    def state(self) -> dict[str, Any]:
        """Return the state on the disk; empty before the first run."""
        path = self.sandbox / "state" / ".pulumi" / "stacks" / "mullion" / f"{self.stack}.json"
        return json.loads(path.read_text())["checkpoint"].get("latest") or {} if path.exists() else {}

    def resources(self) -> list[dict[str, Any]]:
        """Return the resources of the state."""
        return self.state().get("resources") or []

    def secrets(self) -> dict[str, str]:
        """Return the digest of each Stash's decrypted value, by URN; empty before the first run."""
        if not self.resources():
            return {}
        copy = self.folder / "copy"  # without files that an interrupted run may have left incomplete
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
        return {each["urn"]: _digest(each["outputs"]["output"]) for each in resources if each["type"] == STASH}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
