"""Starting and stopping a sandbox's machines, and the address of their API on this host."""

import os
import signal
import subprocess
import sys
import time

import yaml

from operations.console.exits import Exit, Stop
from operations.console.heartbeat import Heartbeat
from operations.stacks import boot_overlay
from operations.stacks.paths import REPOSITORY
from operations.stacks.target import cloud_state_file, in_sandbox, sandbox_folder

START_STOP_SECONDS = 60
"""Longest time in which the machines' network starts, and in which all machines stop."""


def api(name: str) -> str:
    """Return the API's URL on this host; empty if the stack is not booted."""
    if not boot_overlay.is_chosen(name):
        return ""
    from sandbox.boot import machine_status, supervision
    from sandbox.cloud_state import CloudState

    if supervision.supervisor_pid(sandbox_folder(name)) is None:
        return ""
    cloud_state = CloudState(cloud_state_file(name))
    try:
        return machine_status.network(cloud_state).get("api", "")
    finally:
        cloud_state.close()


def sessions(name: str) -> list[str]:
    """Return the words before a cloud's session command that reach the stack's booted machines; empty if not booted."""
    return [sys.executable, "-m", "sandbox.boot.session", str(sandbox_folder(name))] if api(name) else []


def not_booted(name: str) -> str:
    """Return a message: the sandbox is not booted, and how to boot it."""
    return f"the sandbox of {name} is not booted: make demo STACK={name}, or mullion sandbox boot {name}"


def refuse_unbooted(name: str) -> None:
    """Raise Stop if a stack is in the sandbox but not booted. For commands that need a live cluster."""
    if in_sandbox(name) and not api(name):
        raise Stop(Exit.USAGE, not_booted(name))


def reached(name: str, kubeconfig: str) -> str:
    """Return a kubeconfig for use on this host: for a booted sandbox, with the API's URL here."""
    url = api(name)
    if not url:
        return kubeconfig
    document = yaml.safe_load(kubeconfig)
    document["clusters"][0]["cluster"]["server"] = url
    return yaml.safe_dump(document, sort_keys=False)


def start(name: str) -> None:
    """Start the background process that runs the stack's machines, unless it is running, and wait for its API address.

    Raises Stop if that takes more than START_STOP_SECONDS.
    """
    from sandbox.boot import supervision

    folder = sandbox_folder(name)
    if supervision.supervisor_pid(folder) is None:
        supervision.clean(folder)
        with supervision.log(folder).open("w", encoding="utf-8") as log:
            words = [sys.executable, "-m", "sandbox.boot.supervisor", str(folder)]
            # in its own session, so it outlives this command and its terminal
            subprocess.Popen(
                words, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
    end, announced, heart = time.monotonic() + START_STOP_SECONDS, False, Heartbeat()
    while not api(name):
        heart.beat(f"the sandbox of {name} to start; {supervision.log(folder)}")
        text = supervision.log(folder).read_text("utf-8", errors="replace")
        if supervision.HOST_IN_USE in text:
            if not announced:
                print(f"mullion: {supervision.HOST_IN_USE}", file=sys.stderr, flush=True)
            announced = True
        elif time.monotonic() > end:
            raise Stop(
                Exit.FAILED,
                f"the sandbox of {name} does not start; {supervision.log(folder)} ends with:\n{text[-2000:]}",
            )
        time.sleep(0.2)


def stop(name: str, *, disks_too: bool = False) -> bool:
    """Cut the power of all machines and delete their network; return whether they were booted.

    disks_too: also delete their disks.
    """
    if not boot_overlay.is_chosen(name):
        return False
    from sandbox.boot import supervision

    folder = sandbox_folder(name)
    pid = supervision.supervisor_pid(folder)
    if pid is not None:
        os.kill(pid, signal.SIGTERM)
        end, heart = time.monotonic() + START_STOP_SECONDS, Heartbeat()
        while supervision.supervisor_pid(folder) is not None:
            heart.beat(f"the machines of {name} to stop")
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
    supervision.clean(folder, disks_too=disks_too)
    return pid is not None
