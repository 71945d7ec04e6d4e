"""probe.ps1, probe.sh and the web server of `mullion verify`, run by PowerShell for Windows and by busybox."""

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

from lab.linuxnode import network
from lab.linuxnode.image import IMAGE, lacking
from operations.verification import manifests
from operations.verification.questions import LARGE, UDP_PORT
from operations.verification.run import answers
from sandbox.boot import mirror
from sandbox.boot.name_server import answer
from sandbox.boot.network_namespaces import thread, within
from sandbox.boot.windows.winpwsh import Machine, new_machine

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]

SCRIPTS = manifests.HERE
FILE = ("-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File")
NAME = "kubernetes.default.svc.cluster.local"

ASKED: tuple[tuple[str, bool], ...] = (
    (f"http http://127.0.0.1:{mirror.PORT}/hello", True),
    (f"http http://127.0.0.1:{mirror.PORT}/nothing once", False),
    (f"size http://127.0.0.1:{mirror.PORT}/large {LARGE}", True),
    (f"size http://127.0.0.1:{mirror.PORT}/large 5 once", False),
    (f"open 127.0.0.1 {mirror.PORT}", True),
    ("open 127.0.0.1 81 once", False),
    (f"udp 127.0.0.1 {UDP_PORT}", True),
    ("ping 127.0.0.1", True),
    ("env VERIFY_WORD hello", True),
    ("env VERIFY_WORD other once", False),
    ("env VERIFY_NONE hello once", False),
)
"""Questions to the scripts of both systems, and whether the right answer is ok."""
OF_FILES: tuple[tuple[str, bool], ...] = (
    ("file {}/word hello", True),
    ("file {}/word other once", False),
    ("file {}/nothing hello once", False),
    ("there {}/word", True),
    ("there {}/nothing once", False),
    ("write {}/new once", True),
    ("write {}/nowhere/new once", False),
)


@pytest.fixture(scope="module")
def space(missing: Callable[[str, str], NoReturn], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Create a network namespace with a web server and a name server like those of pods; yield its name."""
    if why := lacking():
        missing("linuxnode", why)
    name, folder = f"verify{os.getpid()}", tmp_path_factory.mktemp("www")
    (folder / mirror.DOWNLOADS).mkdir()
    (folder / mirror.DOWNLOADS / "hello").write_text("hello")
    (folder / mirror.DOWNLOADS / "large").write_text("x" * LARGE)
    network.run("netns", "add", name)
    try:
        network.run("-n", name, "link", "set", "lo", "up")
        web = within(name, lambda: mirror.server("127.0.0.1", [folder]))
        threading.Thread(target=partial(web.serve_forever, poll_interval=0.05), daemon=True).start()
        ends = threading.Event()
        serving = thread(name, partial(_names, ends))
        yield name
        ends.set()
        serving.join(10)
        web.shutdown()
        web.server_close()
    finally:
        network.run("netns", "del", name)


def _names(ends: threading.Event) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.bind(("127.0.0.1", UDP_PORT))
        here.settimeout(0.2)
        while not ends.is_set():
            try:
                asked, who = here.recvfrom(512)
            except TimeoutError:
                continue
            here.sendto(answer(asked, lambda _: ["10.0.0.1"]), who)


@pytest.fixture(scope="module")
def windows(winpwsh: str, space: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Return a Windows machine in that network, with both scripts."""
    made = new_machine(winpwsh, tmp_path_factory.mktemp("windows") / "machine")
    made.entry = ("ip", "netns", "exec", space)
    for name in ("probe.ps1", "serve.ps1"):
        shutil.copy(SCRIPTS / name, made.path(rf"C:\{name}"))
    made.path(r"C:\verify").mkdir()
    made.path(r"C:\verify\word").write_text("hello\r\n")
    yield made
    made.cut()


def asked(argv: tuple[str, ...], root: str) -> list[tuple[str, bool]]:
    """Send all questions to the script; return each with whether the answer is ok."""
    rows = [*ASKED, *((words.format(root), opens) for words, opens in OF_FILES)]
    environment = {
        "QUESTIONS": ";".join(f"{number} {words}" for number, (words, _) in enumerate(rows)),
        "VERIFY_WORD": "hello",
        "WINPWSH_TIMEOUT": "240",
    }
    ran = subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=260, env={**os.environ, **environment}
    )
    found = answers(ran.stdout)
    assert ran.stdout.rstrip().endswith("done"), ran.stdout + ran.stderr
    return [(words, found[number][0]) for number, (words, _) in enumerate(rows)]


def expected(root: str) -> list[tuple[str, bool]]:
    return [*ASKED, *((words.format(root), opens) for words, opens in OF_FILES)]


def test_probe_ps1_answers_ok_and_failed_for_every_kind_of_question(windows: Machine) -> None:
    argv = (*windows.entry, windows.tool, "pwsh", str(windows.folder), *FILE, r"C:\probe.ps1")
    assert asked(argv, "/verify") == expected("/verify")


def test_probe_sh_in_busybox_answers_ok_and_failed_for_every_kind_of_question(space: str, tmp_path: Path) -> None:
    (tmp_path / "word").write_text("hello\n")
    shell = (SCRIPTS / "probe.sh").read_text().replace("b=/bin/busybox", f"b={IMAGE}/bin/busybox")
    argv = ("ip", "netns", "exec", space, f"{IMAGE}/bin/busybox", "sh", "-c", shell)
    assert asked(argv, str(tmp_path)) == expected(str(tmp_path))


def test_the_windows_server_answers_over_http_and_as_a_name_server(winpwsh: str, windows: Machine) -> None:
    """Runs in a second network, because these ports of the first are in use."""
    name = f"serve{os.getpid()}"
    network.run("netns", "add", name)
    network.run("-n", name, "link", "set", "lo", "up")
    argv = ["ip", "netns", "exec", name, winpwsh, "pwsh", str(windows.folder), *FILE, r"C:\serve.ps1"]
    try:
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as serving:
            _until(lambda: within(name, partial(_resolves)) == "10.0.0.1")
            serving.kill()
    finally:
        windows.cut()
        network.run("netns", "del", name)


def _resolves() -> str:
    """Return the address that the server gives for a name; empty without an answer."""
    ran = subprocess.run(
        [f"{IMAGE}/bin/busybox", "nslookup", "-type=a", f"-port={UDP_PORT}", NAME, "127.0.0.1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return ran.stdout.split()[-1] if ran.returncode == 0 else ""


def _until(what: Callable[[], Any], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "the server never answers"
        time.sleep(0.3)
