"""`mullion logs`: which object a machine is asked by, what of an answer is taken, what an issue should say."""

import base64
import io
import os
import stat
import threading
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from operations.clouds import cloud_tables
from operations.commands import logs
from operations.console.exits import Exit, Stop
from operations.engine import state
from operations.stacks import stack_files

Mullion = Callable[..., Result]


def resource(type: str, name: str, **outputs: Any) -> dict[str, Any]:
    """One of a state."""
    return {"type": type, "urn": f"urn:pulumi:small::mullion::{type}::small-{name}", "outputs": outputs, "id": "i-1"}


RESOURCES = [
    *(
        resource(cloud_tables.AWS.machine, name, tags={"mullion:cluster": "small", "mullion:pool": pool})
        for name, pool in (("control-plane-0", "control-plane"), ("web-0", "web"))
    ),
    resource(cloud_tables.AWS.bucket, "bundles", bucket="small-bundles-1"),
    resource(cloud_tables.AWS.bucket, "snapshots", bucket="small-snapshots-1"),
    resource("aws:iam/role:Role", "control-plane", uniqueId="AROACONTROL"),
    resource("aws:iam/role:Role", "workers", uniqueId="AROAWORKERS"),
]


def zipped(name: str = "note.txt") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr(zipfile.ZipInfo(name), "text")  # without the present time
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("machine", "key"), [("web-0", "AROAWORKERS:i-1.json"), ("control-plane-0", "AROACONTROL:i-1.json")]
)
def test_a_machine_is_asked_by_the_role_and_instance_that_it_signs_with(machine: str, key: str) -> None:
    found = logs.find("small", machine, RESOURCES)
    assert (found.bucket, found.key) == ("small-bundles-1", key)


def test_an_unknown_machine_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(Stop, match="it has control-plane-0, web-0") as refused:
        logs.find("small", "web-1", RESOURCES)
    assert refused.value.code == Exit.USAGE


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({}, "did not answer in 8 minutes"),
        ({"id": "a"}, "without an archive"),
        ({"id": "a", "archive": 5}, "without an archive"),
        ({"id": "a", "archive": "%%%"}, "without an archive"),
        ({"id": "a", "archive": base64.b64encode(b"MZ").decode()}, "not a zip archive"),
    ],
)
def test_an_answer_that_is_not_an_archive_is_not_written(
    answer: dict[str, Any], said: str, clone: Path, mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compromised machine may answer anything."""
    ran = run(mullion, monkeypatch, answer)
    assert ran.exit_code == Exit.FAILED
    assert said in ran.output
    assert not list(clone.rglob("*.zip"))


def test_the_archive_is_written_unchanged_and_never_unpacked(
    clone: Path, mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = zipped("../../evil.txt")
    ran = run(mullion, monkeypatch, {"id": "a", "archive": base64.b64encode(content).decode()})
    assert ran.exit_code == Exit.OK, ran.output
    [written] = clone.rglob("*.zip")
    assert written.read_bytes() == content
    assert not list(clone.rglob("evil.txt"))


def test_only_its_owner_may_read_an_archive(clone: Path, mullion: Mullion, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redaction cannot know every secret that a program logs."""
    answer = {"id": "a", "archive": base64.b64encode(zipped()).decode()}
    before = clone / "before.zip"
    before.write_bytes(b"old")
    before.chmod(0o644)
    mask = os.umask(0)
    try:
        for more in ((), ("-o", str(before)), ("-o", str(clone / "folder" / "new.zip"))):
            ran = run(mullion, monkeypatch, answer, *more)
            assert ran.exit_code == Exit.OK, ran.output
        monkeypatch.setattr(logs, "_answers", lambda name, asked, **_: dict.fromkeys(asked, answer))
        assert logs.fetch_all("small", clone / "every") == []
    finally:
        os.umask(mask)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in clone.rglob("*.zip")}
    assert len(modes) == 5 and set(modes.values()) == {0o600}, modes


def test_the_mode_of_a_pipe_stays(clone: Path, mullion: Mullion, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does that of a device: as root `-o /dev/null` closed it for everybody else."""
    pipe, heard = clone / "pipe", list[bytes]()
    os.mkfifo(pipe)
    pipe.chmod(0o644)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    reader.start()
    ran = run(mullion, monkeypatch, {"id": "a", "archive": base64.b64encode(zipped()).decode()}, "-o", str(pipe))
    reader.join(10)
    assert ran.exit_code == Exit.OK, ran.output
    assert heard == [zipped()]
    assert stat.S_IMODE(pipe.stat().st_mode) == 0o644


def run(mullion: Mullion, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], *more: str) -> Result:
    """`mullion logs small web-0` of a machine that answers so."""
    monkeypatch.setattr(logs, "built", nullcontext)
    monkeypatch.setattr(state, "resources", lambda stack: RESOURCES)
    monkeypatch.setattr(logs, "_answer", lambda *_, **__: answer)
    return mullion("logs", "small", "web-0", *more)


def test_ops_02_an_issue_calls_sig_windows_and_says_what_the_machines_are(clone: Path) -> None:
    text = logs.issue(stack_files.load("small"), "web")
    for fact in ("/sig windows", "Kubernetes: 1.36.4", "aws, eu-west-1, ", "windows-2022 (build 10.0.20348",
                 "containerd ", "overlay", "#sig-windows"):  # fmt: skip
        assert fact in text, text
    assert "/sig node" in logs.issue(stack_files.load("small"), "control-plane")
