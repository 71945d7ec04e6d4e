"""`mullion upgrade`: upgrade Kubernetes in the stack file, then in the cluster."""

import json
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from components.releases.skew import refusal
from components.rollout.kubernetes_api import Unreachable
from operations.commands import kubeconfig, reached_api, stack_change
from operations.console.exits import Exit, Stop
from operations.console.table import table
from operations.stacks import stack_files, target
from operations.verification.upgrading import check as questions
from operations.verification.upgrading.findings import Finding

ALL = "all"
"""Name that stands for every question, as for kubeadm."""


def upgrade(
    name: str, version: str, *, sandbox: bool, yes: bool, own: Path | None = None, ignored: Collection[str] = ()
) -> None:
    """Write the version to the stack file, and run `up`: the control plane first, then the pools, wave by wave.

    An unknown version, an older one, and a step of more than one minor version are refused; the file stays. It also
    stays if the running cluster has a reason not to upgrade. ignored: questions whose reasons do not stop the upgrade.
    """
    before = stack_files.load(name)
    now = before.spec.kubernetes
    if now == version:
        print(f"{stack_files.file(name).name} has {version} already; `{target.command('up', name)}` applies it")
        return
    heading = f"Kubernetes {now} -> {version}: the control plane first, pools once it reports that version"
    names = _known(ignored)

    def ask() -> None:
        _ask_first(name, version, own, names)

    stack_change.change(before, ("kubernetes",), json.dumps(version), heading, sandbox=sandbox, yes=yes, ask=ask)


def check(name: str, version: str, own: Path | None, ignored: Collection[str] = ()) -> None:
    """Print what in the running cluster would stop an upgrade to this version. Raises Stop if something would."""
    now = stack_files.load(name).spec.kubernetes
    try:
        why = refusal([now], version)
    except ValueError:
        why = f'{version} is no version; write it with its patch: "{now}"'
    if why:
        raise Stop(Exit.USAGE, f"kubernetes: {why}")
    names = _known(ignored)
    try:
        found = _asked(name, version, own)
    except Unreachable as error:
        raise Stop(Exit.FAILED, f"the API of {name} does not answer, so nothing was judged: {error}") from error
    _judge(name, version, found, names)
    print(f"{name}: nothing in the cluster stops an upgrade to {version}")


def _known(ignored: Collection[str]) -> Collection[str]:
    """Return the questions to ignore, by their names or `all`. Raises Stop if there is no such question."""
    names = {each.strip().lower() for text in ignored for each in text.split(",")} - {""}
    if unknown := sorted(names - {ALL, *questions.NAMES}):
        known = ", ".join((*questions.NAMES, ALL))
        raise Stop(Exit.USAGE, f"--ignore-preflight-errors {', '.join(unknown)}: write names of questions: {known}")
    return questions.NAMES if ALL in names else names


def _asked(name: str, version: str, own: Path | None) -> list[Finding]:
    """Return the answers of the running cluster. Raises Unreachable, or Stop if there is no way to its API."""
    with reached_api.administrator(name, own) as text:
        return questions.ask(reached_api.client(text), version)


def _ask_first(name: str, version: str, own: Path | None, ignored: Collection[str]) -> None:
    """Ask the running cluster. Raises Stop if it has a reason not to upgrade; without an API, say what is unknown."""
    try:
        if own is None:
            kubeconfig.refuse_unbuilt(name)
    except Stop:
        return  # without a cluster there is nothing to ask
    try:
        found = _asked(name, version, own)
    except (Unreachable, Stop) as error:
        names = ", ".join(questions.NAMES)
        text = f"the cluster was not asked about {names}, because its API is not reached: {error}"
        print(f"warning: {text}", file=sys.stderr)
        return
    _judge(name, version, found, ignored)


def _judge(name: str, version: str, found: list[Finding], ignored: Collection[str]) -> None:
    """Print the findings. Raises Stop if one stops the upgrade and its question is not ignored."""
    found = [replace(each, stops=False) if each.about in ignored else each for each in found]
    if found:
        rows = [("stops" if each.stops else "warning", each.about, each.subject, each.says, each.fix) for each in found]
        print(table(("level", "about", "what", "why", "fix"), rows), flush=True)
    if stopping := [each for each in found if each.stops]:
        names = ",".join(sorted({each.about for each in stopping}))
        raise Stop(
            Exit.REFUSED,
            f"{name}: {len(stopping)} of {len(found)} findings stop an upgrade to {version}; nothing was changed. "
            f"To upgrade all the same: --ignore-preflight-errors {names}",
        )
