"""`mullion upgrade`: upgrade Kubernetes in the stack file, then in the cluster."""

import json
from pathlib import Path

from components.releases.skew import refusal
from components.rollout.kubernetes_api import Unreachable
from operations.commands import reached_api, stack_change
from operations.console.exits import Exit, Stop
from operations.console.table import table
from operations.stacks import stack_files, target
from operations.verification.upgrading import check as questions


def upgrade(name: str, version: str, *, sandbox: bool, yes: bool) -> None:
    """Write the version to the stack file, and run `up`: the control plane first, then the pools, wave by wave.

    An unknown version, an older one, and a step of more than one minor version are refused; the file stays.
    """
    before = stack_files.load(name)
    now = before.spec.kubernetes
    if now == version:
        print(f"{stack_files.file(name).name} has {version} already; `{target.command('up', name)}` applies it")
        return
    heading = f"Kubernetes {now} -> {version}: the control plane first, pools once it reports that version"
    stack_change.change(before, ("kubernetes",), json.dumps(version), heading, sandbox=sandbox, yes=yes)


def check(name: str, version: str, kubeconfig: Path | None) -> None:
    """Print what in the running cluster would stop an upgrade to this version. Raises Stop if something would."""
    now = stack_files.load(name).spec.kubernetes
    try:
        why = refusal([now], version)
    except ValueError:
        why = f'{version} is no version; write it with its patch: "{now}"'
    if why:
        raise Stop(Exit.USAGE, f"kubernetes: {why}")
    with reached_api.administrator(name, kubeconfig) as text:
        try:
            found = questions.ask(reached_api.client(text), version)
        except Unreachable as error:
            raise Stop(Exit.FAILED, f"the API of {name} does not answer, so nothing was judged: {error}") from error
    if found:
        rows = [("stops" if each.stops else "warning", each.about, each.subject, each.says, each.fix) for each in found]
        print(table(("level", "about", "what", "why", "fix"), rows))
    stopping = sum(each.stops for each in found)
    if stopping:
        raise Stop(
            Exit.REFUSED,
            f"{name}: {stopping} of {len(found)} findings stop an upgrade to {version}; nothing was changed",
        )
    print(f"{name}: nothing in the cluster stops an upgrade to {version}")
