"""Services of systemd, and programs that run once."""

import json
from pathlib import Path

from failure import Failure
from run import Run, Step, write_whole

UNIT = """[Unit]
Description={description}
{depends}[Service]
ExecStart={command}
Restart=always
RestartSec={restart}
{extra}[Install]
WantedBy=multi-user.target
"""


STARTS = {"auto": ("is-enabled", "is-active"), "boot": ("is-enabled",)}
"""What systemd must say of a service by the step's start; with boot, something else starts it now."""


def quoted(word: str) -> str:
    """One word of a unit file: systemd's own quoting, no variables, no specifiers."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{escaped}"' if not word or any(each in word for each in " \t\n;'\"") else escaped


def unit(step: Step) -> str:
    """The unit file of a service step."""
    depends = "".join(f"Wants={each}.service\nAfter={each}.service\n" for each in step.get("depends", ()))
    variables = [
        f"Environment={quoted(f'{name}={value}')}\n" for name, value in sorted(step.get("environment", {}).items())
    ]
    log = step.get("log")
    extra = [*variables, "Delegate=yes\nKillMode=process\n" if step.get("delegate") else ""]
    extra += [f"StandardOutput=append:{log}\nStandardError=append:{log}\n" if log else ""]
    return UNIT.format(
        description=step.get("description", step["service"]),
        depends=depends,
        command=" ".join(quoted(each).replace("$", "$$") for each in step["command"]),
        restart=step.get("restart_seconds", 10),
        extra="".join(extra),
    )


def unit_path(run: Run, step: Step) -> Path:
    """Where the unit file lies."""
    return run.path(f"/etc/systemd/system/{step['service']}.service")


def service_holds(run: Run, step: Step) -> bool:
    """Unit as planned; enabled and running when it starts by itself."""
    path = unit_path(run, step)
    if not path.is_file() or path.read_text() != unit(step):
        return False
    asked = STARTS[step.get("start", "auto")]
    return all(
        run.command("systemctl", verb, "--quiet", step["service"], check=False).returncode == 0 for verb in asked
    )


def make_service(run: Run, step: Step) -> None:
    """Writes the unit, enables it and starts it anew."""
    write_whole(unit_path(run, step), unit(step).encode(), 0o644)
    if step.get("log"):
        run.path(step["log"]).parent.mkdir(parents=True, exist_ok=True)
    run.command("systemctl", "daemon-reload")
    run.command("systemctl", "enable", "--quiet", step["service"])
    if step.get("start", "auto") == "auto":
        try:
            run.command("systemctl", "restart", step["service"])
        except Failure as failure:
            raise Failure("service-failed", f"{step['service']}: {failure}") from None


def command_holds(run: Run, step: Step) -> bool:
    """What it creates is there; without `creates`, it ran in this run. Without what it requires it is not due."""
    if step.get("requires") and not run.path(step["requires"]).exists():
        return True
    if step.get("creates"):
        return run.path(step["creates"]).exists()
    return step["name"] in run.done


def make_command(run: Run, step: Step) -> None:
    """Runs it, with `input` on its standard input."""
    timeout, text = step.get("timeout_seconds", 600), step.get("input")
    text = json.dumps(text) if isinstance(text, (dict, list)) else text
    run.command(*step["argv"], timeout=timeout, environment=step.get("environment"), text=text)
    run.done.add(step["name"])
