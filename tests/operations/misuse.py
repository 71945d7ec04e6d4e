"""Misuse of the command as hypothesis strategies: command lines, and damage to the files it reads."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer.main
import yaml
from hypothesis import strategies as st

from operations.__main__ import app
from operations.stacks.paths import REPOSITORY
from tests.operations.conftest import STACK

BLOCKING = {"chaos", "portal"}
"""Commands that copy the whole clone before they check anything else, or run until somebody ends them."""

NAMES = ["small", "smal", "aws-prod", "", "../small", "small/../small", "a" * 300, "\udcff", "\0", "ü", "web", "image"]
TEXTS = [
    *("0", "-1", "3", "9" * 5000, "1e9", "nan", "inf", "90s", "0s", "45m", "1.36.4", "1.99.0", "1.36", "latest"),
    *("linux", "windows", "kubernetes-node", "containerd", "sha256:" + "0" * 64, "sha256:x", "=", "a=1", "a.b=[1"),
    *("{folder}", "{file}", "{missing}", "{folder}/no/such/file", "-", "--", "/dev/full", "/proc/self/mem", "[bold]"),
    *("http://127.0.0.1:{port}/x", "https://127.0.0.1:{port}/x", "http://[::1", "https://name.invalid/x", "ftp://x/y"),
    *("127.0.0.1:{port}", ":0", "x:y", "{garbage}"),
    *("{portal}/1", "{portal}/2", "{kubeconfig}", "all", "budgets,disk", "pools.web.count=2", "red-web"),
]
"""Arguments; the test fills in {folder}, {file}, {missing}, {port}, {garbage}, {portal} and {kubeconfig}."""

Words = tuple[str, ...]
Damage = Callable[[Path], None]


def commands(group: Any = None, before: Words = ()) -> dict[Words, list[Any]]:
    """Parameters of every command, by the command's words."""
    group = group or typer.main.get_command(app)
    found: dict[Words, list[Any]] = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found |= commands(command, (*before, name))
        elif name not in BLOCKING:
            found[(*before, name)] = command.params
    return found


COMMANDS = commands()


@st.composite
def words(draw: st.DrawFn) -> Words:
    """Draw a command line, mostly one that the parser accepts."""
    command = draw(st.sampled_from(sorted(COMMANDS)))
    line = list(command)
    for parameter in COMMANDS[command]:
        if parameter.param_type_name == "argument":
            line += draw(_argument(parameter))
        elif draw(st.integers(0, 6)) == 0:
            line.append(draw(st.sampled_from([*parameter.opts, *parameter.secondary_opts])))
            if not parameter.is_flag:
                line.append(draw(_value(parameter)))
    if draw(st.integers(0, 19)) == 0:
        line.insert(draw(st.integers(0, len(line))), draw(st.sampled_from(TEXTS) | st.text(max_size=5)))
    return tuple(line)


def _argument(parameter: Any) -> st.SearchStrategy[list[str]]:
    if parameter.name == "stack":
        return st.sampled_from([["small"]] * 40 + [[name] for name in NAMES])
    return st.lists(_value(parameter), min_size=0 if not parameter.required else 1, max_size=1)


def _value(parameter: Any) -> st.SearchStrategy[str]:
    fitting = {"pool": ["web", "linux"], "count": ["3", "0"], "name": ["small", "kubernetes-node"], "seed": ["1"]}
    fitting |= {"machine": ["web-1", "linux-1", "control-plane-1"], "version": ["1.36.4", "1.36.5", "web"]}
    fitting |= {"timeout": ["0s", "1s"], "kubernetes": ["1.36.4", "1.35.0"], "stack": ["small"]}
    fitting |= {"server": [f"{{portal}}/{number}" for number in range(9)], "kubeconfig": ["{kubeconfig}"] * 3}
    fitting |= {"check": ["{kubeconfig}"], "cluster": ["red-web"], "confirm": ["small", "red-web"], "hours": ["4"]}
    fitting |= {"node": ["web-1"], "ignored": ["all", "budgets,disk"], "after": ["0s", "1s"], "duration": ["4h"]}
    fitting |= {"settings": ["pools.web.count=2"], "words": ["get", "true"], "template": ["small"]}
    known = fitting.get(parameter.name, ["1"])
    anything = st.sampled_from(TEXTS + NAMES) | st.text(max_size=6)
    return st.integers(0, 5).flatmap(lambda number: st.sampled_from(known) if number else anything)


# Damage: to the stack file, and to what earlier runs left.


def _document() -> dict[str, Any]:
    return yaml.safe_load(STACK)


def _put(content: bytes) -> Damage:
    def put(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return put


def _folder(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)


def _gone(path: Path) -> None:
    path.unlink(missing_ok=True)


def _broken_link(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)


def _database(path: Path) -> None:
    """A SQLite file of another program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE meta (x)")
    connection.commit()
    connection.close()


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.dates()
    | st.text(max_size=8)
    | st.sampled_from(["aws", "azure", "gcp", "1.36.4", "windows-2022", "ubuntu-24.04", "0.0.0.0/0", "::1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def stack_texts(draw: st.DrawFn) -> bytes:
    """The stack file with a value anywhere, with a piece cut out, or any bytes at all."""
    kind = draw(st.sampled_from(["value", "value", "cut", "cloud", "bytes", "document"]))
    if kind == "bytes":
        return draw(st.binary(max_size=60))
    if kind == "document":
        return yaml.safe_dump(draw(VALUES), allow_unicode=True).encode("utf-8", "surrogatepass")
    if kind == "cut":
        text = STACK.encode()
        start, length = draw(st.integers(0, len(text))), draw(st.integers(0, 60))
        return text[:start] + draw(st.binary(max_size=4)) + text[start + length :]
    document = _document()
    if kind == "cloud":
        stack = draw(st.sampled_from(sorted((REPOSITORY / "stacks").glob("Pulumi.*.yaml"))))
        document = yaml.safe_load(stack.read_text("utf-8"))
    place: Any = document["config"]
    while True:
        key = draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        if isinstance(place[key], dict | list) and place[key] and draw(st.integers(0, 3)):
            place = place[key]
            continue
        place[key] = draw(VALUES)
        return yaml.safe_dump(document, allow_unicode=True).encode("utf-8", "surrogatepass")


CUT = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"3",
    b'"x"',
    b'{"world": 3}',
    b'{"world": "aws", "account": []}',
    b"\xff\xfe\0",
    b"{}",
]
LOCK = b'{"pid": 1, "username": "x", "hostname": "y", "timestamp": "2026-01-01T00:00:00Z"}'
WHOLE = {
    ".mullion/small/world.json": [b'{"world": "sandbox"}', b'{"world": "aws"}', b'{"world": "mars"}'],
    ".mullion/sandbox/small/bootable.json": [
        b'{"of": "1.36.4", "kubernetes": "1.36.4"}',
        b'{"of": [], "kubernetes": 3}',
    ],
    ".mullion/sandbox/small/state/.pulumi/locks/organization/mullion/small/a.json": [LOCK, LOCK.replace(b"1,", b"[],")],
    ".mullion/sandbox/small/work/stacks/Pulumi.small.yaml": [b"encryptionsalt: [1]\n", b"- x\n", b"\t"],
    ".mullion/sandbox/small/home": [],
    ".mullion/sandbox/small/passphrase": [b"x"],
    ".mullion/small/rolls.json": [b'{"web": {"a": "b"}}', b'{"web": 3}'],
    ".mullion": [],
    ".mullion/sandbox": [],
    ".mullion/small": [],
    "artifacts.json": [b'[{"name": "x"}]', b'[{"name": "x", "version": "1", "os": "linux", "url": "https://x/y"}]'],
    "home/.pulumi/credentials.json": [b'{"current": 3}'],
    "home/.netrc": [b"machine 127.0.0.1 login x password y\n", b"nonsense\n"],
    "cache": [],
    "Pulumi.yaml": [],
}
"""Other files that the command reads, below the clone, and well-formed contents of each."""


@st.composite
def damages(draw: st.DrawFn) -> dict[str, Damage]:
    """Draw the damage of a clone by path: at most the stack file and three other files."""
    found: dict[str, Damage] = {}
    if draw(st.booleans()):
        broken = [_folder, _gone, _broken_link, _put(b"x" * 2**21), _put(STACK.encode("utf-16"))]
        found["stacks/Pulumi.small.yaml"] = draw(st.sampled_from(broken) | stack_texts().map(_put))
    for path in draw(st.lists(st.sampled_from(sorted(WHOLE)), max_size=3, unique=True)):
        contents = [_put(content) for content in [*WHOLE[path] * 3, *CUT]]
        found[path] = draw(st.sampled_from([_folder, _broken_link, *contents]))
    if draw(st.integers(0, 3)) == 0:
        found[".mullion/sandbox/small/world.db"] = draw(
            st.sampled_from([_folder, _database, _put(b"x" * 5000), _put(b"")])
        )
    return found


ENGINES = ["none", "silent", "refuses", "garbage", "empty"]
ENVIRONMENT = st.dictionaries(
    st.sampled_from(
        ["HOME", "XDG_CACHE_HOME", "PULUMI_HOME", "PULUMI_BACKEND_URL", "TMPDIR", "NETRC", "MULLION_PORTAL_TOKEN"]
    ),
    st.sampled_from(["", "/nowhere/at/all", "/dev/null", "file://{folder}", "file:///dev/null", "https://[", "\udcff"]),
    max_size=2,
)
ACCOUNTS = ["111122223333", ""]
"""Accounts of the environment; the empty one: no credentials, or a command line that fails."""
