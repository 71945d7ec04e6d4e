"""The operating system: host name, kernel, environment, swap, time source, Debian packages, users."""

import re
import shlex
from pathlib import Path

from failure import Failure
from run import Run, Step
from writing import write_whole


def text_of(path: Path) -> str:
    """Return the file's text without surrounding whitespace, or an empty string if it does not exist."""
    return path.read_text().strip() if path.exists() else ""


def hostname_holds(run: Run, step: Step) -> bool:
    """Return whether the kernel and /etc/hostname have the name."""
    places = "/etc/hostname", "/proc/sys/kernel/hostname"
    return all(text_of(run.path(each)) == step["value"] for each in places)


def make_hostname(run: Run, step: Step) -> None:
    """Set the name in /etc/hostname and in the kernel."""
    write_whole(run.path("/etc/hostname"), f"{step['value']}\n".encode(), 0o644)
    run.command("hostname", step["value"])


def module_file(run: Run, step: Step) -> Path:
    """Return the file from which systemd loads the module at boot."""
    return run.path(f"/etc/modules-load.d/mullion-{step['module']}.conf")


def module_holds(run: Run, step: Step) -> bool:
    """Return whether the module is loaded and is loaded at the next boot."""
    loaded = run.path(f"/sys/module/{step['module'].replace('-', '_')}").exists()
    return loaded and text_of(module_file(run, step)) == step["module"]


def make_module(run: Run, step: Step) -> None:
    """Write the module's file, then load it."""
    write_whole(module_file(run, step), f"{step['module']}\n".encode(), 0o644)
    run.command("modprobe", step["module"])


def sysctl_places(run: Run, step: Step) -> tuple[Path, Path]:
    """Return the file for the next boot and the file in /proc/sys."""
    return run.path(f"/etc/sysctl.d/99-mullion-{step['key']}.conf"), run.path(
        "/proc/sys/" + step["key"].replace(".", "/")
    )


def sysctl_holds(run: Run, step: Step) -> bool:
    """Return whether the kernel has the value now and after a boot."""
    file, kernel = sysctl_places(run, step)
    return text_of(kernel).split() == str(step["value"]).split() and text_of(file) == f"{step['key']} = {step['value']}"


def make_sysctl(run: Run, step: Step) -> None:
    """Write the value for the next boot, then to the kernel."""
    file, kernel = sysctl_places(run, step)
    write_whole(file, f"{step['key']} = {step['value']}\n".encode(), 0o644)
    try:
        kernel.write_text(f"{step['value']}\n")
    except OSError as error:
        raise Failure("file-failed", f"{kernel}: {error}; is its kernel module loaded?") from None


SWAP_LINE = re.compile(r"^[^#\s]\S*\s+\S+\s+swap\s", re.MULTILINE)


def swap_holds(run: Run, step: Step) -> bool:
    """Return whether no swap is in use and none is in fstab."""
    in_use = text_of(run.path("/proc/swaps")).splitlines()[1:]
    return not in_use and not SWAP_LINE.search(text_of(run.path("/etc/fstab")))


def make_swap(run: Run, step: Step) -> None:
    """Comment swap out in fstab, then switch it off: after a power loss in between, the boot must not enable it."""
    fstab = run.path("/etc/fstab")
    if fstab.exists():
        write_whole(fstab, SWAP_LINE.sub(lambda line: f"# {line[0]}", fstab.read_text()).encode(), 0o644)
    run.command("swapoff", "-a")


def environment_places(run: Run, step: Step) -> tuple[Path, str, Path, str]:
    """Return file and line for login sessions, then file and text for systemd's services."""
    value = shlex.quote(step["value"]) if step["value"] else '""'
    unit = f"[Manager]\nDefaultEnvironment={shlex.quote(step['variable'] + '=' + step['value'])}\n"
    drop_in = run.path(f"/etc/systemd/system.conf.d/mullion-{step['variable']}.conf")
    return run.path("/etc/environment"), f"{step['variable']}={value}", drop_in, unit


def environment_holds(run: Run, step: Step) -> bool:
    """Return whether login sessions and systemd's services have the variable."""
    sessions, line, drop_in, unit = environment_places(run, step)
    return line in text_of(sessions).splitlines() and text_of(drop_in) == unit.strip()


def make_environment(run: Run, step: Step) -> None:
    """Replace the variable's line, keep the others, and make systemd read its configuration again."""
    sessions, line, drop_in, unit = environment_places(run, step)
    kept = [each for each in text_of(sessions).splitlines() if not each.startswith(f"{step['variable']}=")]
    write_whole(sessions, "\n".join([*kept, line, ""]).encode(), 0o644)
    write_whole(drop_in, unit.encode(), 0o644)
    run.command("systemctl", "daemon-reexec")


TIME_FILES = {
    "/etc/chrony/sources.d/mullion.sources": "server {server} prefer iburst minpoll 4 maxpoll 4",
    "/etc/systemd/timesyncd.conf.d/mullion.conf": "[Time]\nNTP={server}",
}
TIME_UNITS = ("chrony.service", "systemd-timesyncd.service")


def time_source_holds(run: Run, step: Step) -> bool:
    """Return whether both clients' files name the server."""
    return all(text_of(run.path(name)) == text.format(server=step["server"]) for name, text in TIME_FILES.items())


def make_time_source(run: Run, step: Step) -> None:
    """Write both clients' files and restart the client that runs; the other one may not be installed."""
    for name, text in TIME_FILES.items():
        write_whole(run.path(name), f"{text.format(server=step['server'])}\n".encode(), 0o644)
    for unit in TIME_UNITS:
        run.command("systemctl", "try-restart", unit, check=False)


DPKG_ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive"}
KEEP_CONFIGURATION = ("--force-confdef", "--force-confold")
"""dpkg keeps configuration files that were changed on the machine."""


def package_holds(run: Run, step: Step) -> bool:
    """Return whether dpkg lists the package as installed in this version."""
    words = ("--show", "--showformat=${db:Status-Abbrev}${Version}", step["package"])
    shown = run.command("dpkg-query", *words, check=False)
    return shown.returncode == 0 and shown.stdout == f"ii {step['version']}"


def make_package(run: Run, step: Step) -> None:
    """Finish an interrupted dpkg run, then install. If another process holds dpkg's lock, the step is retried."""
    run.command("dpkg", *KEEP_CONFIGURATION, "--configure", "--pending", environment=DPKG_ENVIRONMENT)
    run.command("dpkg", *KEEP_CONFIGURATION, "--install", str(run.path(step["source"])), environment=DPKG_ENVIRONMENT)


NO_LOGIN = "/usr/sbin/nologin"
NO_HOME = "/nonexistent"


def user_entry(run: Run, step: Step) -> list[str]:
    """Return the fields of the user's passwd entry, or an empty list if the user does not exist."""
    ended = run.command("getent", "passwd", step["user"], check=False)
    return ended.stdout.strip().split(":") if ended.returncode == 0 else []


def user_holds(run: Run, step: Step) -> bool:
    """Return whether the user has the home, the shell and the groups."""
    entry = user_entry(run, step)
    if entry[5:] != [step.get("home", NO_HOME), NO_LOGIN]:
        return False
    groups = run.command("id", "--groups", "--name", step["user"]).stdout.split()
    return set(step.get("groups", ())) <= set(groups)


def make_user(run: Run, step: Step) -> None:
    """Create the user, or set its home, shell and groups."""
    words = ["-d", step.get("home", NO_HOME), "-s", NO_LOGIN]  # long options of useradd and usermod differ here
    groups = ["--groups", ",".join(step["groups"])] if step.get("groups") else []
    if user_entry(run, step):
        run.command("usermod", *words, *(["--append", *groups] if groups else []), step["user"])
    else:
        run.command("useradd", "--system", "--user-group", "--no-create-home", *words, *groups, step["user"])
