"""docs/cli.md and the command line agree on every flag; commands take each of their flags on every stack."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import Result

from operations.__main__ import app
from operations.stacks import stack_files, target
from operations.stacks.paths import REPOSITORY
from operations.stacks.target import Target
from sandbox.cloud_state import CloudState
from tests.engine import test_flags
from tests.operations.test_help import COMMANDS
from tests.operations.test_no_traceback import engine, judged

Run = Callable[..., Result]
FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
STACKS = sorted(path.stem.removeprefix("Pulumi.") for path in (REPOSITORY / "stacks").glob("Pulumi.*.yaml"))
OF_THE_ROOT = {"--version", "--install-completion", "--show-completion", "--help"}
OF_OTHER_PROGRAMS = {"-s", "--stack", "--policy-pack"}
"""Flags of pulumi that the page names."""


def documented() -> Iterator[tuple[str, str]]:
    """Give the words of a command and the text that docs/cli.md has about it, for each time it does.

    A text goes from `mullion COMMAND to the next one, or to the end of the paragraph.
    """
    page = (REPOSITORY / "docs" / "cli.md").read_text("utf-8")
    for paragraph in re.split(r"\n\n", page):
        for part in re.split(r"(?=`mullion )", paragraph)[1:]:
            words = part.removeprefix("`mullion ").split()
            name = next((" ".join(words[:count]) for count in (2, 1) if tuple(words[:count]) in COMMANDS), "")
            yield name, part


def flags(words: tuple[str, ...]) -> set[str]:
    """Return the flags of a command, one for each option: its long form if it has one."""
    options = [param for param in COMMANDS[words].params if param.param_type_name == "option"]
    return {max((opt for opt in option.opts), key=len) for option in options}


def spellings(words: tuple[str, ...]) -> set[str]:
    params: list[Any] = COMMANDS[words].params
    return {spelling for param in params for spelling in (*param.opts, *param.secondary_opts)}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_page_names_every_flag_of_a_command(words: tuple[str, ...]) -> None:
    text = " ".join(part for name, part in documented() if name == " ".join(words))
    named = set(FLAG.findall(text))
    aliases = {max(param.opts, key=len): set(param.opts) for param in COMMANDS[words].params}
    secondary = {max(param.opts, key=len): set(param.secondary_opts) for param in COMMANDS[words].params}
    missing = {flag for flag in flags(words) if not (aliases[flag] | secondary[flag]) & named}
    assert not missing, f"docs/cli.md says nothing of {missing} beside `mullion {' '.join(words)}"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_has_every_flag_that_the_page_gives_it(words: tuple[str, ...]) -> None:
    # the code itself: what follows it may be about another program
    spans = [part.split("`")[1] for name, part in documented() if name == " ".join(words)]
    named = {flag for span in spans for flag in FLAG.findall(span)}
    assert named <= spellings(words) | {"--help"}


def test_every_flag_of_the_page_exists() -> None:
    page = (REPOSITORY / "docs" / "cli.md").read_text("utf-8")
    code = " ".join(re.findall(r"`[^`]+`", page.replace("\n", " ")))
    known = OF_THE_ROOT | OF_OTHER_PROGRAMS | {flag for words in COMMANDS for flag in spellings(words)}
    assert set(FLAG.findall(code)) <= known


def test_the_root_has_its_flags() -> None:
    assert {spelling for param in typer.main.get_command(app).params for spelling in param.opts} >= OF_THE_ROOT - {
        "--help"
    }


OFFLINE: dict[str, list[tuple[str, ...]]] = {
    "plan": [(), ("--json",), ("--firewall",), ("--against", "{file}"), ("--resources",)],
    "render": [("-o", "{folder}"), ("-o", "{folder}", "--force"), ("--output", "{new}", "--image")],
    "versions": [()],
    "report": [("-o", "{folder}.html")],
    "preview": [("--sandbox",)],
    "up": [("--sandbox", "--preview", "--yes", "--refresh")],
    "new": [("--from", "{stack}"), ("--from", "{stack}", "--kubernetes", "{kubernetes}", "--region", "{region}")],
}
"""Commands that need neither an engine nor a network, and what is given to them for each stack."""


@pytest.mark.parametrize("stack", STACKS)
def test_offline_commands_take_their_flags_on_every_stack(
    stack: str, clone: Path, mullion: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = (REPOSITORY / "stacks" / f"Pulumi.{stack}.yaml").read_text("utf-8")
    (clone / "stacks" / f"Pulumi.{stack}.yaml").write_text(text)
    scratch = tmp_path_factory.mktemp(stack)
    document = mullion("plan", stack, "--json").stdout
    (scratch / "plan.json").write_text(document)
    planned = json.loads(document)
    values = {
        "file": str(scratch / "plan.json"),
        "folder": str(scratch / "rendered"),
        "new": str(scratch / "images"),
        "stack": stack,
        "kubernetes": planned["kubernetes"],
        "region": planned["region"],
    }
    for command, lines in OFFLINE.items():
        for number, words in enumerate(lines):
            first = f"copy-{number}" if command == "new" else stack
            result = mullion(command, first, *(word.format(**values) for word in words))
            assert result.exit_code == 0, f"{command} {words}: {result.output}\n{result.exception!r}"


NO_ENGINE = "mullion: there is no engine; install one"
NOT_BOOTED = "is not booted: make demo STACK="
WITHOUT_ENGINE = (
    ("up {stack} --sandbox --yes --refresh", NO_ENGINE),
    ("up {stack} --sandbox --yes --bootable --kubernetes {kubernetes}", "with machines that cannot boot"),
    ("down {stack} --sandbox --yes", NO_ENGINE),
    ("down {stack} --confirm {stack}", "is built in the sandbox, not in"),
    ("wait {stack} --timeout 1s", NO_ENGINE),
    ("kubeconfig {stack} --output {folder}/kubeconfig", NO_ENGINE),
    ("kubeconfig {stack} --oidc", "api.oidc is not set"),
    ("kubeconfig {stack} --user alice --role edit --group team:red --hours 2 --output {folder}/alice", NO_ENGINE),
    ("kubeconfig {stack} --user alice --role edit --public-key {folder}/none", "/none: No such file"),
    ("outputs {stack} --json", NO_ENGINE),
    ("scale {stack} {pool} 7 --sandbox --yes", NO_ENGINE),
    ("upgrade {stack} {kubernetes} --sandbox --yes", ""),
    ("upgrade {stack} {kubernetes} --check --ignore-preflight-errors all --kubeconfig {folder}/none", "/none"),
    ("roll {stack} {pool} --machine {pool}-0 --sandbox --yes", NO_ENGINE),
    ("roll {stack} --pause", r"no run of \S+ is in progress in this clone"),
    ("roll {stack} --resume --sandbox --yes", NO_ENGINE),
    ("repair {stack} --after 1s --sandbox --yes", NO_ENGINE),
    ("revoke {stack} {pool}-0 --kubeconfig {folder}/none", "/none: No such file"),
    ("snapshot {stack} --kubeconfig {folder}/none", "/none: No such file"),
    ("replace-control-plane {stack} control-plane-0 --sandbox --yes", f"{NO_ENGINE}|is the whole control plane"),
    ("restore {stack} --list --sandbox", NO_ENGINE),
    ("restore {stack} --drill --kubeconfig {folder}/none", "/none: No such file"),
    ("restore {stack} --from copy --sandbox --confirm {stack}", NO_ENGINE),
    ("restore {stack} --snapshot x --sandbox --confirm {stack}", NO_ENGINE),
    ("sbom {stack} --output {folder}/sbom.json", ""),
    ("drift {stack} --json", NO_ENGINE),
    (
        "lint {folder}/pod.yaml --stack {stack} --format json --output {folder}/lint.json --ignore privileged --strict",
        "",
    ),
    ("join --check {folder}/none --kubernetes 1.36.2 --json", "/none cannot be read: No such file"),
    ("verify {stack} --json --junit {folder}/x --outside a:1 --image x --timeout 1s --reboot", NOT_BOOTED),
    ("verify {stack} --kubeconfig {folder}/none --upstream {folder}/none --images {folder}/none", "/none"),
    ("pin image {pool} --stack {stack} --sandbox", f"{NO_ENGINE}|azure lists no versions of an image"),
    ("logs {stack} {pool}-0 --output {folder}/logs.zip", NOT_BOOTED),
    ("sandbox fault {stack} --fail 1 --throttle 2 --die-before 3 --die-after 4 --unseen 5 --slow 6 --late 7", ""),
    ("sandbox fault {stack} --at 1 --tries 2 --type Bucket --times 3 --fail 4", ""),
    ("sandbox fault {stack} --list", ""),
    ("sandbox fault {stack} --clear", ""),
    ("sandbox interrupt {stack} {pool}-0 --seconds 0", "is no machine with spot capacity"),
    ("sandbox boot {stack} --timeout 1s", "were not created bootable"),
    ("sandbox ls {stack} --json", NOT_BOOTED),
    ("sandbox cut {stack} {pool}-0 --undo", NOT_BOOTED),
    ("sandbox isolate {stack} {pool}-0 --undo", NOT_BOOTED),
)
"""Command lines of commands that need an engine, a sandbox or booted machines; a pattern of their error message.

An engine takes minutes for all stacks, so none is there: each line must get as far as the engine.
tests/engine/test_flags.py runs the same flags with the engine.
"""


@pytest.mark.parametrize("stack", STACKS)
def test_commands_take_their_flags_on_every_stack_as_far_as_the_engine(stack: str, clone: Path, mullion: Run) -> None:
    text = (REPOSITORY / "stacks" / f"Pulumi.{stack}.yaml").read_text("utf-8")
    (clone / "stacks" / f"Pulumi.{stack}.yaml").write_text(text)
    target.remember(stack, Target("sandbox"))
    file = target.cloud_state_file(stack)
    file.parent.mkdir(parents=True)
    CloudState(file).close()
    (clone / "pod.yaml").write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}}))
    spec = stack_files.load(stack).spec
    pool = next(iter(spec.pools))
    values = {"stack": stack, "folder": clone, "kubernetes": spec.kubernetes, "pool": pool}
    with engine("none"):
        for line, said in WITHOUT_ENGINE:
            words = line.format(**values).split()
            result = mullion(*words)
            judged(result, tuple(words))
            if said:
                assert re.search(said, result.stderr.splitlines()[-1]), f"{words}: {result.stderr}"
            else:
                assert result.exit_code == 0, f"{words}: {result.stderr}"


def test_every_flag_that_ends_without_an_engine_is_also_run_with_one() -> None:
    there = {word for line, _, _ in test_flags.LINES for word in _of_command(line)}
    here = {word for line, said in WITHOUT_ENGINE if NO_ENGINE in said for word in _of_command(line)}
    assert here <= there


def _of_command(line: str) -> set[tuple[str, str]]:
    """Return the flags of a command line, each beside the command."""
    command, *rest = line.split()
    return {(command, word) for word in rest if word.startswith("-")}


ELSEWHERE = {
    "ls --by-tags": "commands/test_ls_tags.py",
    "ls --regions": "commands/test_ls_tags.py",
    "reap --by-tags": "commands/test_reap_tags.py",
    "reap --regions": "commands/test_reap_tags.py",
    "reap --snapshots": "commands/test_reap_tags.py",
    "new --cloud": "commands/test_new.py",
    "new --windows": "commands/test_new.py",
    **dict.fromkeys(
        (f"join --{flag}" for flag in ("region", "network", "subnet", "nodes", "windows")), "commands/test_joined.py"
    ),
    "down --all": "commands/test_down_all.py",
    "chaos --seed": "chaos/test_run.py",
    "chaos --runs": "chaos/test_run.py",
    "chaos --length": "chaos/test_run.py",
    **dict.fromkeys(("run --name", "run --artifacts", "run --sandbox"), "commands/conftest.py"),
    **dict.fromkeys(
        (f"run --{flag}" for flag in ("set", "ttl", "verify", "yes", "pass-credentials")), "commands/test_run.py"
    ),
    "report --results": "commands/test_html_report.py",
    **dict.fromkeys(
        (f"image bake {flag}" for flag in ("--pool", "--keep", "--timeout", "--pin", "--sandbox", "--yes")),
        "commands/test_bake_image.py",
    ),
    **dict.fromkeys(("image clean --keep", "image clean --sandbox"), "commands/test_bake_image.py"),
    "run --boot": "commands/test_run_boot.py",
    "sandbox key --disabled": "commands/test_sandbox_key.py",
    "run --collect-always": "commands/test_run_artifacts.py",
    **dict.fromkeys(("run --keep-on-failure", "run --timeout"), "commands/test_run_refusals.py"),
}
"""Flags without a stack, or of commands that copy the whole clone: the file with their test."""
REQUESTS = ("catalogue", "ask", "list", "show", "change", "extend", "remove", "retry", "cancel", "approve", "refuse")
REQUESTS += ("kubeconfig", "verify", "logs")
WITHOUT_A_STACK = {
    "cost": "commands/test_cost.py",
    "first-contact": "commands/test_first_contact.py",
    "pin": "commands/test_pin.py",
    "ls": "commands/test_ls.py",
    "extend": "commands/test_extend.py",
    "reap": "commands/test_reap.py",
    "portal": "commands/test_portal.py",
    **{f"request {word}": "commands/test_request.py" for word in REQUESTS},
}


def test_every_flag_is_tried_on_every_stack_or_has_a_test_elsewhere() -> None:
    lines = [" ".join((name, *words)) for name, rows in OFFLINE.items() for words in rows]
    lines += [line for line, _ in WITHOUT_ENGINE]
    for words in COMMANDS:
        name = " ".join(words)
        tried = {word for line in lines if line.startswith(f"{name} ") or line == name for word in line.split()}
        tried = {{"-o": "--output", "-y": "--yes"}.get(word, word) for word in tried}
        options = {max(param.opts, key=len): [*param.opts, *param.secondary_opts] for param in COMMANDS[words].params}
        for flag in flags(words) - tried:
            file = ELSEWHERE.get(f"{name} {flag}") or WITHOUT_A_STACK.get(name)
            assert file, f"{name} {flag} has no line here"
            text = (REPOSITORY / "tests" / "operations" / file).read_text("utf-8")
            assert any(f'"{spelling}"' in text for spelling in options[flag]), f"{file} does not use {flag}"
