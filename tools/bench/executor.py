"""Measures the executors: the time of a second run, which changes nothing, and the size of user-data.

node.py runs on a Linux machine of lab/linuxnode, with a real systemd.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from components.clouds import CLOUDS
from components.machine.bundle import OsFamily, scripts
from components.machine.facts import LONGEST_BUNDLE_URL, longest
from components.machine.user_data import document, size, template, user_data
from lab.linuxnode import network
from lab.linuxnode.image import lacking
from lab.linuxnode.machine import boot, stop
from operations.stacks.paths import REPOSITORY

Show = Callable[..., None]
NET, RANGE, ADDRESS = "mullion-bench", "10.77.66.0/24", "10.77.66.11"
BUNDLE = "/opt/mullion/current"
RUNS = 15
TEXT, SLEEP = "a line of a small file\n" * 20, ["/bin/sleep", "infinity"]
LARGE_MIB = 200
"""Approximate total size of a node's programs."""
TIMED = f"""
import json, subprocess, sys, time
sys.path.insert(0, {BUNDLE!r})
best = dict.fromkeys(("ours", "other"), 9e9)
units = json.load(open("/bench-units.json"))
show = ["systemctl", "show", "--property=UnitFileState,ActiveState,NeedDaemonReload", "--", *units]
imports = "import sys; sys.path.insert(0, '/opt/mullion/current'); import node, subprocess; "
imports += f"subprocess.run({{show!r}}, check=True, capture_output=True)"
words = {{"ours": [{BUNDLE + "/node.py"!r}], "other": ["-c", imports]}}
for _ in range({RUNS}):
    for name, each in words.items():
        began = time.perf_counter()
        subprocess.run(["/usr/bin/python3", "-B", *each], check=True, stdout=subprocess.DEVNULL)
        best[name] = min(best[name], time.perf_counter() - began)
result = json.load(open("/var/lib/mullion/result.json"))
outcomes = sorted({{step["outcome"] for phase in result["phases"] for step in phase["steps"]}})
print(json.dumps(best | {{"outcomes": outcomes}}))
"""


def plan(large: bool) -> dict[str, Any]:
    """Return a plan of 100 steps with small files; with `large`, also a file of LARGE_MIB."""
    steps: list[dict[str, Any]] = [
        *({"kind": "directory", "name": f"folder-{n}", "path": f"/srv/bench/{n}"} for n in range(20)),
        *(
            {"kind": "file", "name": f"file-{n}", "path": f"/srv/bench/{n % 20}/{n}", "content": TEXT}
            for n in range(60)
        ),
        *({"kind": "link", "name": f"link-{n}", "path": f"/srv/bench/to-{n}", "target": f"{n}"} for n in range(10)),
        *({"kind": "service", "name": f"unit-{n}", "service": f"bench-{n}", "command": SLEEP} for n in range(8)),
        *({"kind": "environment", "name": f"var-{n}", "variable": f"BENCH_{n}", "value": "x"} for n in range(2)),
    ]
    if large:
        digest = f"sha256:{hashlib.sha256(bytes(LARGE_MIB << 20)).hexdigest()}"
        url = "https://example.org/never-asked-for"
        steps.append({"kind": "artifact", "name": "large", "url": url, "digest": digest, "path": "/srv/large"})
    phases = [{"name": "all", "scope": "image", "steps": steps}]
    return {"format": 1, "role": "worker", "pool": "bench", "os": "ubuntu-22.04", "registration": {}, "phases": phases}


@contextmanager
def machine() -> Iterator[Path]:
    """Boot a machine with the scripts and without any other host; yield its folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        disk = folder / "upper"
        for file, content in scripts("linux").items():
            place = disk / BUNDLE[1:] / file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        told = {"machine": {"name": "bench", "address": ADDRESS}, "facts": {"cloud": "aws", "world": "sandbox"}}
        (disk / "opt/mullion/machine.json").write_text(json.dumps(told))
        (disk / "srv").mkdir()
        with (disk / "srv/large").open("wb") as large:
            large.truncate(LARGE_MIB << 20)
        (disk / "srv/large").chmod(0o644)
        (disk / "timed.py").write_text(TIMED)
        network.up(NET, RANGE)
        try:
            network.add(NET, "node", ADDRESS)
            if boot(folder, f"{NET}-node", "bench"):
                raise SystemExit("the machine did not boot")
            yield folder
        finally:
            stop(folder)
            network.down(NET)


def on(folder: Path, *words: str) -> str:
    """Run a program on the machine, and return its output."""
    argv = [sys.executable, "-m", "lab.linuxnode", "exec", str(folder), *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True, cwd=REPOSITORY, timeout=300).stdout


def timed(folder: Path, *, large: bool) -> tuple[float, float]:
    """Return the seconds of the plan's second run, and of a Python process with the same imports and one query."""
    made = plan(large)
    units = [f"{step['service']}.service" for step in made["phases"][0]["steps"] if step["kind"] == "service"]
    on(folder, "python3", "-c", f"open('{BUNDLE}/plan.json', 'w').write({json.dumps(made)!r})")
    on(folder, "python3", "-c", f"open('/bench-units.json', 'w').write({json.dumps(units)!r})")
    on(folder, "python3", "-B", f"{BUNDLE}/node.py")
    found = json.loads(on(folder, "python3", "/timed.py"))
    if found["outcomes"] != ["held"]:
        raise SystemExit(f"the second run changed something: {found}")
    return found["ours"], found["other"]


def linux(show: Show) -> None:
    """Measure the second run of node.py."""
    if why := lacking():
        print(f"node.py, second run of 100 steps: not measured: {why}", flush=True)
        return
    with machine() as folder:
        ours, other = timed(folder, large=False)
        show("node.py, second run of 100 steps / imports + show", ours, other, 3.0)
        whole, _ = timed(folder, large=True)
        show(f"node.py, digest of {LARGE_MIB} MiB at boot / imports + show", whole - ours, other, None, "counted apart")


def user_data_sizes() -> None:
    """Print the size of user-data in bytes, with every fact at its longest."""
    systems: tuple[OsFamily, ...] = ("linux", "windows")
    for system in systems:
        told = {"name": "x" * 15, "address": "255.255.255.255", "pool": "x" * 15, "zone": 9}
        facts = longest(control_plane=system == "linux")
        url = "https://" + "x" * (LONGEST_BUNDLE_URL - len("https://"))
        whole = size(user_data(system, document(url, "0" * 64, told, facts), "aws"))
        loader, room = sum(map(len, template(system, "aws"))), 1 - whole / CLOUDS["aws"].user_data_limit
        print(
            f"user-data {system:<8} loader {loader:>6} bytes, whole at most {whole:>6}, {room:.0%} of AWS' limit free"
        )
