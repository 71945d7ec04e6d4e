"""node.ps1 beyond the conformance cases (tests/conformance): its table of kinds, status record, second run."""

import importlib
import json
import re
import time
from types import ModuleType
from typing import Any

import pytest

from components.machine.bundle import CLOUD_INIT
from components.node.kinds import KINDS
from components.node.kinds.model import Field, Kind
from sandbox.boot.windows.winpwsh import Machine
from tests.cloud_init.cloud import INSTANCE, FakeCloud
from tests.cloud_init.windows import FILES, place
from tests.prometheus import parsed

windows = pytest.mark.windows
subprocess = pytest.mark.subprocess
TABLE = (CLOUD_INIT / "windows" / "modules" / "kinds.ps1").read_text()
ROW = re.compile(r"^    '([a-z-]+)' *= (\d+), (\(?'[^\n]*(?:\n {8}'[^\n]*)*)", re.MULTILINE)
TYPES = {"boolean": "flag", "string": "text", "integer": "number", "array": "list", "object": "map"}
NOT_ON_WINDOWS = {"executable"}
"""Fields without a meaning on Windows, where every file can be run."""


def field_type(field: Field) -> str:
    """Return the type in the executor's notation."""
    if "enum" in field.type:
        return ",".join(field.type["enum"])
    return TYPES[field.type["type"]] if "type" in field.type else "any"


def row(kind: Kind) -> tuple[int, set[str]]:
    """Return the timeout of an attempt and the fields of a kind."""
    fields = {
        f"{name}:{field_type(field)}{'' if field.required else '?'}"
        for name, field in kind.fields.items()
        if "windows" in field.systems and name not in NOT_ON_WINDOWS
    }
    return kind.seconds, {each for each in fields if not each.endswith(":any?")}


def test_the_executors_table_of_kinds_matches_the_plans() -> None:
    found = {name: (int(seconds), set(re.findall(r"[a-z_]+:[A-Za-z0-9,_-]+\??", text)))
             for name, seconds, text in ROW.findall(TABLE)}  # fmt: skip
    assert found == {name: row(kind) for name, kind in KINDS.items() if "windows" in kind.systems}


def test_each_kind_has_its_functions() -> None:
    text = "".join(file.read_text() for file in FILES)
    for name, seconds, _ in ROW.findall(TABLE):
        noun = "".join(each.capitalize() for each in name.split("-"))
        assert f"function Test-{noun}Step" in text, seconds
        reads = KINDS[name].sets == "nothing"
        assert (f"function Set-{noun}Step" in text) is not reads, name


def told(machine: Machine, cloud: FakeCloud, **changes: Any) -> None:
    """Set a plan with one command that prints a secret, and facts with a URL for status records."""
    step = {"kind": "command", "name": "run", "argv": ["cmd.exe", "/c", "echo {ref}& exit 3"], "retries": 0}
    step["environment"] = {"TOKEN": {"ref": "node.bootstrap_token"}}
    step["argv"] = ["cmd.exe", "/c", "echo %TOKEN%& exit %CODE%"]
    place(machine, cloud, [step], kubernetes="1.32.13", **changes)
    file = machine.path(r"C:\Program Files\mullion\machine.json")
    document = json.loads(file.read_text())
    document["facts"] |= {"bundle_store": f"{cloud.url}/bundles", "status_url": f"{cloud.url}/status/AROAEXAMPLE%3A"}
    file.write_text(json.dumps(document))


@windows
@subprocess
def test_the_status_record_has_the_outcome_and_a_store_that_refuses_it_fails_no_run(
    machine: Machine, cloud: FakeCloud
) -> None:
    secret, key = "abcdef.0123456789abcdef", f"/status/AROAEXAMPLE:{INSTANCE}.json"
    cloud.secrets["join"] = secret
    told(machine, cloud)
    assert machine.pwsh(rf"$env:CODE = '3'; {machine.run_node}")[0] == 1
    record = json.loads(cloud.objects[key])
    assert {name: record[name] for name in ("instance", "state", "phase", "step", "code", "name", "kubernetes")} == {
        "instance": INSTANCE, "state": "failed", "phase": "all", "step": "run", "code": 401, "name": "command-failed",
        "kubernetes": "1.32.13",
    }  # fmt: skip
    assert "[secret]" in record["message"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record["time"])
    log = machine.path(r"C:\ProgramData\mullion\node.log").read_text()
    assert secret not in log + json.dumps(record) + json.dumps(machine.result())
    puts = [each for each in cloud.asked if each.startswith("PUT /status/")]
    assert len(puts) == 2, "running, then failed"
    assert not cloud.refused()
    cloud.fail(key, [503, 503])
    assert machine.pwsh(rf"$env:CODE = '0'; {machine.run_node}") == (0, "")
    assert machine.result()["state"] == "done"
    node_log = machine.path(r"C:\ProgramData\mullion\node.log")
    assert node_log.read_text().count("the status record cannot be written") == 1, "the first one, after its second try"
    cloud.fail(key, [429])
    assert machine.pwsh(rf"$env:CODE = '0'; {machine.run_node}") == (0, "")
    assert node_log.read_text().count("the status record cannot be written") == 1, "the second try wrote it"
    told(machine, cloud, phases=REPORTING)
    cloud.asked.clear()
    assert machine.node()[0] == 0
    assert json.loads(cloud.objects[key])["state"] == "registered", "the state that the last phase reports"
    assert len([each for each in cloud.asked if each.startswith("PUT /status/")]) == 3, (
        "running, then the state of each phase"
    )


@windows
@subprocess
def test_each_run_leaves_its_outcome_as_metrics_for_windows_exporter(machine: Machine, cloud: FakeCloud) -> None:
    cloud.secrets["join"] = "abcdef.0123456789abcdef"
    told(machine, cloud)
    for code, outcome in (("3", 401), ("0", 0)):
        began = int(time.time())
        machine.pwsh(rf"$env:CODE = '{code}'; {machine.run_node}")
        text = machine.path(r"C:\ProgramData\mullion\metrics\run.prom").read_bytes().decode()
        assert "\r" not in text, "the collector of Linux reads the same format"
        found = parsed(text)
        assert found["mullion_run_code"] == outcome
        assert began <= found["mullion_run_ended_timestamp_seconds"] <= time.time()


@subprocess
def test_metrics_of_both_systems_say_the_same(loader: ModuleType) -> None:
    described = importlib.import_module("metrics").HELP
    text = (CLOUD_INIT / "windows" / "modules" / "reports.ps1").read_text()
    found = dict(re.findall(r'^    (mullion_run_\w+) = "(.+)"$', text, re.MULTILINE))
    assert found == {name: each for name, each in described.items() if name.startswith("mullion_run_")}


REPORTING = [{"name": "last", "scope": "node", "reports": "registered", "steps": []}]
