"""Whether a stack's sandbox is booted, and how its API is reached from this host then."""

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
"""Seconds for a site to come up, and for its machines to be cut."""


def api(name: str) -> str:
    """URL of the API on this host; empty where the stack is not booted."""
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


def not_booted(name: str) -> str:
    """Return what to do about a sandbox that is not booted: nothing answers at its addresses."""
    return f"the sandbox of {name} is not booted: make demo STACK={name}, or mullion sandbox boot {name}"


def refuse_unbooted(name: str) -> None:
    """Raise Stop if a stack is built in the sandbox and not booted there. For commands that need a live cluster."""
    if in_sandbox(name) and not api(name):
        raise Stop(Exit.USAGE, not_booted(name))


def reached(name: str, kubeconfig: str) -> str:
    """A kubeconfig as it works on this host: through the sandbox where the stack is booted there."""
    url = api(name)
    if not url:
        return kubeconfig
    document = yaml.safe_load(kubeconfig)
    document["clusters"][0]["cluster"]["server"] = url
    return yaml.safe_dump(document, sort_keys=False)


def start(name: str) -> None:
    """Have a process of its own keep the stack's machines booted; nothing where one does."""
    from sandbox.boot import supervision

    folder = sandbox_folder(name)
    if supervision.supervisor_pid(folder) is None:
        supervision.clean(folder)
        with supervision.log(folder).open("w", encoding="utf-8") as log:
            words = [sys.executable, "-m", "sandbox.boot.supervisor", str(folder)]
            # its own session: it outlives this command and its terminal
            subprocess.Popen(
                words, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
    end, told, heart = time.monotonic() + START_STOP_SECONDS, False, Heartbeat()
    while not api(name):
        heart.beat(f"the sandbox of {name} to start; {supervision.log(folder)}")
        said = supervision.log(folder).read_text("utf-8", errors="replace")
        if supervision.HOST_IN_USE in said:
            if not told:
                print(f"mullion: {supervision.HOST_IN_USE}", file=sys.stderr, flush=True)
            told = True
        elif time.monotonic() > end:
            raise Stop(
                Exit.FAILED,
                f"the sandbox of {name} does not come up; {supervision.log(folder)} ends with:\n{said[-2000:]}",
            )
        time.sleep(0.2)


def stop(name: str, *, disks_too: bool = False) -> bool:
    """Cut all machines and end their network; False where nothing was booted. disks_too: they never boot again."""
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
