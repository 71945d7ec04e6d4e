"""Conditions to wait for, and the host's firewall."""

import ipaddress
import socket
import ssl
import time
import urllib.error
import urllib.request
from typing import Any

from failure import Failure
from run import Run, Step

POLL_SECONDS = 2


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
    unjudged = ssl.create_default_context()
    unjudged.check_hostname, unjudged.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(url, timeout=5, context=unjudged):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return error.code < 500


CONDITIONS = {
    "address": address_there,
    "tcp": tcp_open,
    "url": url_answers,
    "file": lambda run, path: run.path(path).exists(),
    "service": lambda run, name: run.command("systemctl", "is-active", name, check=False).returncode == 0,
}


def wait_holds(run: Run, step: Step) -> bool:
    """The condition holds now."""
    ((name, value),) = step["condition"].items()
    if name not in CONDITIONS:
        raise Failure("step-invalid", f"{name!r} is no condition")
    try:
        return CONDITIONS[name](run, value)
    except OSError:
        return False


def make_wait(run: Run, step: Step) -> None:
    """Asks again and again until the step's time is over."""
    seconds = step.get("timeout_seconds", 300)
    end = time.monotonic() + seconds
    while not wait_holds(run, step):
        if time.monotonic() > end:
            raise Failure("wait-timeout", f"{step['condition']} did not hold within {seconds} s")
        time.sleep(POLL_SECONDS)


def rules(step: Step) -> list[list[str]]:
    """Iptables' words for the step: one rule a source."""
    match = ["-p", step["protocol"].lower(), "-m", "multiport", "--dports", step["ports"].replace("-", ":")]
    comment = ["-m", "comment", "--comment", step["rule"], "-j", "ACCEPT"]
    return [[*(["-s", source] if source else []), *match, *comment] for source in step.get("sources") or [None]]


def rule_holds(run: Run, step: Step) -> bool:
    """Every rule is in the INPUT chain."""
    found = [run.command("iptables", "-w", "-C", "INPUT", *rule, check=False).returncode for rule in rules(step)]
    return not any(found)


def make_rule(run: Run, step: Step) -> None:
    """Adds what is missing, before anything that could refuse."""
    for rule in rules(step):
        if run.command("iptables", "-w", "-C", "INPUT", *rule, check=False).returncode:
            run.command("iptables", "-w", "-I", "INPUT", "1", *rule)
