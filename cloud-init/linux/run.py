"""One run of the executor: what the machine was told, what it finds out, and its memory between runs."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import loader
import programs
from clouds import CLOUDS, Cloud
from failure import Failure
from values import FOUND
from writing import write_whole

STATE = "/var/lib/mullion"
SHORTEST_TIME = 1
"""Seconds that a program gets also at the end of a step's time: a last look at a condition is one."""
SHORTEST = 4
"""Characters of a line of a secret from which on it is kept unsaid; shorter ones would blacken every message."""

Step = dict[str, Any]
"""A step of plan.json with its references resolved."""


class Run:
    """Values for references, paths under the machine's root, and programs; remembers secrets to keep them unsaid."""

    def __init__(self, root: Path, told: dict[str, Any], plan: dict[str, Any]) -> None:
        """`root` is / on a machine; `told` is machine.json, `plan` is plan.json."""
        self.root, self.plan = root, plan
        self.told = {
            "machine": told["machine"],
            "facts": told["facts"],
            "registration": plan.get("registration", {}),
        }
        self.egress: dict[str, Any] = plan.get("egress", {})
        self.found: dict[str, str] = {}
        self.recorded: dict[str, str] = {}
        """Values of node.*: found out once, until a step fails; and recorded by probes, for the whole run."""
        self.unsaid: set[str] = set()
        self.done: set[str] = set()
        """Commands without `creates` that this run ran."""
        self.stored: dict[str, str] = {}
        self.digests: dict[tuple[Any, ...], str] = {}
        self.units: dict[str, dict[str, str]] | None = None
        self.reached = "ready"
        """State of the status record once all is done: the last phase's own word, where it has one."""
        self.later: list[Step] = []
        """Steps of the phase after this one, not resolved."""
        self.begun: dict[str, Any] | None = None
        """Downloads of the phase under way, by step; None before the first."""
        self.until = time.monotonic()
        for each in self.egress.get("proxy", {}).values():
            self.unsaid |= {urlsplit(each).password or ""} - {""} if isinstance(each, str) else set()

    def path(self, name: str) -> Path:
        """Where the absolute path lies under the machine's root."""
        if not name.startswith("/"):
            raise Failure("step-invalid", f"{name!r} is no absolute path")
        return self.root / name.lstrip("/")

    def left(self) -> float:
        """Seconds that this try of the step still has."""
        return self.until - time.monotonic()

    def in_time(self) -> None:
        """Failure step-timeout when this try has none."""
        if self.left() < 0:
            raise Failure("step-timeout", f"it took {-self.left():.1f} s longer than its time")

    def try_for(self, seconds: float) -> None:
        """A try of a step begins."""
        self.until = time.monotonic() + seconds

    def forget(self) -> None:
        """A step failed: what was found out before it may not be so any more."""
        self.units = None
        self.found.clear()
        self.stored.clear()

    def value(self, reference: str) -> Any:
        """The value of one reference. Failure reference-unresolved when nothing has it."""
        source, _, name = reference.partition(".")
        if source in self.told and name in self.told[source]:
            return self.told[source][name]
        if source == "node" and name in FOUND and name not in self.found:
            self.found[name] = FOUND[name](self)
        known = self.found | self.recorded
        if source == "node" and name in known:
            return known[name]
        raise Failure("reference-unresolved", f"nothing says what {reference} is")

    def resolve(self, document: Any) -> Any:
        """The document with every {"ref": name} replaced by its value."""
        if isinstance(document, dict):
            if set(document) == {"ref"}:
                return self.value(document["ref"])
            return {key: self.resolve(each) for key, each in document.items()}
        return [self.resolve(each) for each in document] if isinstance(document, list) else document

    def ask(self, service: str, url: str, method: str = "GET", body: bytes | memoryview = b"", **headers: str) -> bytes:
        """What a service (loader.ask) answers to this machine's identity; OSError when it refuses or is not there."""
        if not url.startswith("https://") and self.told["facts"].get("world") != "sandbox":
            raise OSError(f"{url} is not https")
        self.in_time()
        seconds = min(max(self.left(), 1), 30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content: Any = body
        return loader.ask(self.told["facts"], url, service, method, content, named, seconds)

    @property
    def cloud(self) -> Cloud:
        """The cloud that this machine is in."""
        return CLOUDS[self.told["facts"]["cloud"]]

    def secret(self, name: str, member: str | None = None) -> str:
        """A secret's text, or one member of it when it is a JSON object. Failure secret-unavailable, also if empty."""
        if name not in self.stored:
            with self.asking_for(name):
                self.stored[name] = self.cloud.secret(self, name)
        text: Any = self.stored[name]
        if member is not None:
            try:
                text = json.loads(text)[member]
            except (ValueError, KeyError, TypeError):
                raise Failure("secret-unavailable", f"secret {name} has no member {member}") from None
        text = text if isinstance(text, str) else json.dumps(text)
        if not text.strip():
            raise Failure("secret-unavailable", f"secret {name}{f', member {member},' if member else ''} is empty")
        self.keep_unsaid(text)
        return text

    def put_secret(self, name: str, text: str) -> None:
        """Gives a secret a new text. Failure secret-unavailable, without it."""
        with self.asking_for(name):
            self.cloud.put_secret(self, name, text)
        self.stored[name] = text

    @contextmanager
    def asking_for(self, name: str) -> Iterator[None]:
        """What goes wrong inside does so with this secret: Failure secret-unavailable."""
        try:
            yield
        except (OSError, ValueError, LookupError) as error:
            about = f"secret {name} at {self.value('facts.secret_service')}: {type(error).__name__}: {error}"
            raise Failure("secret-unavailable", about) from None

    def keep_unsaid(self, text: str) -> None:
        """No line of this text is said anywhere, also not as JSON writes it."""
        lines = {line.strip() for line in text.splitlines()} | {text.strip()}
        lines = {line for line in lines if len(line) >= SHORTEST}
        self.unsaid |= lines | {json.dumps(line)[1:-1] for line in lines}

    def redact(self, text: str) -> str:
        """The text without any line of a secret that this run read."""
        for each in sorted(self.unsaid, key=len, reverse=True):
            text = text.replace(each, "[secret]")
        return text

    def command(
        self, *argv: str, environment: dict[str, str] | None = None, text: str | None = None, check: bool = True
    ) -> programs.Ended:
        """Runs a program within the time of this try. Failure when it fails (`check`) or takes too long."""
        ended = programs.start(argv, max(self.left(), SHORTEST_TIME), environment, text or "")
        if check and ended.returncode:
            said = self.redact((ended.stdout + ended.stderr).strip())[-1500:]  # half a secret would not be known
            raise Failure("command-failed", f"{argv[0]} ended with {ended.returncode}: {said}")
        return ended

    def remember(self, **values: Any) -> dict[str, Any]:
        """Writes values into the memory between runs and returns all of it."""
        place = self.path(f"{STATE}/state.json")
        memory = json.loads(place.read_text()) if place.exists() else {}
        if any(memory.get(name) != value for name, value in values.items()):
            memory |= values
            write_whole(place, json.dumps(memory).encode(), 0o600)
        return memory
