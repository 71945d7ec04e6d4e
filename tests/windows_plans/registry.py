"""Registry values that a machine has and a fresh one lacks, read from Wine's registry files."""

import re
from collections.abc import Iterator
from pathlib import Path

Hive = dict[str, dict[str, str]]
"""Key -> value name -> data as Wine writes it: "text", dword:0000002a, hex(7):... (decoded by `shown`)."""

OWN = (
    r"Software\Microsoft\Windows NT\CurrentVersion\Fonts",
    r"Software\Microsoft\Windows NT\CurrentVersion\NetworkCards",
    r"Software\Microsoft\Windows\CurrentVersion\Fonts",
    r"System\CurrentControlSet\Control\Class",
    r"System\CurrentControlSet\Control\ComputerName",
    r"System\CurrentControlSet\Control\DeviceClasses",
    r"System\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters",
    r"System\CurrentControlSet\Control\Video",
    r"System\CurrentControlSet\Enum",
    r"System\CurrentControlSet\Hardware Profiles",
    r"Hardware",
    r"System\CurrentControlSet\Services\Tcpip",
    r"System\CurrentControlSet\Services\Eventlog",
)
"""Keys that Windows or Wine writes at each boot."""

_SECTION = re.compile(r"\[(.+)\] \d+")
_VALUE = re.compile(r'(@|"(?:[^"\\]|\\.)*")=(.*)', re.DOTALL)
_HEX = re.compile(r"hex(?:\((\w+)\))?:(.*)", re.DOTALL)
_TEXTS = {"1", "2", "7"}
"""Types of hex(N) data: REG_SZ, REG_EXPAND_SZ, REG_MULTI_SZ."""


def hive(file: Path) -> Hive:
    """Return all keys and values."""
    keys: Hive = {}
    now: dict[str, str] = {}
    for line in _lines(file.read_text(encoding="latin-1")):
        if section := _SECTION.fullmatch(line):
            now = keys.setdefault(_plain(section[1]), {})
        elif value := _VALUE.fullmatch(line):
            now[_plain(value[1].strip('"'))] = value[2]
    return keys


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of the file; a line that ends with a backslash is joined with the next."""
    whole = ""
    for line in text.splitlines():
        whole += line.strip() if whole else line
        if whole.endswith("\\") and "hex" in whole:
            whole = whole[:-1]
            continue
        yield whole
        whole = ""


def _plain(text: str) -> str:
    return re.sub(r"\\(x[0-9a-f]{1,4}|.)", lambda found: _character(found[1]), text)


def _character(code: str) -> str:
    if code == "0":
        return "\0"
    return chr(int(code[1:], 16)) if code[0] == "x" and len(code) > 1 else code


def shown(data: str) -> str | int | list[str]:
    """Return data in readable form."""
    if data.startswith('"'):
        return _plain(data[1:-1])
    if data.startswith("dword:"):
        return int(data[6:], 16)
    if data.startswith("str("):
        text = _plain(data.partition(":")[2][1:-1])
        return text.rstrip("\0").split("\0") if data.startswith("str(7)") else text
    match = _HEX.fullmatch(data)
    if match and match[1] in _TEXTS:
        return bytes.fromhex(match[2].replace(",", "")).decode("utf-16-le").rstrip("\0").split("\0")
    return data


def gained(machine: Path, fresh: Path) -> dict[str, dict[str, str | int | list[str]]]:
    """Return values in HKEY_LOCAL_MACHINE that a machine, which is off, has and a fresh one lacks."""
    before, after = hive(fresh / "system.reg"), hive(machine / "system.reg")
    gains = {
        key: {name: shown(data) for name, data in values.items() if before.get(key, {}).get(name) != data}
        for key, values in after.items()
        if not key.startswith(OWN)
    }
    return {key: dict(sorted(values.items())) for key, values in sorted(gains.items()) if values}
