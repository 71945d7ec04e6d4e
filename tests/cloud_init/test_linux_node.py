"""A run of the Linux executor: failure codes, retries, restarts, redaction."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.machine.bundle import CLOUD_INIT
from components.node.kinds import KINDS, Field
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.linux import OWN_TOKEN, SIMPLE, Execute, Programs, fetched, outcomes, put, sha256, tar_of

UNSAFE = tar_of({"../evil": b"x"})
FAILING: list[tuple[str, dict[str, Any]]] = [
    ("kind-not-implemented", {"kind": "teleport"}),
    ("reference-unresolved", {"kind": "file", "path": "/a", "content": {"ref": "facts.api_url"}}),
    ("step-invalid", {"kind": "file", "path": "/a", "content": 1}),
    ("step-invalid", {"kind": "file", "content": "x"}),
    ("step-invalid", {"kind": "wait", "condition": {"moon": "full"}}),
    ("wait-timeout", {"kind": "wait", "condition": {"file": "/never"}, "timeout_seconds": -1}),
    ("secret-unavailable", {"kind": "secret", "secret": "none", "path": "/a", "retries": 0}),
    ("secret-unavailable", {"kind": "secret", "secret": "pki", "member": "none", "path": "/a", "retries": 0}),
    ("step-timeout", {"kind": "secret", "secret": "pki", "path": "/a", "timeout_seconds": -1, "retries": 0}),
    ("command-failed", {"kind": "command", "argv": ["false-program"]}),
    ("network-missing", {"kind": "file", "path": "/a", "content": {"ref": "node.pod_subnet"}, "retries": 0}),
    ("file-failed", {"kind": "archive", "source": "/none", "target": "/t", "retries": 0}),
]


@pytest.mark.parametrize("published", [True, False])
def test_the_issuer_of_tokens_comes_from_the_secret_once_it_is_published(
    execute: Execute, root: Path, cloud: FakeCloud, published: bool
) -> None:
    url = "https://dev-issuer-0123456.s3.eu-west-1.amazonaws.com"
    step = {"kind": "file", "path": "/told", "format": "json", "retries": 0}
    step["content"] = [{"ref": "node.issuer"}, {"ref": "node.issuer_keys"}]
    if published:
        cloud.secrets["pki"] = json.dumps({"issuer": {"url": url, "keys": f"{url}/openid/v1/jwks"}})
    result = execute(step)
    if published:
        assert json.loads((root / "told").read_text()) == [url, f"{url}/openid/v1/jwks"], result
    else:
        assert (result["name"], "has no issuer yet" in result["message"]) == ("secret-unavailable", True)


@pytest.mark.parametrize(("name", "step"), FAILING)
def test_each_failure_has_its_code_phase_and_step(
    execute: Execute, programs: Programs, name: str, step: dict[str, Any]
) -> None:
    programs.answers["false-program"] = (1, "no")
    result = execute({"kind": "directory", "path": "/first"}, step)
    codes = {row["name"]: row["code"] for row in json.loads((CLOUD_INIT / "errors.json").read_text())["errors"]}
    assert (result["state"], result["name"], result["code"]) == ("failed", name, codes[name])
    assert (result["phase"], result["step"]) == ("all", "step-1")
    assert result["message"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("digest-mismatch", b"other"), ("archive-unsafe", UNSAFE), ("archive-broken", b"no archive")],
    ids=["digest", "unsafe", "broken"],
)
def test_a_bad_download_leaves_no_file_at_the_path(
    execute: Execute, cloud: FakeCloud, root: Path, name: str, content: bytes
) -> None:
    steps = fetched(cloud, content)
    if name == "digest-mismatch":
        steps[0]["digest"] = sha256(b"expected")
    assert execute(*steps)["name"] == name
    assert not (root / "opt").exists()
    assert (root / "var/a").exists() == (name != "digest-mismatch")


@pytest.mark.parametrize(
    ("changes", "name"), [({"format": 2}, "plan-format"), ({"os": "windows-2019"}, "other-system")]
)
def test_a_plan_of_another_format_or_system_is_refused(execute: Execute, changes: dict[str, Any], name: str) -> None:
    assert execute(**changes)["name"] == name


def test_a_temporary_failure_is_retried_with_growing_waits(
    execute: Execute, programs: Programs, node: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[int] = []
    monkeypatch.setattr(importlib.import_module("phases").time, "sleep", slept.append)
    programs.answers["kubeadm"] = (1, "connection refused")
    assert execute({"kind": "command", "argv": ["kubeadm"], "retries": 6})["code"] == 401
    assert slept == [2, 5, 10, 20, 40, 40]


def test_no_secret_that_a_run_read_is_in_its_result_or_its_output(
    execute: Execute, programs: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.answers["kubeadm"] = (1, f"token {OWN_TOKEN} is wrong, secretline too")
    steps = [SIMPLE[6], {"kind": "command", "argv": ["kubeadm"], "input": {"ref": "node.bootstrap_token"}}]
    said = json.dumps(execute(*steps)) + capsys.readouterr().out
    assert "[secret] is wrong, [secret] too" in said
    assert OWN_TOKEN not in said
    assert "secretline" not in said


def test_a_restart_is_a_result_and_restarts_in_a_row_are_limited(
    execute: Execute, programs: Programs, root: Path, node: ModuleType
) -> None:
    system = importlib.import_module("kinds.restart")
    run = importlib.import_module("run").Run(root, {"machine": {}, "facts": {}}, {})
    put(root, system.BOOT_ID, "boot-0")
    assert outcomes(execute({"kind": "reboot"})) == ["held"], "nothing requested a restart"
    for boot in range(system.REBOOTS):
        put(root, system.BOOT_ID, f"boot-{boot}")
        system.ask_for_reboot(run)
        assert execute({"kind": "reboot"})["state"] == "reboot"
    put(root, system.BOOT_ID, "boot-last")
    system.ask_for_reboot(run)
    assert execute({"kind": "reboot"})["name"] == "reboot-limit"
    put(root, system.BOOT_ID, "boot-after")
    assert outcomes(execute({"kind": "reboot"})) == ["held"], "a restart by hand fulfils the request too"


JSON_TYPES = {list: "array", dict: "object", int: "integer", bool: "boolean", str: "string"}


def json_type(field: Field) -> str | None:
    """Return the field's JSON type; None if any value is allowed."""
    return "string" if "enum" in field.type else field.type.get("type")


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if "linux" in kind.systems])
def test_linux_implements_a_kind_with_the_tables_fields_and_timeout(node: ModuleType, name: str) -> None:
    kinds, table = importlib.import_module("kinds"), KINDS[name]
    kind = kinds.KINDS[name]
    fields = {each: field for each, field in table.fields.items() if "linux" in field.systems}
    assert set(kind.required.split()) == {each for each, field in fields.items() if field.required}
    assert set(kind.optional.split()) == {each for each, field in fields.items() if not field.required}
    assert kind.seconds == table.seconds
    types = {each: JSON_TYPES.get(kind.types.get(each, str)) for each in fields}
    assert types == {each: json_type(field) for each, field in fields.items()}


def test_linux_implements_no_kind_that_the_table_lacks(node: ModuleType) -> None:
    implemented = importlib.import_module("kinds").KINDS.keys()
    assert implemented == {name for name, kind in KINDS.items() if "linux" in kind.systems}


def test_every_failure_named_in_the_scripts_is_in_the_table_once(node: ModuleType) -> None:
    rows = json.loads((CLOUD_INIT / "errors.json").read_text())["errors"]
    assert len({row["code"] for row in rows}) == len({row["name"] for row in rows}) == len(rows)
    assert all(row.keys() == {"code", "name", "retry", "cause", "remedy"} for row in rows)


NOT_BEGUN: list[tuple[str, int, str | None]] = [
    ("not-privileged", 1000, "{}"),
    ("file-failed", 0, None),
    ("file-failed", 0, "no json"),
    ("file-failed", 0, '{"machine": {}}'),
]


@pytest.mark.parametrize("words", [[], ["--check"]], ids=["run", "check"])
@pytest.mark.parametrize(("name", "user", "told"), NOT_BEGUN)
def test_a_run_that_cannot_begin_prints_its_code(
    node: ModuleType,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    user: int,
    told: str | None,
    words: list[str],
) -> None:
    monkeypatch.setattr(node.os, "geteuid", lambda: user)
    if told is not None:
        put(root, "/opt/mullion/machine.json", told)
    assert node.main(words, root) == 1
    codes = {row["name"]: row["code"] for row in json.loads((CLOUD_INIT / "errors.json").read_text())["errors"]}
    assert capsys.readouterr().out.startswith(f"mullion: E{codes[name]} {name}: ")


def test_a_restart_is_requested_after_its_result_is_written(
    node: ModuleType, root: Path, programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, "/opt/mullion/machine.json", json.dumps({"machine": {}, "facts": {}}))
    put(root, "/run/reboot-required", "")
    steps = [{"kind": "reboot", "name": "restart"}]
    plan = {"format": 1, "os": "ubuntu-22.04", "phases": [{"name": "all", "scope": "node", "steps": steps}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    monkeypatch.setattr(node, "__file__", str(tmp_path / "node.py"))
    monkeypatch.setattr(node.os, "geteuid", lambda: 0)
    result = root / "var/lib/mullion/result.json"
    seen: list[str] = []
    programs.effects["systemctl reboot"] = lambda: seen.append(json.loads(result.read_text())["state"])
    assert node.main([], root) == 0
    assert seen == ["reboot"]
    assert programs.asked[-1] == ["systemctl", "reboot", "--no-block"]
    programs.answers["systemctl reboot"] = (1, "")
    assert node.main([], root) == 1, "a restart that does not begin is a failure, so the unit runs again"


def test_a_plan_that_is_not_json_is_refused(node: ModuleType, tmp_path: Path, root: Path) -> None:
    (tmp_path / "plan.json").write_text("{")
    assert node.execute(root, tmp_path, {"machine": {}, "facts": {}})["name"] == "plan-format"


@pytest.mark.parametrize(
    ("resolved", "link", "found"),
    [
        (True, "../run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf"),
        (False, "../run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf"),
        (False, "", "/etc/resolv.conf"),
    ],
    ids=["systemd-resolved", "systemd-resolved that has not started", "no systemd-resolved"],
)
def test_pods_get_the_name_servers_of_their_own_machine(
    execute: Execute, root: Path, resolved: bool, link: str, found: str
) -> None:
    """kubeadm writes the founder's file into the configuration of all nodes: a Debian worker may not have it."""
    place = root / "etc/resolv.conf"
    place.parent.mkdir(parents=True, exist_ok=True)
    if link:
        place.symlink_to(link)
    else:
        place.write_text("nameserver 10.20.0.2\n")
    if resolved:
        put(root, "/run/systemd/resolve/resolv.conf", "nameserver 10.20.0.2\n")
    result = execute({"kind": "file", "path": "/told", "content": {"ref": "node.resolv_conf"}})
    assert result["state"] == "done", result
    assert (root / "told").read_text() == found
