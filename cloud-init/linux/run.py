"""State of one run of the executor: machine.json, values found on the machine, and memory between runs."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import loader
import programs
from clouds import CLOUDS, Cloud
from failure import Failure
from values import FOUND
from writing import write_whole

STATE = "/var/lib/mullion"
NO_VERSION = ("ResourceNotFoundException", "FAILED_PRECONDITION")
"""Words of AWS for a secret without a version, and of Google Cloud for one whose newest version is destroyed or
disabled; both answer 400."""
SHORTEST_TIME = 1
"""Minimum timeout of a program, so a condition can be tested once more at the end of a step's timeout."""
SHORTEST = 4
"""Minimum characters of a line of a secret to redact it; redacting shorter ones would make messages unreadable."""

Step = dict[str, Any]
"""A step of plan.json with its references resolved."""


class Run:
    """Values of references, paths below the machine's root, and programs; remembers secrets to redact them."""

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
        """Values of node.*: `found` until a step fails, `recorded` (by probes) for the whole run."""
        self.unsaid: set[str] = set()
        self.done: set[str] = set()
        """Commands without `creates` that ran in this run."""
        self.stored: dict[str, str] = {}
        self.digests: dict[tuple[Any, ...], str] = {}
        self.units: dict[str, dict[str, str]] | None = None
        self.reached = "ready"
        """State of the status record after the run: `reports` of the last phase that has one."""
        self.later: list[Step] = []
        """Later steps of this phase, unresolved."""
        self.begun: dict[str, Any] | None = None
        """Downloads of this phase by step; None before the first."""
        self.until = time.monotonic()
        for each in self.egress.get("proxy", {}).values():
            self.unsaid |= {urlsplit(each).password or ""} - {""} if isinstance(each, str) else set()

    def path(self, name: str) -> Path:
        """Return the absolute path below the machine's root."""
        if not name.startswith("/"):
            raise Failure("step-invalid", f"{name!r} is not an absolute path")
        return self.root / name.lstrip("/")

    def left(self) -> float:
        """Return the seconds left of this attempt of the step."""
        return self.until - time.monotonic()

    def in_time(self) -> None:
        """Raise Failure step-timeout if no time is left."""
        if self.left() < 0:
            raise Failure("step-timeout", f"the timeout was exceeded by {-self.left():.1f} s")

    def try_for(self, seconds: float) -> None:
        """Start the timeout of an attempt."""
        self.until = time.monotonic() + seconds

    @contextmanager
    def own_time(self, seconds: float) -> Iterator[None]:
        """Give a clean-up a timeout of its own, because the attempt's may be over; then the attempt's holds again."""
        until = self.until
        self.try_for(seconds)
        try:
            yield
        finally:
            self.until = until

    def forget(self) -> None:
        """Discard cached values after a failed step; they may be outdated."""
        self.units = None
        self.found.clear()
        self.stored.clear()

    def value(self, reference: str) -> Any:
        """Return the value of a reference. Raise Failure reference-unresolved if it has none."""
        source, _, name = reference.partition(".")
        if source in self.told and name in self.told[source]:
            return self.told[source][name]
        if source == "node" and name in FOUND and name not in self.found:
            self.found[name] = FOUND[name](self)
        known = self.found | self.recorded
        if source == "node" and name in known:
            return known[name]
        raise Failure("reference-unresolved", f"{reference} has no value")

    def resolve(self, document: Any) -> Any:
        """Return the document with every {"ref": name} replaced by its value."""
        if isinstance(document, dict):
            if set(document) == {"ref"}:
                return self.value(document["ref"])
            return {key: self.resolve(each) for key, each in document.items()}
        return [self.resolve(each) for each in document] if isinstance(document, list) else document

    def ask(
        self,
        service: str,
        url: str,
        method: str = "GET",
        body: bytes | memoryview = b"",
        most: int = 0,
        **headers: str,
    ) -> bytes:
        """Return a service's answer to this machine's identity (loader.ask). Raise OSError if the request fails.

        most: maximum bytes of the answer, for objects that others can write; 0 for no limit.
        """
        if not url.startswith("https://") and self.told["facts"].get("world") != "sandbox":
            raise OSError(f"{url} is not https")
        self.in_time()
        seconds = min(max(self.left(), 1), 30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content: Any = body
        return loader.ask(self.told["facts"], url, service, method, content, named, seconds, most)

    @property
    def cloud(self) -> Cloud:
        """Return the module of the machine's cloud."""
        return CLOUDS[self.told["facts"]["cloud"]]

    def secret(self, name: str, member: str | None = None) -> str:
        """Return a secret's text, or one member of a JSON object. Raise Failure secret-unavailable, also if empty."""
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
            failure = Failure("secret-unavailable", f"secret {name}{f', member {member},' if member else ''} is empty")
            failure.absent = True
            raise failure
        self.keep_unsaid(text)
        return text

    def put_secret(self, name: str, text: str) -> None:
        """Store a new text of a secret. Raise Failure secret-unavailable, without the text."""
        with self.asking_for(name):
            self.cloud.put_secret(self, name, text)
        self.stored[name] = text

    @contextmanager
    def asking_for(self, name: str) -> Iterator[None]:
        """Turn errors inside the block into Failure secret-unavailable with the secret's name."""
        try:
            yield
        except (OSError, ValueError, LookupError) as error:
            about = f"secret {name} at {self.value('facts.secret_service')}: {type(error).__name__}: {error}"
            failure = Failure("secret-unavailable", about)
            code = error.code if isinstance(error, HTTPError) else 0
            failure.absent = code == 404 or (code == 400 and any(word in about for word in NO_VERSION))
            raise failure from None

    def keep_unsaid(self, text: str) -> None:
        """Redact every line of the text from now on, also in JSON notation."""
        lines = {line.strip() for line in text.splitlines()} | {text.strip()}
        lines = {line for line in lines if len(line) >= SHORTEST}
        self.unsaid |= lines | {json.dumps(line)[1:-1] for line in lines}

    def redact(self, text: str) -> str:
        """Return the text with every line of this run's secrets redacted."""
        for each in sorted(self.unsaid, key=len, reverse=True):
            text = text.replace(each, "[secret]")
        return text

    def command(
        self, *argv: str, environment: dict[str, str] | None = None, text: str | None = None, check: bool = True
    ) -> programs.Ended:
        """Run a program within the attempt's timeout. Raise Failure if it fails (with `check`) or takes too long."""
        ended = programs.start(argv, max(self.left(), SHORTEST_TIME), environment, text or "")
        if check and ended.returncode:
            said = self.redact((ended.stdout + ended.stderr).strip())[-1500:]  # redact before the cut
            raise Failure("command-failed", f"{argv[0]} ended with {ended.returncode}: {said}")
        return ended

    def remember(self, **values: Any) -> dict[str, Any]:
        """Write values into the memory between runs and return all of it."""
        place = self.path(f"{STATE}/state.json")
        memory = json.loads(place.read_text()) if place.exists() else {}
        if any(memory.get(name) != value for name, value in values.items()):
            memory |= values
            write_whole(place, json.dumps(memory).encode(), 0o600)
        return memory
