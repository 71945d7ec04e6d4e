"""State of Linux by the areas of state.AREAS: set up for a case, and read afterwards."""

import re
from collections.abc import Callable
from typing import Any

from tests.conformance import linux_disks, linux_programs
from tests.conformance.linux_machine import LinuxMachine

UNITS = "/etc/systemd/system"
UNIT = "[Unit]\nDescription=older\n[Service]\nExecStart=/bin/sh\n[Install]\nWantedBy=multi-user.target\n"
SCHEDULES = {r"^OnBootSec=": "boot", r"^OnUnitActiveSec=(\d+)min$": "every_minutes"}


class Else(dict[str, Any]):
    """A dict that returns the same value for every key it does not have."""

    def __init__(self, others: Any, members: dict[str, Any]) -> None:
        super().__init__(members)
        self.others = others

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, self.others)

    def __bool__(self) -> bool:
        return True


def _changed(machine: LinuxMachine, **changes: Any) -> None:
    linux_programs.remember(machine.root, linux_programs.remembered(machine.root) | changes)


def _set_unit(machine: LinuxMachine, name: str, state: str) -> None:
    """Set a unit to running, stopped or absent."""
    place, books = machine.place(f"{UNITS}/{name}"), linux_programs.remembered(machine.root)
    if state == "absent":
        place.unlink(missing_ok=True)
    elif not place.exists():
        machine.write(f"{UNITS}/{name}", UNIT)
        books["enabled"] = sorted({*books["enabled"], name})
    running = {*books["active"]} - {name} | ({name} if state == "running" else set())
    gone = state == "absent"
    books["loaded"] = {each: text for each, text in books["loaded"].items() if not (gone and each == name)}
    if not gone:
        books["loaded"][name] = books["loaded"].get(name) or place.read_text()
    books["enabled"] = [each for each in books["enabled"] if not (gone and each == name)]
    linux_programs.remember(machine.root, books | {"active": sorted(running)})


def set_services(machine: LinuxMachine, wanted: dict[str, str]) -> None:
    for name, state in wanted.items():
        _set_unit(machine, f"{name}.service", state)


def services(machine: LinuxMachine) -> dict[str, str]:
    books = linux_programs.remembered(machine.root)
    names = {file.stem for file in machine.place(UNITS).glob("*.service")} | {
        each.removesuffix(".service") for each in books["loaded"] if each.endswith(".service")
    }
    states = {name: "running" if f"{name}.service" in books["active"] else "stopped" for name in names}
    return Else("absent", states)


def set_variables(machine: LinuxMachine, wanted: dict[str, str | None]) -> None:
    place = machine.place("/etc/environment")
    lines = place.read_text().splitlines() if place.exists() else []
    for name, value in wanted.items():
        lines = [line for line in lines if not line.startswith(f"{name}=")]
        conf = f"/etc/systemd/system.conf.d/mullion-{name}.conf"
        if value is None:
            machine.place(conf).unlink(missing_ok=True)
        else:
            lines.append(f"{name}={value}")
            machine.write(conf, f"[Manager]\nDefaultEnvironment={name}={value}\n")
    machine.write("/etc/environment", "".join(f"{line}\n" for line in lines))
    linux_programs.answer(machine.root, "systemctl", ["daemon-reexec"])


def variables(machine: LinuxMachine) -> dict[str, str]:
    return linux_programs.remembered(machine.root)["variables"]


def set_tasks(machine: LinuxMachine, wanted: dict[str, Any]) -> None:
    for name, schedule in wanted.items():
        assert schedule is None, "a case starts without a task, or with one that a run made"
        for unit in (f"mullion-{name}.timer", f"mullion-{name}.service"):
            _set_unit(machine, unit, "absent")


def scheduled(timer: str, text: str) -> dict[str, Any]:
    """Return {task: schedule} of a timer's unit file; empty if it is not a task's timer."""
    for pattern, schedule in SCHEDULES.items():
        if match := re.search(pattern, text, re.MULTILINE):
            name = timer.removeprefix("mullion-").removesuffix(".timer")
            return {name: {schedule: int(match[1]) if match.groups() else True}}
    return {}


def tasks(machine: LinuxMachine) -> dict[str, Any]:
    books = linux_programs.remembered(machine.root)
    schedules: dict[str, Any] = {}
    for name in books["active"]:
        schedules |= scheduled(name, books["loaded"][name]) if name.endswith(".timer") else {}
    return schedules


def set_rules(machine: LinuxMachine, wanted: dict[str, Any]) -> None:
    rules = [each for each in linux_programs.remembered(machine.root)["rules"] if each["rule"] not in wanted]
    for name, rule in ((name, rule) for name, rule in wanted.items() if rule):
        for source in rule.get("sources") or [None]:
            ports = ",".join(rule["ports"]).replace("-", ":")
            protocol = rule["protocol"]
            rules.append({"source": source, "protocol": protocol, "ports": ports, "rule": name, "target": "ACCEPT"})
    _changed(machine, rules=rules)


def rules(machine: LinuxMachine) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for accepted in linux_programs.remembered(machine.root)["rules"]:
        rule = merged.setdefault(accepted["rule"], {"protocol": accepted["protocol"], "ports": [], "sources": []})
        ports = accepted["ports"].replace(":", "-").split(",")
        rule["ports"] += [port for port in ports if port not in rule["ports"]]
        rule["sources"] = [accepted["source"], *rule["sources"]] if accepted["source"] else []
    return {name: {key: value for key, value in rule.items() if value} for name, rule in merged.items()}


def set_hostname(machine: LinuxMachine, name: str) -> None:
    machine.write("/etc/hostname", f"{name}\n")
    machine.write("/proc/sys/kernel/hostname", f"{name}\n")


def set_modules(machine: LinuxMachine, wanted: dict[str, bool]) -> None:
    for name, loaded in wanted.items():
        if loaded:
            machine.place(f"/sys/module/{name}").mkdir(parents=True, exist_ok=True)
        elif machine.place(f"/sys/module/{name}").exists():
            machine.place(f"/sys/module/{name}").rmdir()


def modules(machine: LinuxMachine) -> dict[str, bool]:
    place = machine.place("/sys/module")
    return Else(False, dict.fromkeys((each.name for each in place.iterdir()) if place.exists() else (), True))


def set_sysctls(machine: LinuxMachine, wanted: dict[str, str]) -> None:
    for key, value in wanted.items():
        machine.write(f"/proc/sys/{key.replace('.', '/')}", f"{value}\n")


def sysctls(machine: LinuxMachine) -> dict[str, str]:
    top = machine.place("/proc/sys")
    files = [each for each in top.rglob("*") if each.is_file()]
    return {".".join(each.relative_to(top).parts): each.read_text().strip() for each in files}


def set_swaps(machine: LinuxMachine, wanted: list[str]) -> None:
    lines = ["Filename Type Size Used Priority", *(f"{each} file 1048572 0 -2" for each in wanted), ""]
    machine.write("/proc/swaps", "\n".join(lines))


def swaps(machine: LinuxMachine) -> list[str]:
    return [line.split()[0] for line in machine.place("/proc/swaps").read_text().splitlines()[1:]]


def set_packages(machine: LinuxMachine, wanted: dict[str, str | None]) -> None:
    for name, version in wanted.items():
        if version is None:
            machine.call("dpkg", "--purge", name)
            continue
        entry = [f"Package: {name}", "Status: install ok installed", "Maintainer: tests", "Architecture: all"]
        lines = "\n".join([*entry, f"Version: {version}", "Description: of a test", "", ""])
        place = machine.place("/var/lib/dpkg/status")
        place.write_text(place.read_text() + lines)
        machine.write(f"/var/lib/dpkg/info/{name}.list", "/.\n")


def packages(machine: LinuxMachine) -> dict[str, str]:
    listing = machine.call("dpkg-query", "--show", "--showformat=${db:Status-Abbrev}|${Package}|${Version}\n")
    rows = [line.split("|") for line in listing.splitlines()]
    return {name: version for status, name, version in rows if status == "ii "}


def set_users(machine: LinuxMachine, wanted: dict[str, Any]) -> None:
    for name, user in wanted.items():
        if user is None:
            machine.call("userdel", name)
        else:
            groups = ["--groups", ",".join(user["groups"])] if user.get("groups") else []
            shell = ["--shell", user.get("shell", "/usr/sbin/nologin")]
            machine.call("useradd", "--system", "--home-dir", user["home"], *shell, *groups, name)


def users(machine: LinuxMachine) -> dict[str, Any]:
    entries, groups = (
        [line.split(":") for line in machine.place(f"/etc/{file}").read_text().splitlines()]
        for file in ("passwd", "group")
    )
    accounts: dict[str, Any] = {}
    for entry in entries:
        member = sorted(group[0] for group in groups if entry[0] in group[3].split(","))
        accounts[entry[0]] = {"home": entry[5], "groups": member}
    return accounts


SET: dict[str, Callable[[LinuxMachine, Any], None]] = {
    "services": set_services,
    "variables": set_variables,
    "tasks": set_tasks,
    "rules": set_rules,
    "hostname": set_hostname,
    "modules": set_modules,
    "sysctls": set_sysctls,
    "swaps": set_swaps,
    "packages": set_packages,
    "users": set_users,
    "disks": linux_disks.set_disks,
    "mounts": linux_disks.set_mounts,
}
READ: dict[str, Callable[[LinuxMachine], Any]] = {
    "services": services,
    "variables": variables,
    "tasks": tasks,
    "rules": rules,
    "hostname": lambda machine: machine.place("/etc/hostname").read_text().strip(),
    "modules": modules,
    "sysctls": sysctls,
    "swaps": swaps,
    "packages": packages,
    "users": users,
    "disks": linux_disks.disks,
    "mounts": linux_disks.mounts,
}
