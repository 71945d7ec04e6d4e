"""Registry values of Windows Server that a winpwsh machine lacks, written while the machine is off."""

import re
from pathlib import Path

SERVICE = r"C:\windows\system32\spoolsv.exe"
"""Program of Wine that runs as a service of any name."""
CURRENT_VERSION = r"Software\Microsoft\Windows NT\CurrentVersion"
SYSTEM: dict[str, dict[str, str]] = {
    r"System\CurrentControlSet\Services\W32Time": {
        "DisplayName": "Windows Time", "ErrorControl": "dword:00000001", "ImagePath": SERVICE,
        "ObjectName": "LocalSystem", "Start": "dword:00000003", "Type": "dword:00000010",
    },
    r"System\CurrentControlSet\Control\Session Manager\Memory Management": {
        "ExistingPageFiles": r'str(7):"\\??\\C:\\pagefile.sys\0"',
        "PagingFiles": r'str(7):"?:\\pagefile.sys\0"',
    },
}  # fmt: skip
"""Values of a new machine, besides those of winpwsh."""

REVISIONS = {"windows-2019": (17763, 6293), "windows-2022": (20348, 2849), "windows-2025": (26100, 32860)}
"""Build and update revision by operating system."""


def install(machine: Path, os: str) -> None:
    """Set the operating system (a name of the spec) of a machine that is off."""
    build, revision = REVISIONS[os]
    product = f"Windows Server {os.rpartition('-')[2]} Datacenter"
    version = {"CurrentBuildNumber": str(build), "UBR": f"dword:{revision:08x}", "ProductName": product}
    add(machine, {**SYSTEM, CURRENT_VERSION: version})


def add(machine: Path, keys: dict[str, dict[str, str]]) -> None:
    """Append values (texts, or data in Wine's form) to the registry of a machine that is off; later values win."""
    sections = (f"\n[{_escaped(key)}] 1\n" + "".join(map(_line, values.items())) for key, values in keys.items())
    with (machine / "system.reg").open("a", encoding="latin-1") as file:
        file.writelines(sections)


def _line(value: tuple[str, str]) -> str:
    name, data = value
    return f'"{name}"={data}\n' if re.match(r"dword:|hex|str\(", data) else f'"{name}"="{_escaped(data)}"\n'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\")
