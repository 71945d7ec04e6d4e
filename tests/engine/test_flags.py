"""Every flag of a command that runs the engine, on every stack: real engine, sandbox, one cluster from up to down.

`make test` draws one stack, `make soak` takes all of them. tests/operations/test_flags.py has the flags of all other
commands, and compares both files with the command line.
"""

import random
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from components.stack_files.stack import CLUSTER
from operations.__main__ import app
from operations.engine.locate import Engine
from operations.stacks.paths import REPOSITORY
from tests import clones
from tests.seed import SEED

STACKS = sorted(path.stem.removeprefix("Pulumi.") for path in (REPOSITORY / "stacks").glob("Pulumi.*.yaml"))
SMALL = [stack for stack in STACKS if not stack.endswith("-prod")]
"""Stacks of `make test`, which needs half a minute for one."""
EARLIER = {"1.36.4": "1.36.3"}
"""Kubernetes versions of stack files, and the version before, from which `upgrade` begins; others are not upgraded."""
OIDC = {"issuer": "https://login.example.com", "client": "mullion"}

NEVER = "(?!)"
"""A pattern that matches nothing: the command must not end this way."""
LINES = (
    ("preview {stack} --sandbox", "Not built yet", NEVER),
    ("up {stack} --sandbox --yes --refresh", r"\d+ created in ", NEVER),
    ("up {stack} --sandbox --preview", "`up` changes nothing", NEVER),
    ("plan {stack} --against", "none changed", NEVER),
    ("wait {stack} --timeout 1m", r"all \d+ machines are ready", NEVER),
    ("report {stack} --output {folder}/report.html", r"^{stack} \(built\): .*report.html, [\d,]+ bytes$", NEVER),
    ("outputs {stack} --json", r'"kubeconfig": "\[secret\]"', NEVER),
    ("kubeconfig {stack} --output {folder}/kubeconfig", "kubeconfig of {stack}: ", NEVER),
    ("kubeconfig {stack} --output {folder}/sign-in --oidc", "kubeconfig of {stack}: ", NEVER),
    (
        "kubeconfig {stack} --user alice --role edit --group team:red --hours 2 --output {folder}/alice",
        "kubeconfig of {stack}: ",
        NEVER,
    ),
    ("drift {stack} --json", r"^\[\]$", NEVER),
    ("upgrade {stack} {kubernetes} --sandbox --yes", r"-> {kubernetes}|has {kubernetes} already", NEVER),
    ("scale {stack} {pool} {count} --sandbox --yes", "added: +{pool}-", NEVER),
    ("roll {stack} {pool} --machine {pool}-0 --sandbox --yes", ": {pool}-0 replaced and ready", NEVER),
    ("roll {stack} --pause", NEVER, "no run of {stack} is in progress in this clone"),
    ("roll {stack} --resume --sandbox --yes", r"no changes in ", NEVER),
    ("repair {stack} --after 1s --sandbox --yes", "{stack}: no worker has to be replaced", NEVER),
    (
        "replace-control-plane {stack} control-plane-0 --sandbox --yes",
        "{stack}: the control plane is ready",
        "control-plane-0 is the whole control plane of {stack}",
    ),
    ("restore {stack} --list --sandbox", "has no snapshot of etcd yet", NEVER),
    ("restore {stack} --from copy --sandbox --confirm {stack}", NEVER, "has no copies of snapshots"),
    ("restore {stack} --snapshot etcd/none --sandbox --confirm {stack}", NEVER, "has no snapshot of etcd"),
    ("pin image {pool} --stack {stack} --sandbox", " -> |newest image already", "azure lists no versions of an image"),
    ("verify {stack} --json --timeout 1s", NEVER, "is not booted: make demo STACK={stack}"),
    ("up {stack} --sandbox --yes --bootable --kubernetes 1.37.1", NEVER, "with machines that cannot boot"),
    ("down {stack} --sandbox --yes --confirm {stack}", r"\d+ deleted", NEVER),
)
"""Command lines in their order; what each prints if it succeeds, and its message if the stack makes it refuse."""


@pytest.mark.engine
@pytest.mark.parametrize("stack", ["drawn", *(pytest.param(stack, marks=pytest.mark.soak) for stack in STACKS)])
def test_engine_commands_take_their_flags_on_every_stack(
    stack: str, tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = random.Random(f"{SEED} flags").choice(SMALL) if stack == "drawn" else stack
    settings = yaml.safe_load((REPOSITORY / "stacks" / f"Pulumi.{name}.yaml").read_text("utf-8"))
    cluster = settings["config"][CLUSTER]
    newer, cluster["kubernetes"] = cluster["kubernetes"], EARLIER.get(cluster["kubernetes"], cluster["kubernetes"])
    cluster.setdefault("api", {})["oidc"] = OIDC
    clones.write(tmp_path, name, yaml.safe_dump(settings, sort_keys=False))
    clones.work_in(tmp_path, monkeypatch)
    pool, group = [*cluster["pools"].items()][-1]
    values = {"stack": name, "folder": tmp_path, "kubernetes": newer, "pool": pool, "count": group["count"] + 1}
    for line, printed, refused in LINES:
        words = line.format(**values).split()
        result = CliRunner().invoke(app, words)
        expected, said = (refused, result.stderr) if result.exit_code else (printed, result.stdout)
        seen = f"MULLION_SEED={SEED} {words}: {result.output}\n{result.exception!r}"
        assert re.search(expected.format(**values), said, re.MULTILINE), seen
