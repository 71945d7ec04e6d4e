"""Three real etcd members whose database is full accept writes again by the agents' work alone."""

import random
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

from tests.awaited import until
from tests.lab.agent.conftest import built

pytestmark = pytest.mark.lab

QUOTA = 16 << 20
VALUE = "x" * 1_000_000


@pytest.fixture
def addresses(
    kubernetes: str, missing: Callable[[str, str], NoReturn], tmp_path: Path, etcdctl: Path
) -> Iterator[list[str]]:
    """Return the addresses of the members, each with etcd's usual ports."""
    net = f"127.{random.randint(64, 250)}.{random.randint(1, 250)}"
    members = [f"{net}.{number}" for number in (2, 3, 4)]
    peers = ",".join(f"{each}=http://{each}:2380" for each in members)
    running: list[subprocess.Popen[bytes]] = []
    for each in members:
        client, peer = f"http://{each}:2379", f"http://{each}:2380"
        argv = [built("etcd", kubernetes, missing), "--name", each, "--data-dir", tmp_path / each]
        argv += ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer]
        argv += ["--initial-advertise-peer-urls", peer, "--initial-cluster", peers]
        argv += ["--quota-backend-bytes", f"{QUOTA}"]
        with (tmp_path / f"{each}.log").open("wb") as log:
            running.append(subprocess.Popen(list(map(str, argv)), stdout=log, stderr=log))
    try:
        until(lambda: not call(etcdctl, members[0], "endpoint", "health", "--cluster").returncode, "etcd is healthy")
        yield members
    finally:
        for process in running:
            process.kill()
            process.wait()


def call(etcdctl: Path, address: str, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run etcdctl against one member."""
    argv = [str(etcdctl), "--endpoints", f"{address}:2379", *words]
    return subprocess.run(argv, input=text, check=False, capture_output=True, text=True, timeout=60)


def test_a_full_etcd_accepts_writes_again_once_every_agent_had_its_rounds(
    addresses: list[str], etcdctl: Path, module: Callable[[str], ModuleType], run: Any
) -> None:
    """Kubernetes overwrites few objects often: history fills the database, and no write, not even a Lease, passes."""
    writes = 0
    while not (said := call(etcdctl, addresses[0], "put", f"key{writes % 2}", text=VALUE)).returncode:
        writes += 1
    assert "database space exceeded" in said.stderr
    assert writes >= 5

    agents = {address: module("space").Space() for address in addresses}
    minutes = 0

    def rounds() -> None:
        nonlocal minutes
        minutes += 1
        for address in addresses:
            agents[address].clock = lambda: minutes * 60
            run.told["machine"]["address"] = address
            run.try_for(60)
            try:
                agents[address].reconcile(run, {**config_of(etcdctl, address), "snapshots": {"file": "/snapshot"}})
            except RuntimeError as error:
                assert "of its quota" in str(error)  # noqa: PT017

    alarms, sizes = "not asked", [QUOTA]
    for _ in range(40):  # a member compacts, and another defragments, when their agents come to it
        rounds()
        alarms = call(etcdctl, addresses[0], "alarm", "list").stdout
        sizes = [each.size for each in module("space").members(run, config_of(etcdctl, addresses[0]))[0]]
        if not alarms and max(sizes) < QUOTA * module("space").CROWDED:
            break
        threading.Event().wait(0.1)  # etcd commits every 0.1 s; `run` replaces time.sleep
    assert alarms == ""
    assert len(sizes) == 3
    assert max(sizes) < QUOTA * module("space").CROWDED
    assert not call(etcdctl, addresses[0], "put", "lease", text="held").returncode
    assert call(etcdctl, addresses[1], "get", "key0", "--print-value-only").stdout.strip() == VALUE


def config_of(etcdctl: Path, address: str) -> dict[str, Any]:
    """Return the agent's configuration on a member's machine."""
    program = [str(etcdctl), "--endpoints", f"http://{address}:2379"]
    return {"etcd": {"find": ["echo", "etcd"], "etcdctl": program, "quota": QUOTA}}
