"""Stand-ins with state for programs that would change the machine under a test: systemctl, iptables, modprobe, ...

They accept only the arguments of the real programs that the executor may use; other arguments exit with 64. State is
kept below a root, in the real system's files where it has some, else in STATE. They can be called as functions
(`answer`) and run as programs (the first word is the name). They use only the standard library.
"""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATE = "run/stand-ins.json"
UNITS = "etc/systemd/system"
Said = tuple[int, str]
"""Exit code and output."""
MOST_PORTS = 15
"""Most ports of one rule; a range counts twice (iptables-extensions(8), multiport)."""


class Wrong(Exception):
    """Words that the real program would refuse."""


def remembered(root: Path) -> dict[str, Any]:
    """Return the state of the stand-ins: {loaded, enabled, active, variables, rules, reboots}."""
    empty = {"loaded": {}, "enabled": [], "active": [], "variables": {}, "rules": [], "reboots": 0}
    place = root / STATE
    return empty | (json.loads(place.read_text()) if place.exists() else {})


def remember(root: Path, state: dict[str, Any]) -> None:
    """Write the state."""
    (root / STATE).parent.mkdir(parents=True, exist_ok=True)
    (root / STATE).write_text(json.dumps(state))


def load_units(root: Path, state: dict[str, Any]) -> None:
    """Load units, as systemd does at boot and at daemon-reload."""
    state["loaded"] = {file.name: file.read_text() for file in sorted((root / UNITS).glob("*.*")) if file.is_file()}


def load_variables(root: Path, state: dict[str, Any]) -> None:
    """Load DefaultEnvironment of systemd's own configuration."""
    state["variables"] = {}
    for file in sorted((root / "etc/systemd/system.conf.d").glob("*.conf")):
        lines = [each for each in file.read_text().splitlines() if each.startswith("DefaultEnvironment=")]
        for word in (word for line in lines for word in shlex.split(line.partition("=")[2])):
            name, _, value = word.partition("=")
            state["variables"][name] = value


def boot(root: Path) -> None:
    """Simulate a boot: enabled services run, state in memory is lost."""
    state = remembered(root)
    load_units(root, state)
    load_variables(root, state)
    state["active"] = [name for name in state["enabled"] if name in state["loaded"]]
    remember(root, state | {"rules": []})


def systemctl(root: Path, words: list[str]) -> Said:
    """Stand-in for show, daemon-reload, daemon-reexec, enable, start, restart, try-restart, stop, reboot."""
    state = remembered(root)
    verb, names = words[0], [word for word in words[1:] if not word.startswith("-")]
    if verb == "show":
        return 0, _show(root, state, words)
    if verb == "daemon-reload":
        load_units(root, state)
    elif verb == "daemon-reexec":
        load_variables(root, state)
    elif verb == "reboot" and words[1:] == ["--no-block"]:
        state["reboots"] += 1
    elif verb == "enable" and words[1:] == ["--quiet", *names] and names:
        if "[Install]" not in state["loaded"].get(names[0], ""):
            return 1, f"Failed to enable unit: Unit file {names[0]} does not exist."
        state["enabled"] = sorted({*state["enabled"], names[0]})
    elif verb == "stop" and words[1:] == names and len(names) == 1:
        state["active"] = [each for each in state["active"] if each != names[0]]
    elif verb in ("start", "restart", "try-restart") and words[1:] == names and len(names) == 1:
        if verb != "try-restart" or names[0] in state["active"]:
            message = _start(root, state, names[0])
            if message:
                return 1, message
    else:
        raise Wrong
    remember(root, state)
    return 0, ""


def _show(root: Path, state: dict[str, Any], words: list[str]) -> str:
    asked = words[1].removeprefix("--property=").split(",")
    if words[2] != "--" or not words[3:]:
        raise Wrong
    blocks: list[str] = []
    for name in words[3:]:
        file = root / UNITS / name
        exists, loaded = file.is_file(), state["loaded"].get(name)
        properties = {
            "UnitFileState": ("enabled" if name in state["enabled"] else "disabled") if exists else "",
            "ActiveState": "active" if name in state["active"] else "inactive",
            "NeedDaemonReload": "yes" if exists and loaded not in (None, file.read_text()) else "no",
        }
        blocks.append("".join(f"{each}={properties[each]}\n" for each in asked))
    return "\n".join(blocks)


def _start(root: Path, state: dict[str, Any], name: str) -> str:
    text: str = state["loaded"].get(name, "")
    if not text:
        return f"Failed to restart {name}: Unit {name} not found."
    lines = [line.partition("=")[2] for line in text.splitlines() if line.startswith("ExecStart=")]
    program = shlex.split(lines[0])[0] if lines else ""
    if program and not (root / program.lstrip("/")).exists() and "Type=exec" in text:
        return f"Job for {name} failed because the control process exited with error code."
    state["active"] = sorted({*state["active"], name})
    return ""


def iptables(root: Path, words: list[str]) -> Said:
    """Stand-in for -C and -I of ACCEPT rules with ports in INPUT."""
    state = remembered(root)
    if words[:3] == ["-w", "-C", "INPUT"]:
        exists = _rule(words[3:]) in state["rules"]
        return (0, "") if exists else (1, "iptables: Bad rule (does a matching rule exist in that chain?).")
    if words[:4] != ["-w", "-I", "INPUT", "1"]:
        raise Wrong
    remember(root, state | {"rules": [_rule(words[4:]), *state["rules"]]})
    return 0, ""


def _rule(words: list[str]) -> dict[str, Any]:
    rule: dict[str, Any] = {"source": None}
    fields = {"-s": "source", "-p": "protocol", "--dports": "ports", "--comment": "rule", "-j": "target"}
    for option, value in zip(words[::2], words[1::2], strict=True):
        if option != "-m":
            rule[fields[option]] = value
        elif value not in ("multiport", "comment"):
            raise Wrong
    count = sum(2 if ":" in each else 1 for each in rule["ports"].split(","))
    if rule["protocol"] not in ("tcp", "udp") or rule["target"] != "ACCEPT" or count > MOST_PORTS:
        raise Wrong
    return rule


def modprobe(root: Path, words: list[str]) -> Said:
    """Load one module."""
    if len(words) != 1 or words[0].startswith("-"):
        raise Wrong
    (root / "sys/module" / words[0].replace("-", "_")).mkdir(parents=True, exist_ok=True)
    return 0, ""


def swapoff(root: Path, words: list[str]) -> Said:
    """Stand-in for swapoff --all."""
    if words not in (["-a"], ["--all"]):
        raise Wrong
    (root / "proc/swaps").write_text("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")
    return 0, ""


def hostname(root: Path, words: list[str]) -> Said:
    """Set the kernel's host name."""
    if len(words) != 1 or words[0].startswith("-"):
        raise Wrong
    (root / "proc/sys/kernel").mkdir(parents=True, exist_ok=True)
    (root / "proc/sys/kernel/hostname").write_text(f"{words[0]}\n")
    return 0, ""


PROGRAMS: dict[str, Callable[[Path, list[str]], Said]] = {
    each.__name__: each for each in (systemctl, iptables, modprobe, swapoff, hostname)
}


def answer(root: Path, name: str, words: list[str]) -> Said:
    """Return the exit code and output of a program for these words."""
    try:
        return PROGRAMS[name](root, words)
    except (Wrong, IndexError, KeyError, ValueError):
        return 64, f"{name}: this stand-in does not take {words}"


if __name__ == "__main__":
    code, said = answer(Path("/"), sys.argv[1], sys.argv[2:])
    print(said, end="" if code == 0 else "\n", file=sys.stderr if code else sys.stdout)
    sys.exit(code)
