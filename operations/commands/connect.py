"""`mullion connect` and `mullion kubectl`: use a private API, and shells of machines, from outside the network."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from components.plan import ClusterPlan, MachineGroup, plan_cluster
from components.rollout import session_commands
from components.spec.choices import ApiAccess, MachineAccess
from components.stack_files.stack import Stack
from operations.clouds import run_command
from operations.commands import kubeconfig, reached_api
from operations.console.exits import Exit, Stop
from operations.engine import state
from operations.stacks import boot_site, stack_files, target

POLL_SECONDS = 1.0
"""Seconds between two checks whether the tunnel is open."""
TOOLS = "https://kubernetes.io/docs/tasks/tools/"


def connect(name: str, machine: str | None) -> None:
    """Open a tunnel to a stack's private API until Ctrl-C, or a shell on one of its machines."""
    stack = stack_files.load(name)
    boot_site.refuse_unbooted(name)
    if stack.spec.access is not MachineAccess.SESSION:
        raise Stop(Exit.USAGE, _without_sessions(stack))
    if machine:
        _shell(stack, machine)
    elif stack.spec.api.access is ApiAccess.PUBLIC:
        raise Stop(Exit.USAGE, f"the API of {name} is public and needs no tunnel; run: mullion kubeconfig {name}")
    else:
        _hold(plan_cluster(name, stack.spec))


def kubectl(name: str, words: Sequence[str]) -> int:
    """Run kubectl on a stack's cluster, through a tunnel if its API needs one. Return its exit code."""
    stack_files.load(name)
    boot_site.refuse_unbooted(name)
    if shutil.which("kubectl") is None:
        raise Stop(Exit.USAGE, f"kubectl is not on PATH; install it: {TOOLS}")
    with reached_api.reached(name, kubeconfig.administrator(name)) as text, reached_api.kept(name, text) as path:
        process = subprocess.Popen(["kubectl", *words], env={**os.environ, "KUBECONFIG": str(path)})
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for kubectl
        try:
            code = process.wait()
        finally:
            signal.signal(signal.SIGINT, before)
    return 128 - code if code < 0 else code


def _without_sessions(stack: Stack) -> str:
    ways = f"set access: session in {stack_files.file(stack.name)}, and run: {target.command('up', stack.name)}"
    if stack.spec.api.access is ApiAccess.PUBLIC:
        ways += f"; its API is public: mullion kubeconfig {stack.name}"
    return f"stack {stack.name} has no sessions; {ways}"


def _hold(plan: ClusterPlan) -> None:
    """Keep a tunnel to the API open until Ctrl-C. Raises Stop if it ends before."""
    name = plan.name
    with reached_api.opened(plan, kubeconfig.administrator(name)) as (api, text), reached_api.kept(name, text) as path:
        if not api.has_tunnel:
            print(f"the API of {name} answers here without a tunnel; run: mullion kubeconfig {name}")
            return
        print(f"kubeconfig of {name}: {path}\n  export KUBECONFIG={os.path.abspath(path)}")  # noqa: PTH100 - keeps a link
        print("The tunnel is open until you press Ctrl-C; the kubeconfig is removed then.", flush=True)
        # also started in the background, where the shell ignores Ctrl-C
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            while api.has_tunnel:
                time.sleep(POLL_SECONDS)
        except KeyboardInterrupt:
            print("mullion: the tunnel is closed", file=sys.stderr)
            return
        finally:
            signal.signal(signal.SIGTERM, before)
    raise Stop(Exit.FAILED, f"the tunnel to the API of {name} ended; run again: mullion connect {name}")


def _shell(stack: Stack, machine: str) -> None:
    """Become the cloud's command for a shell on a machine. Raises Stop if that cannot work."""
    group = _group(stack, machine)
    spec, name = stack.spec, stack.name
    if spec.cloud.facts.session_host:
        raise Stop(
            Exit.USAGE,
            f"{machine} has no shell: on {spec.cloud.facts.title}, sessions reach the API only, because no account of a"
            f" machine takes a person's key. To run a command as administrator: mullion connect {name} {machine} --"
            f" COMMAND. To read its logs: mullion logs {name} {machine}",
        )
    if group.os.is_windows and spec.cloud.facts.session_sources:
        raise Stop(
            Exit.USAGE,
            f"{machine} has no shell: on {spec.cloud.facts.title}, sessions of Windows machines need a user that "
            "Google's agent creates, and Mullion asks the agent not to (disable-account-manager). To read its logs: "
            f"mullion logs {name} {machine}",
        )
    before, place = _before(stack), reached_api.place(stack, _created(name, machine))
    words = [*before, *session_commands.shell(place)]
    if place.hint and not before:
        print(f"mullion: {place.hint}", file=sys.stderr)
    sys.stdout.flush()
    os.execvp(words[0], words)  # noqa: S606 - words are not parsed by a shell


def _before(stack: Stack) -> list[str]:
    """Return the words before the cloud's own command: those of a sandbox. Raises Stop if its program is missing."""
    before = boot_site.sessions(stack.name)
    if not before and (lacking := session_commands.missing(stack.spec.cloud.value)):
        raise Stop(Exit.FAILED, lacking)
    return [*before]


def _created(name: str, machine: str) -> dict[str, Any]:
    """Return the outputs of a machine's instance in the state. Raises Stop if there is none."""
    with kubeconfig.built(name) as run:
        found = state.instances(state.resources(run)).get(machine)
    if found is None:
        raise Stop(Exit.FAILED, f"{machine} is not created yet; run: {target.command('up', name)}")
    return found


def run(name: str, machine: str, command: Sequence[str]) -> int:
    """Run a command on a machine of Azure as root or SYSTEM, print what it wrote, and return its exit code."""
    stack = stack_files.load(name)
    boot_site.refuse_unbooted(name)
    windows = _group(stack, machine).os.is_windows
    if not stack.spec.cloud.facts.session_host:
        title = stack.spec.cloud.facts.title
        raise Stop(Exit.USAGE, f"on {title}, run the command in a shell: mullion connect {name} {machine}")
    before = _before(stack)
    resource = _created(name, machine)["resource"]
    with TemporaryDirectory() as folder:  # of mode 700
        file = Path(folder) / "script"
        file.write_text(run_command.script(command, is_windows=windows), "utf-8")
        words = [*before, *run_command.words(resource, file, is_windows=windows)]
        asked = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if asked.returncode:
        raise Stop(Exit.FAILED, f"Azure did not run the command on {machine}; az says why above")
    return _shown(machine, asked.stdout)


def _shown(machine: str, answer: str) -> int:
    """Print what a command wrote; return its exit code. Raises Stop if it has none."""
    try:
        ran = run_command.read(answer)
    except ValueError as error:
        raise Stop(Exit.FAILED, str(error)) from None
    sys.stdout.write(ran.output)
    sys.stderr.write(ran.errors)
    if ran.is_cut:
        most = run_command.MOST_BYTES
        print(f"mullion: the output may be cut: Azure returns its last {most} bytes", file=sys.stderr)
    if ran.code is None:
        raise Stop(Exit.FAILED, f"{machine} reported no exit code: the command is no script, or it ended its shell")
    return ran.code


def _group(stack: Stack, machine: str) -> MachineGroup:
    """Return the group of a planned machine. Raises Stop with the names of all machines if there is none."""
    plan = plan_cluster(stack.name, stack.spec)
    for group in plan.machine_groups:
        if machine in [each.name for each in group.machines]:
            return group
    names = ", ".join(each.name for each in plan.machines)
    raise Stop(Exit.USAGE, f"stack {stack.name} has no machine {machine!r}; it has {names}")
