"""systemd services: units written, enabled, started, and restarted when a file they read has changed."""

import hashlib
from pathlib import Path

from failure import Failure
from run import Run, Step
from writing import write_whole

from kinds.files import written

UNIT = """[Unit]
Description={description}
StartLimitIntervalSec=0
Wants=network-online.target
After=network-online.target
{depends}[Service]
Type=exec
ExecStart={command}
Restart=always
RestartSec={restart}
{extra}[Install]
WantedBy=multi-user.target
"""
FOLDER = "/etc/systemd/system"
UNIT_MODE = 0o600
"""Mode of unit files: their environment may name an account of a proxy (CIS Kubernetes Benchmark 4.1.1)."""
PROPERTIES = ("UnitFileState", "ActiveState", "NeedDaemonReload")
STARTS = {"auto": "restart", "boot": "try-restart"}
"""systemctl verb by the step's `start`; with boot, another program starts the service the first time."""


def quoted(word: str) -> str:
    """Return the word quoted for a unit file, without variables and specifiers."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{escaped}"' if not word or any(each in word for each in " \t\n;'\"") else escaped


def command_line(words: list[str]) -> str:
    """Return the value of ExecStart."""
    return " ".join(quoted(each).replace("$", "$$") for each in words)


def unit(step: Step) -> str:
    """Return the unit file of a service step."""
    depends = "".join(f"Wants={each}.service\nAfter={each}.service\n" for each in step.get("depends", ()))
    variables = [
        f"Environment={quoted(f'{name}={value}')}\n" for name, value in sorted(step.get("environment", {}).items())
    ]
    log = step.get("log")
    extra = [*variables, "Delegate=yes\nKillMode=process\n" if step.get("delegate") else ""]
    extra += [f"{name}={value}\n" for name, value in sorted(step.get("limits", {}).items())]
    extra += [f"StandardOutput=append:{log}\nStandardError=append:{log}\n" if log else ""]
    return UNIT.format(
        description=step.get("description", step["service"]),
        depends=depends,
        command=command_line(step["command"]),
        restart=step.get("restart_seconds", 10),
        extra="".join(extra),
    )


def named(step: Step) -> list[str]:
    """Return the units of all service and wait steps in the plan."""
    if step["kind"] == "wait" and isinstance(step.get("condition", {}).get("service"), str):
        return [f"{step['condition']['service']}.service"]
    names = {"service": "{service}.service", "task": "mullion-{task}.timer"}
    known = step["kind"] in names and isinstance(step.get(step["kind"]), str)
    return [names[step["kind"]].format(**step)] if known else []


def states(run: Run, name: str) -> dict[str, str]:
    """Return PROPERTIES of a unit, read at once for all units of the plan, and again after a step was applied."""
    if run.units is None or name not in run.units:
        steps = [step for phase in run.plan["phases"] for step in phase["steps"]]
        names = list(dict.fromkeys([name, *(each for step in steps for each in named(step))]))
        said = run.command("systemctl", "show", f"--property={','.join(PROPERTIES)}", "--", *names).stdout
        blocks = [
            dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in said.split("\n\n")
        ]
        run.units = dict(zip(names, blocks, strict=True))
    return run.units[name]


def active(run: Run, name: str) -> bool:
    """Return whether the unit is active."""
    return states(run, name).get("ActiveState") == "active"


def ready(run: Run, name: str) -> bool:
    """Return whether systemd has loaded the current unit file and starts the unit at boot."""
    found = states(run, name)
    return found.get("UnitFileState") == "enabled" and found.get("NeedDaemonReload") == "no"


def read_by(run: Run, step: Step) -> str:
    """Return a digest of the unit and the files in restarts_on; a change of it restarts the service."""
    sums = hashlib.sha256(unit(step).encode())
    for file in step.get("restarts_on", ()):
        path = run.path(file)
        content = path.read_bytes() if path.is_file() else b""
        sums.update(hashlib.sha256(content).digest())
    return sums.hexdigest()


def unit_path(run: Run, name: str) -> Path:
    """Return the path of the unit file."""
    return run.path(f"{FOLDER}/{name}")


def unit_written(run: Run, name: str, text: str) -> bool:
    """Return whether the unit file has this text and UNIT_MODE."""
    return written(unit_path(run, name), text.encode(), UNIT_MODE)


def write_unit(run: Run, name: str, text: str) -> None:
    """Write the unit file atomically."""
    write_whole(unit_path(run, name), text.encode(), UNIT_MODE)


def service_holds(run: Run, step: Step) -> bool:
    """Return whether the unit is as planned, enabled, active, and started after its last change."""
    name, start = f"{step['service']}.service", STARTS[step.get("start", "auto")]
    if not unit_written(run, name, unit(step)) or not ready(run, name):
        return False
    if start == "restart" and not active(run, name):
        return False
    return run.remember().get("started", {}).get(step["service"]) == read_by(run, step)


def make_service(run: Run, step: Step) -> None:
    """Write and enable the unit, restart it, and record the digest it was started with."""
    name, read = f"{step['service']}.service", read_by(run, step)
    if not unit_written(run, name, unit(step)):
        write_unit(run, name, unit(step))
    if step.get("log"):
        run.path(step["log"]).parent.mkdir(parents=True, exist_ok=True)
    run.command("systemctl", "daemon-reload")
    run.command("systemctl", "enable", "--quiet", name)
    try:
        run.command("systemctl", STARTS[step.get("start", "auto")], name)
    except Failure as failure:
        raise Failure("service-failed", f"{step['service']}: {failure}") from None
    run.remember(started=run.remember().get("started", {}) | {step["service"]: read})
