"""Drills: which snapshot is restored, that everything is removed, and what stops a drill before it can do harm.

tests/lab/agent/test_drill.py holds one with real programs.
"""

import base64
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.agent.cluster import Cluster
from tests.agent.test_copies import HOUR, add
from tests.cloud_init.cloud import FakeCloud
from tools.golden.samples import content, plan

__all__ = ["add"]
REQUEST = "/api/v1/namespaces/kube-system/configmaps/mullion-drill"
FIRST = "1" * 32
"""Id of a request."""
MEMORY = "MemTotal:        8000000 kB\nMemAvailable:    4000000 kB\n"


class Machine:
    """Stands in for programs.start: containers by name, and an etcd that has these Secrets."""

    def __init__(self, values: dict[str, bytes]) -> None:
        self.values = values
        self.containers: list[str] = []
        self.asked: list[str] = []
        self.fails = ""
        """Part of the command that fails."""

    def start(self, argv: tuple[str, ...], *_: Any) -> Any:
        words = " ".join(argv)
        self.asked.append(words)
        if self.fails and self.fails in words:
            return SimpleNamespace(returncode=1, stdout="the content of a Secret", stderr="")
        if "--detach" in argv:
            self.containers.append("mullion-drill")
        if "tasks delete --force mullion-drill" in words:
            self.containers.clear()
        return SimpleNamespace(returncode=0, stdout=self.said(argv, words), stderr="")

    def said(self, argv: tuple[str, ...], words: str) -> str:
        if " ps --quiet" in words:
            return "c0ffee"
        if "config images list" in words:
            return "registry.k8s.io/etcd:3.6.8-0\n"
        if "--count-only" in argv:
            assert argv[-1] == "fields", "etcdctl refuses another format"
            return f'"More" : false\n"Count" : {len(self.values) if {"/registry/secrets/", ""} & {*argv} else 0}\n'
        if "--from-key" in argv:
            rows = sorted(name for name in self.values if name >= argv[argv.index("get") + 1])
            limit = int(argv[argv.index("--limit") + 1])
            return json.dumps(
                {"kvs": [{"key": b64(each.encode()), "value": b64(self.values[each])} for each in rows[:limit]]}
            )
        return "{}"


def b64(text: bytes) -> str:
    return base64.b64encode(text).decode()


SECRETS = {
    **{f"/registry/secrets/shop/old-{number:03}": b"k8s:enc:secretbox:v1:key1:x" for number in range(120)},
    "/registry/secrets/shop/new": b"k8s:enc:secretbox:v1:key2:x",
    "/registry/secrets/shop/lost": b"k8s:enc:secretbox:v1:key3:x",
    "/registry/secrets/shop/other": b"k8s:enc:aescbc:v1:key1:x",
    "/registry/secrets/shop/plain": b"k8s\0x",
    "/registry/serviceaccounts/shop/default": b"k8s\0x",
}


@pytest.fixture
def machine(run: Any, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(SECRETS)
    monkeypatch.setattr(importlib.import_module("programs"), "start", made.start)
    for file, text in (("/proc/meminfo", MEMORY), ("/etc/kubernetes/encryption/x", "")):
        run.path(file).parent.mkdir(parents=True, exist_ok=True)
        run.path(file).write_text(text)
    run.try_for(60)
    return made


@pytest.fixture
def config(run: Any) -> dict[str, Any]:
    found = content(plan(None), "agent-config")
    path = run.path(found["encryption"]["path"]) if "encryption" in found else run.path("/etc/keys.json")
    found["encryption"] = {"path": f"/{path.relative_to(run.root)}"}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('"name": "key2" "name": "key1"')
    return found


@pytest.fixture
def drills(module: Callable[[str], ModuleType], machine: Machine, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    roomy = SimpleNamespace(free=90 << 30, total=100 << 30)
    monkeypatch.setattr(module("room").shutil, "disk_usage", lambda _: roomy)
    return module("drills")


def leftovers(run: Any) -> list[Path]:
    return list(run.path("/var/lib/etcd").rglob("*"))


def test_the_newest_snapshot_is_restored_read_and_removed(
    drills: ModuleType, run: Any, machine: Machine, config: dict[str, Any], add: Callable[..., str]
) -> None:
    add(HOUR)
    newest = add(2 * HOUR, b"newer pages")
    found = drills.hold(run, config, {}, 3 * HOUR)
    assert (found["snapshot"], found["machine"]) == (newest, "control-plane-0")
    assert found["counts"]["secrets"] == [len(SECRETS)] * 2
    assert found["counts"]["nodes"] == [0, 0]
    assert found["readable"] == 122, "of old keys, of the new one, and the one that is not encrypted"
    assert not machine.containers and not leftovers(run)
    (restored,) = [each for each in machine.asked if "snapshot restore" in each]
    assert "--name mullion-drill" in restored and "/var/lib/etcd/drill/data" in restored
    (started,) = [each for each in machine.asked if "--detach" in each]
    assert "--net-host" in started and started.count("--client-cert-auth") == 1
    assert "127.0.0.1:2379" not in started and "0.0.0.0" not in started


@pytest.mark.parametrize("fails", ["snapshot restore", "--detach", "--from-key", "--count-only"])
def test_a_drill_that_fails_is_removed_and_says_nothing_that_etcd_has(
    drills: ModuleType, run: Any, machine: Machine, config: dict[str, Any], add: Callable[..., str], fails: str
) -> None:
    add(HOUR)
    machine.fails = fails
    with pytest.raises(Exception, match="ended with 1") as failed:
        drills.hold(run, config, {}, 2 * HOUR)
    assert "Secret" not in f"{failed.value}" or fails in ("snapshot restore", "--detach"), "those read no Secrets"
    assert not machine.containers and not leftovers(run)


def test_a_machine_without_room_for_a_second_etcd_holds_no_drill(
    drills: ModuleType, run: Any, machine: Machine, config: dict[str, Any], add: Callable[..., str]
) -> None:
    add(HOUR)
    run.path("/proc/meminfo").write_text(MEMORY.replace("4000000", "400000"))
    with pytest.raises(Exception, match=r"390 MiB of memory available, and needs 3 times .* and 512 MiB"):
        drills.hold(run, config, {}, 2 * HOUR)
    assert not [each for each in machine.asked if "restore" in each] and not leftovers(run)


SCARCE = {
    "own disk": r"512 MiB free, and needs 3 times .*, and 512 MiB for the running etcd",
    "root disk": r"3072 MiB free, and needs 3 times .*, and 3072 MiB for the kubelet, which evicts pods below it",
    "memory": r"of memory available, and needs 3 times .*, and 400 MiB for the running etcd",
}
"""What a drill says without room, by what is scarce."""


@pytest.mark.parametrize(("size", "fits"), [(30, True), (31, False)])
@pytest.mark.parametrize("scarce", ["own disk", "root disk", "memory"])
def test_a_snapshot_that_is_too_large_is_not_even_read(
    drills: ModuleType,
    run: Any,
    cloud: FakeCloud,
    config: dict[str, Any],
    add: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    fits: bool,
    scarce: str,
) -> None:
    """30 bytes have room three times beside the spare 512 MiB, or beside 15 % of 20 GiB, the kubelet's threshold."""
    room, total = importlib.import_module("agent.room"), 20 << 30
    if "disk" in scarce:
        free = (512 << 20 if scarce == "own disk" else total * 15 // 100) + 90
        monkeypatch.setattr(room.shutil, "disk_usage", lambda _: SimpleNamespace(free=free, total=total))
    assert room.is_on_root_disk(run, run.path("/etc")) and not room.is_on_root_disk(run, Path("/proc"))
    if scarce == "own disk":
        monkeypatch.setattr(room, "is_on_root_disk", lambda *_: False)
    if scarce == "memory":
        monkeypatch.setattr(room, "SPARE", 400 << 20)
        monkeypatch.setattr(room, "EVICTING", 0)
        run.path("/proc/meminfo").write_text("MemAvailable: 409601 kB\n")
        size, fits = (341, True) if fits else (342, False)  # 1 KiB has room for 341 bytes three times
    key = add(HOUR, b"x" * size)
    if fits:
        assert drills.hold(run, config, {}, 2 * HOUR)["snapshot"] == key
        return
    with pytest.raises(Exception, match=SCARCE[scarce]):
        drills.hold(run, config, {}, 2 * HOUR)
    reads = [each for each in cloud.asked if each.startswith("GET /snapshots/etcd/")]
    assert len(reads) <= 2, "one byte, to compare the size with each limit"
    assert not leftovers(run)


@pytest.mark.parametrize("hangs", ["tasks delete", "containers delete", "snapshots delete"])
def test_data_are_removed_though_the_time_is_over_and_a_command_hangs(
    drills: ModuleType,
    run: Any,
    machine: Machine,
    config: dict[str, Any],
    add: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    hangs: str,
) -> None:
    add(HOUR)
    failure, given = importlib.import_module("failure").Failure, list[float]()

    def start(argv: tuple[str, ...], seconds: float, *rest: Any) -> Any:
        words = " ".join(argv)
        if "snapshot restore" in words:
            run.until = 0.0
            raise failure("command-timeout", "the time is over")
        if " delete " in words:
            given.append(seconds)
        if hangs in words:
            raise failure("command-timeout", "containerd hangs")
        return machine.start(argv, seconds, *rest)

    monkeypatch.setattr(importlib.import_module("programs"), "start", start)
    with pytest.raises(Exception, match="the time is over"):
        drills.hold(run, config, {}, 2 * HOUR)
    work = run.path("/var/lib/etcd/drill")
    assert len(given) == 3 and min(given) > 10, "each command has time of its own"
    assert leftovers(run) == [work], "the mark of a container that may be left"
    with pytest.raises(Exception, match="is not removed"):
        drills.clear_leftovers(run, config)
    run.try_for(60)
    with pytest.raises(Exception, match="is not removed"):
        drills.hold(run, config, {}, 2 * HOUR)
    monkeypatch.setattr(importlib.import_module("programs"), "start", machine.start)
    drills.clear_leftovers(run, config)
    assert not leftovers(run)


def test_a_new_agent_removes_what_a_killed_one_has_left(
    drills: ModuleType,
    run: Any,
    machine: Machine,
    config: dict[str, Any],
    add: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SIGTERM ends Python at once: no clean-up of its own runs."""
    drills.clear_leftovers(run, config)
    assert not machine.asked, "nothing is left: containerd is not asked"
    add(HOUR)

    def kill(*_: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(drills, "clear", lambda *_: None)
        patched.setattr(drills, "read", kill)
        with pytest.raises(SystemExit):
            drills.hold(run, config, {}, 2 * HOUR)
    assert machine.containers and leftovers(run)
    drills.clear_leftovers(run, config)
    assert not machine.containers and not leftovers(run)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"snapshot": "etcd/none.db"}, "there is no snapshot etcd/none.db"),
        ({"from": "copy"}, "this control plane copies no snapshots"),
        ({}, "another digest than in its name"),
    ],
)
def test_a_snapshot_that_cannot_be_taken_is_named(
    drills: ModuleType,
    run: Any,
    cloud: FakeCloud,
    config: dict[str, Any],
    add: Callable[..., str],
    values: dict[str, str],
    said: str,
) -> None:
    cloud.objects[f"/snapshots/{add(HOUR)}"] = b"changed"
    with pytest.raises(Exception, match=said):
        drills.hold(run, config, values, 2 * HOUR)
    assert not leftovers(run)


def test_the_answer_to_a_request_has_the_result(
    drills: ModuleType, run: Any, config: dict[str, Any], add: Callable[..., str], cluster: Cluster
) -> None:
    older = add(HOUR)
    add(2 * HOUR, b"newer pages")
    values = {"request": FIRST, "from": "store", "snapshot": older}
    cluster.add(REQUEST.rpartition("/")[0], "mullion-drill", data=values)
    drills.answer(run, config, cluster, 3 * HOUR)
    answer = json.loads(cluster.objects[REQUEST]["data"]["answer"])
    assert (answer["request"], answer["snapshot"], answer["keys"]) == (FIRST, older, len(SECRETS))
