"""Conditions to wait for, and the host's firewall."""

import ipaddress
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
AT_ONCE = 7
"""Ports and ranges of one rule: iptables' multiport takes 15, a range counts twice."""


def address_there(run: Run, name: str) -> bool:
    """The address is one of this machine's, or the name resolves."""
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(name).version == 6 else socket.AF_INET
    except ValueError:
        return bool(socket.getaddrinfo(name, None))
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((name, 0))
    return True


def tcp_open(run: Run, place: list[Any]) -> bool:
    """Something accepts connections at [host, port]."""
    with socket.create_connection((place[0], int(place[1])), timeout=5):
        return True


def url_answers(run: Run, url: str) -> bool:
    """The URL answers below 500. Its certificate is not judged: nothing is sent, nothing that it says is used."""
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
    """The condition holds now."""
    ((name, value),) = step["condition"].items()
    if name not in CONDITIONS:
        raise Failure("step-invalid", f"{name!r} is no condition")
    try:
        return CONDITIONS[name](run, value)
    except (OSError, HTTPException):
        return False


def make_wait(run: Run, step: Step) -> None:
    """Asks again and again until the step's time is over."""
    began = time.monotonic()
    while not wait_holds(run, step):
        if run.left() < 0:
            spent = time.monotonic() - began
            raise Failure(step.get("error", "wait-timeout"), f"{step['condition']} did not hold within {spent:.0f} s")
        time.sleep(min(POLL_SECONDS, max(run.left(), 0) + 0.01))
        run.units = None


def rules(step: Step) -> list[list[str]]:
    """Iptables' words for the step: one rule for each source and so many ports."""
    ports = [each.replace("-", ":") for each in step["ports"]]
    parts = [",".join(ports[place : place + AT_ONCE]) for place in range(0, len(ports), AT_ONCE)]
    comment = ["-m", "comment", "--comment", step["rule"], "-j", "ACCEPT"]
    return [
        [*(["-s", source] if source else []), "-p", step["protocol"], "-m", "multiport", "--dports", part, *comment]
        for source in step.get("sources") or [None]
        for part in parts
    ]


def missing(run: Run, step: Step) -> list[list[str]]:
    """Rules that are not in the INPUT chain."""
    return [rule for rule in rules(step) if run.command("iptables", "-w", "-C", "INPUT", *rule, check=False).returncode]


def rule_holds(run: Run, step: Step) -> bool:
    """Every rule is there."""
    return not missing(run, step)


def make_rule(run: Run, step: Step) -> None:
    """Adds what is missing, before anything that could refuse."""
    for rule in missing(run, step):
        run.command("iptables", "-w", "-I", "INPUT", "1", *rule)
