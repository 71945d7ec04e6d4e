"""One run of the executor: what the machine was told, what it finds out, and its memory between runs."""

import ipaddress
import json
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import loader
from failure import Failure

METADATA_HOST = "169.254.169.254"
STATE = "/var/lib/mullion"

Step = dict[str, Any]
"""A step of plan.json with its references resolved."""


class Run:
    """Values for references, paths under the machine's root, and programs; remembers secrets to keep them unsaid."""

    def __init__(self, root: Path, told: dict[str, Any], registration: dict[str, Any]) -> None:
        """`root` is / on a machine; `told` is machine.json, `registration` comes from the plan."""
        self.root = root
        self.told = {"machine": told["machine"], "facts": told["facts"], "registration": registration}
        self.found: dict[str, str] = {}
        self.unsaid: set[str] = set()
        self.done: set[str] = set()
        self.stored: dict[str, str] = {}

    def path(self, name: str) -> Path:
        """Where the absolute path lies under the machine's root."""
        return self.root / name.lstrip("/")

    def value(self, reference: str) -> Any:
        """The value of one reference. Failure reference-unresolved when nothing has it."""
        source, _, name = reference.partition(".")
        if source in self.told and name in self.told[source]:
            return self.told[source][name]
        if source == "node" and name in FOUND:
            if name not in self.found:
                self.found[name] = FOUND[name](self)
            return self.found[name]
        raise Failure("reference-unresolved", f"nothing says what {reference} is")

    def resolve(self, document: Any) -> Any:
        """The document with every {"ref": name} replaced by its value."""
        if isinstance(document, dict):
            if set(document) == {"ref"}:
                return self.value(document["ref"])
            return {key: self.resolve(each) for key, each in document.items()}
        return [self.resolve(each) for each in document] if isinstance(document, list) else document

    def secret(self, name: str, member: str | None = None) -> str:
        """A secret's text, or one member of it when it is a JSON object."""
        if name not in self.stored:
            self.stored[name] = self.secret_service("GetSecretValue", SecretId=name)["SecretString"]
        text = self.stored[name]
        if member is not None:
            try:
                text = json.loads(text)[member]
            except (ValueError, KeyError, TypeError):
                raise Failure("secret-unavailable", f"secret {name} has no member {member}") from None
        text = text if isinstance(text, str) else json.dumps(text)
        self.unsaid |= {line.strip() for line in text.splitlines() if len(line.strip()) >= 6}
        return text

    def secret_service(self, action: str, **body: str) -> dict[str, Any]:
        """The answer of AWS Secrets Manager to one action. Failure secret-unavailable, without the body."""
        service = self.value("facts.secret_service")
        if not service.startswith("https://") and self.told["facts"].get("world") != "sandbox":
            raise Failure("secret-unavailable", f"{service} is not https")
        headers = {"content-type": "application/x-amz-json-1.1", "x-amz-target": f"secretsmanager.{action}"}
        try:
            request = loader.signed(service, "secretsmanager", "POST", json.dumps(body).encode(), headers)
            with urlopen(request, timeout=30) as answer:
                return json.loads(answer.read())
        except Exception as error:
            if isinstance(error, HTTPError):
                error.close()
            about = f"{action} of {body['SecretId']} at {service}: {type(error).__name__}: {error}"
            raise Failure("secret-unavailable", about) from None

    def redact(self, text: str) -> str:
        """The text without any line of a secret that this run read."""
        for each in sorted(self.unsaid, key=len, reverse=True):
            text = text.replace(each, "[secret]")
        return text

    def command(
        self,
        *argv: str,
        timeout: float = 120,
        environment: dict[str, str] | None = None,
        text: str | None = None,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program to its end; returns the finished process. Failure when it fails or takes too long."""
        merged = {**os.environ, **(environment or {})}
        try:
            ended = subprocess.run(
                argv, capture_output=True, text=True, timeout=timeout, env=merged, input=text or "", check=False
            )
        except subprocess.TimeoutExpired:
            raise Failure("command-timeout", f"{argv[0]} took longer than {timeout} s") from None
        except OSError as error:
            raise Failure("command-failed", f"{argv[0]} cannot be started: {error}") from None
        if check and ended.returncode:
            said = (ended.stdout + ended.stderr).strip()[-1500:]
            raise Failure("command-failed", f"{argv[0]} ended with {ended.returncode}: {said}")
        return ended

    def remember(self, **values: Any) -> dict[str, Any]:
        """Writes values into the memory between runs and returns all of it."""
        place = self.path(STATE) / "state.json"
        memory = json.loads(place.read_text()) if place.exists() else {}
        if values:
            memory |= values
            write_whole(place, json.dumps(memory).encode(), 0o600)
        return memory


def write_whole(path: Path, content: bytes, mode: int) -> None:
    """The file is there whole, with its mode, or as it was before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.mullion-new")
    partial.unlink(missing_ok=True)
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _address(run: Run) -> str:
    """The address that packets to the metadata service would leave from; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((METADATA_HOST, 80))
        return probe.getsockname()[0]


def _provider_id(run: Run) -> str:
    zone, instance = (
        loader.metadata(f"/latest/meta-data/{each}") for each in ("placement/availability-zone", "instance-id")
    )
    return f"aws:///{zone}/{instance}"


def _pod_subnet(run: Run) -> str:
    # flanneld names the subnet by its gateway (10.244.3.1/24); a range starts with its network.
    place = run.path("/run/flannel/subnet.env")
    lines = place.read_text().splitlines() if place.exists() else []
    subnets = [line.partition("=")[2] for line in lines if line.startswith("FLANNEL_SUBNET=")]
    if not subnets:
        raise Failure("network-missing", f"{place} has no FLANNEL_SUBNET")
    return str(ipaddress.ip_interface(subnets[0]).network)


FOUND: dict[str, Callable[[Run], str]] = {
    "address": _address,
    "provider_id": _provider_id,
    "pod_subnet": _pod_subnet,
    "bootstrap_token": lambda run: run.secret(run.value("facts.join_secret")),
}
"""References of node.*, and how this system finds them; once a run."""
