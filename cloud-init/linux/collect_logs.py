"""Collects data that explain why this machine is not a Node or not Ready: logs, networks, versions, plan, results.

    collect_logs.py --output FILE   write the zip to FILE
    collect_logs.py --requested     handle requests to this machine in the bundle store; a timer runs this. For a zip
                                    (mullion logs), upload it under a key that only this machine may write. For a
                                    restart of programs that watch the cluster (mullion restore), run epoch.py.

Needs neither the kubelet nor the API, only the standard library of Python 3.10. Leaves out files that hold secrets and
redacts all other text.
"""

import argparse
import base64
import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import authorities
import epoch
import loader
import programs
import rejoining
from clouds import CLOUDS
from failure import Failure
from run import STATE, Run
from writing import write_whole

PER_FILE, WHOLE = 1 << 20, 12 << 20
"""Characters of one file (its end) and of all text in the archive."""
SECONDS = 30
"""Timeout of a program."""
LINES = "2000"
"""Newest lines of a unit's journal."""
LARGEST = 4096
"""Maximum bytes of a request for logs."""
ANSWERED = f"{STATE}/answered"
HERE = Path(__file__).resolve().parent

UNITS = ("mullion", "kubelet", "containerd", "mullion-*", "cloud-*", "systemd-networkd", "chrony", "systemd-timesyncd")
FILES: dict[str, tuple[str, ...]] = {
    "mullion": (f"{STATE}/*.json", "/opt/mullion/machine.json", "/var/log/cloud-init*.log"),
    "kubelet": ("/etc/mullion/kubelet.json", "/var/lib/kubelet/config.yaml", "/etc/kubernetes/manifests/*.yaml"),
    "runtime": ("/etc/containerd/config.toml", "/etc/crictl.yaml"),
    "cni": ("/etc/cni/net.d/*", "/run/flannel/subnet.env", "/var/lib/cni/networks/*/*"),
    "addons": ("/etc/mullion/addons/*.json",),
    "pods": ("/var/log/pods/kube-system_*/*/*.log", "/var/log/pods/kube-flannel_*/*/*.log"),
}
"""Patterns of files by folder in the archive. If the archive gets too large, later ones are left out."""
PROGRAMS: dict[str, tuple[str, ...]] = {
    **{f"journal/{unit}": ("journalctl", "--no-pager", "--unit", unit, "--lines", LINES) for unit in UNITS},
    "journal/kernel": ("journalctl", "--no-pager", "--dmesg", "--lines", LINES),
    "system/units": ("systemctl", "list-units", "--all", "--no-pager"),
    "system/addresses": ("ip", "-details", "address"),
    "system/routes": ("ip", "route", "show", "table", "all"),
    "system/firewall": ("iptables-save",),
    "system/processes": ("ps", "-eo", "pid,ppid,user,stat,etime,comm"),  # arguments of pods may hold secrets
    "system/disks": ("df", "-h"),
    "system/clock": ("timedatectl",),
    "versions/system": ("cat", "/etc/os-release"),
    "versions/kernel": ("uname", "-a"),
    "versions/kubelet": ("/usr/local/bin/kubelet", "--version"),
    "versions/containerd": ("/usr/local/bin/containerd", "--version"),
    "versions/kubectl": ("/usr/local/bin/kubectl", "version", "--client"),
    "runtime/containers": ("/usr/local/bin/crictl", "--timeout", "10s", "ps", "--all"),
    "runtime/sandboxes": ("/usr/local/bin/crictl", "--timeout", "10s", "pods"),
}
SECRET_FILES = ("/etc/kubernetes/encryption/configuration.json",)
"""Not collected; read only to redact their keys in other text."""


def sources(root: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield name in the archive and a function that returns the text, for every source on the machine."""
    yield "plan/plan.json", lambda: _end_of(HERE / "plan.json")
    for folder, patterns in FILES.items():
        for path in (each for pattern in patterns for each in sorted(root.glob(pattern.lstrip("/")))):
            if path.is_file():
                # pods' files and host-local's are unique only together with their folders
                parts = path.relative_to(root).parts
                name = "/".join(parts[-3:] if folder == "pods" else parts[-2:] if "networks" in parts else parts[-1:])
                yield f"{folder}/{name}", lambda path=path: _end_of(path)
    for name, argv in PROGRAMS.items():
        yield f"{name}.txt", lambda argv=argv: _said(argv)


def _end_of(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - PER_FILE))
        return file.read(PER_FILE).decode(errors="replace")


def _said(argv: tuple[str, ...]) -> str:
    ended = programs.start(argv, SECONDS)
    return (ended.stdout + ended.stderr)[-PER_FILE:]


def redactor(run: Run, root: Path) -> Callable[[str], str]:
    """Return a function that redacts patterns of secrets and this machine's own secrets."""
    rows = json.loads((HERE / "redaction.json").read_text())["patterns"]
    patterns = [re.compile(each["pattern"]) for each in rows]
    for path in (root / each.lstrip("/") for each in SECRET_FILES):
        if path.exists():
            for line in re.findall(r'"secret": *"([^"]+)"', path.read_text()):
                run.keep_unsaid(line)
    try:
        run.try_for(SECONDS)
        run.secret(run.value("facts.join_secret"))
    except Failure:
        pass  # the secret is unavailable: redact by pattern only

    def redact(text: str) -> str:
        for pattern in patterns:
            text = pattern.sub(r"\1[secret]", text)
        return run.redact(text)

    return redact


def archive(run: Run, root: Path) -> bytes:
    """Return the zip. A source that cannot be collected has the reason as its text."""
    redact, left, buffer = redactor(run, root), WHOLE, io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, read in sources(root):
            try:
                text = read()
            except (OSError, Failure) as error:
                text = f"not collected: {error}"
            text = redact(text)
            if len(text) > left:
                text = f"left out: the archive has {WHOLE} characters already"
            left -= len(text)
            packed.writestr(name, text)
    return buffer.getvalue()


def places(told: dict) -> tuple[str, str]:
    """Return URLs of the requests to this machine and of its answers, next to the status record."""
    store, status = told["facts"]["bundle_store"], told["facts"]["status_url"]
    name = status.removeprefix(f"{store}/status/") + CLOUDS[told["facts"]["cloud"]].instance()
    return f"{store}/requests/{name}.json", f"{store}/logs/{name}.json"


def answer(told: dict, root: Path) -> None:
    """Answer a request that has no answer yet."""
    facts = told["facts"]
    answered = root / ANSWERED.lstrip("/")
    try:
        request, place = places(told)
        asked = str(json.loads(loader.ask(facts, request, "store", wait=10, most=LARGEST))["id"])
    except (OSError, ValueError, KeyError):
        return  # no request, or the store is unreachable
    if answered.exists() and answered.read_text() == asked:
        return
    packed = base64.b64encode(archive(Run(root, told, {}), root)).decode()
    body = json.dumps({"id": asked, "archive": packed}).encode()
    loader.ask(facts, place, "store", "PUT", body, {"content-type": "application/json"})
    write_whole(answered, asked.encode(), 0o600)


def main(words: list[str], root: Path = Path("/")) -> None:
    """Run with the command line's arguments."""
    parser = argparse.ArgumentParser(description="Packs this machine's logs, redacted.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--output", metavar="FILE", help="write the zip there")
    what.add_argument("--requested", action="store_true", help="upload it to the bundle store if it was requested")
    given = parser.parse_args(words)
    told = json.loads((root / str(loader.HOME).lstrip("/") / "machine.json").read_text())
    if given.requested:
        try:
            epoch.follow(told, root)
            authorities.follow(told, root)
            authorities.tell(told, root)
            rejoining.follow(told, root)
        finally:
            answer(told, root)
    else:
        write_whole(Path(given.output), archive(Run(root, told, {}), root), 0o600)


if __name__ == "__main__":
    main(sys.argv[1:])
