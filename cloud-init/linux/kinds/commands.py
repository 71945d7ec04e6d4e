"""Programs that run once, programs that only read, and conditions to wait for."""

import ipaddress
import json
import re
import socket
import time
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError

import web
from failure import Failure
from run import Run, Step

from kinds.services import active

POLL_SECONDS = 2


def command_holds(run: Run, step: Step) -> bool:
    """Return True if `requires` does not exist, if `creates` exists, or (without `creates`) if it ran in this run."""
    if step.get("requires") and not run.path(step["requires"]).exists():
        return True
    if step.get("creates"):
        return run.path(step["creates"]).exists()
    return step["name"] in run.done


def make_command(run: Run, step: Step) -> None:
    """Run the program with `input` on its standard input."""
    text = step.get("input")
    text = text if text is None or isinstance(text, str) else json.dumps(text)
    run.command(*step["argv"], environment=step.get("environment"), text=text)
    run.done.add(step["name"])


def probe_holds(run: Run, step: Step) -> bool:
    """Return True if the output matches `expect`. Raise Failure probe-failed if not: a probe is never applied."""
    ended = run.command(*step["argv"], check=False)
    said, expected = ended.stdout.strip(), step.get("expect", r"(?s).+")
    if ended.returncode or not re.fullmatch(expected, said):
        shown = run.redact((said + " " + ended.stderr).strip())[-500:]  # redact first: half a secret is not recognized
        about = f"{step['argv'][0]} ended with {ended.returncode}: {shown!r}"
        wanted = f", expected {step['expect']!r}" if "expect" in step else ""
        raise Failure("probe-failed", f"{step['message']}: {about}{wanted}")
    if "records" in step:
        run.recorded[step["records"]] = said
    return True


def make_probe(run: Run, step: Step) -> None:
    """Do nothing: a failed probe ends the run in probe_holds."""


def address_there(run: Run, name: str) -> bool:
    """Return whether the address is one of this machine's, or the name resolves."""
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(name).version == 6 else socket.AF_INET
    except ValueError:
        return bool(socket.getaddrinfo(name, None))
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((name, 0))
    return True


def tcp_open(run: Run, place: list[Any]) -> bool:
    """Return whether [host, port] accepts a connection within 5 seconds."""
    with socket.create_connection((place[0], int(place[1])), timeout=5):
        return True


def url_answers(run: Run, url: str) -> bool:
    """Return whether the URL answers with a status below 500. The certificate is not verified: no data is used."""
    try:
        with web.opener(run, judged=False).open(url, timeout=5):
            return True
    except HTTPError as error:
        error.close()
        return error.code < 500


CONDITIONS = {
    "address": address_there,
    "tcp": tcp_open,
    "url": url_answers,
    "file": lambda run, path: run.path(path).exists(),
    "service": lambda run, name: active(run, f"{name}.service"),
}


def wait_holds(run: Run, step: Step) -> bool:
    """Return whether the condition holds now."""
    ((name, value),) = step["condition"].items()
    if name not in CONDITIONS:
        raise Failure("step-invalid", f"{name!r} is no condition")
    try:
        return CONDITIONS[name](run, value)
    except (OSError, HTTPException):
        return False


def make_wait(run: Run, step: Step) -> None:
    """Poll until the condition holds. Raise Failure after the step's timeout."""
    began = time.monotonic()
    while not wait_holds(run, step):
        if run.left() < 0:
            spent = time.monotonic() - began
            raise Failure(step.get("error", "wait-timeout"), f"{step['condition']} did not hold within {spent:.0f} s")
        time.sleep(min(POLL_SECONDS, max(run.left(), 0) + 0.01))
        run.units = None
