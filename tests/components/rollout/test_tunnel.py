"""Tunnels: real child processes on loopback."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from components.rollout.tunnel import NoTunnel, Tunnel
from tests.awaited import until

pytestmark = pytest.mark.subprocess

LISTEN = """
import socket, subprocess, sys, time
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(helper.pid, file=open(sys.argv[2], "w"), flush=True)
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(600)
"""
"""A command that starts a second program, as `aws` starts session-manager-plugin, and then listens."""

OWNER = """
import sys, time
from components.rollout.tunnel import Tunnel
tunnel = Tunnel(lambda port: [sys.executable, "-c", sys.argv[1], str(port), sys.argv[2]])
print("open", flush=True)
time.sleep(600)
"""


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def listener(file: Path) -> Tunnel:
    return Tunnel(lambda port: [sys.executable, "-c", LISTEN, str(port), str(file)])


def test_a_closed_tunnel_ends_its_command_and_the_programs_that_this_started(tmp_path: Path) -> None:
    tunnel = listener(tmp_path / "pid")
    assert tunnel.is_open
    assert tunnel.url == f"https://127.0.0.1:{tunnel.port}"
    tunnel.close()
    assert not tunnel.is_open
    helper = int((tmp_path / "pid").read_text())
    until(lambda: has_ended(helper), "the second program ends")


def test_a_tunnel_ends_with_an_owner_that_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    words = [sys.executable, "-c", OWNER, LISTEN, str(file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout
        assert owner.stdout.readline() == "open\n"
        owner.send_signal(signal.SIGKILL)
    until(lambda: has_ended(int(file.read_text())), "the second program ends")


def test_a_command_that_ends_is_named_with_its_output() -> None:
    refused = "An error occurred (TargetNotConnected)"
    with pytest.raises(NoTunnel, match=r"ended: An error occurred \(TargetNotConnected\)"):
        Tunnel(lambda port: [sys.executable, "-c", f"import sys; sys.exit({refused!r})"])
