"""What a machine's registry has that a fresh one lacks, read from the files that Wine keeps it in."""

import re
from collections.abc import Iterator
from pathlib import Path

Hive = dict[str, dict[str, str]]
"""Key -> value's name -> data as Wine writes it: "text", dword:0000002a, hex(7):... (decoded by `shown`)."""

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
"""Keys that Windows, or Wine for it, writes at each boot."""

_SECTION = re.compile(r"\[(.+)\] \d+")
_VALUE = re.compile(r'(@|"(?:[^"\\]|\\.)*")=(.*)', re.DOTALL)
_HEX = re.compile(r"hex(?:\((\w+)\))?:(.*)", re.DOTALL)
_TEXTS = {"1", "2", "7"}
"""REG_SZ, REG_EXPAND_SZ, REG_MULTI_SZ."""


def hive(file: Path) -> Hive:
    """All keys and values."""
    keys: Hive = {}
    now: dict[str, str] = {}
    for line in _lines(file.read_text(encoding="latin-1")):
        if section := _SECTION.fullmatch(line):
            now = keys.setdefault(_plain(section[1]), {})
        elif value := _VALUE.fullmatch(line):
            now[_plain(value[1].strip('"'))] = value[2]
    return keys


def _lines(text: str) -> Iterator[str]:
    """Lines of the file; one that ends with a backslash goes on in the next."""
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
    """Data as a person reads it."""
    if data.startswith('"'):
        return _plain(data[1:-1])
    if data.startswith("dword:"):
        return int(data[6:], 16)
    if data.startswith("str("):
        text = _plain(data.partition(":")[2][1:-1])
        return text.rstrip("\0").split("\0") if data.startswith("str(7)") else text
    found = _HEX.fullmatch(data)
    if found and found[1] in _TEXTS:
        return bytes.fromhex(found[2].replace(",", "")).decode("utf-16-le").rstrip("\0").split("\0")
    return data


def gained(machine: Path, fresh: Path) -> dict[str, dict[str, str | int | list[str]]]:
    """What a machine that is off has, and a fresh one has not, in HKEY_LOCAL_MACHINE."""
    before, found = hive(fresh / "system.reg"), hive(machine / "system.reg")
    gains = {
        key: {name: shown(data) for name, data in values.items() if before.get(key, {}).get(name) != data}
        for key, values in found.items()
        if not key.startswith(OWN)
    }
    return {key: dict(sorted(values.items())) for key, values in sorted(gains.items()) if values}
