"""etcd keeps space for writes: which member is defragmented, and when the alarm ends."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

MIB = 1 << 20
QUOTA = 1000 * MIB


class Etcd:
    """Three members as etcdctl shows them to one machine. calls: commands that change something."""

    def __init__(self, **sizes: tuple[int, int]) -> None:
        """sizes: MiB of the file and in use, by the member's letter; c leads."""
        self.sizes, self.calls = dict(sizes), list[str]()
        self.full, self.answers = False, True

    def ask(self, me: str) -> Callable[..., Any]:
        """Return etcdctl on one machine."""

        def etcdctl(run: Any, told: Any, *words: str, check: bool = True) -> Any:
            line = " ".join(words[1:])
            if line.startswith("endpoint status"):
                return ended(json.dumps([self.shown(name) for name in self.sizes]), 0 if self.answers else 1)
            if line.startswith("alarm list"):
                return ended(json.dumps({"alarms": [{"memberID": 1, "alarm": 1}] * self.full}))
            self.calls.append(f"{me} {line}")
            if line == "defrag":
                self.sizes[me] = (self.sizes[me][1], self.sizes[me][1])
            if line == "alarm disarm":
                self.full = False
            return ended("")

        return etcdctl

    def shown(self, name: str) -> dict[str, Any]:
        """Return a member as `endpoint status` shows it."""
        size, used = (each * MIB for each in self.sizes[name])
        status = {"header": {"member_id": ord(name), "revision": 77}, "leader": ord("c")}
        return {"Endpoint": f"https://{name}:2379", "Status": {**status, "dbSize": size, "dbSizeInUse": used}}


def ended(text: str, code: int = 0) -> Any:
    """Return an ended program."""
    return type("Ended", (), {"stdout": text, "returncode": code})()


@pytest.fixture
def rounds(
    module: Callable[[str], ModuleType], run: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Etcd], list[Any]]:
    """Return a function that runs six rounds of all agents and returns what each said last."""

    def looks(etcd: Etcd) -> list[Any]:
        said: dict[str, Any] = {}
        for _ in range(6):
            for name in etcd.sizes:
                run.told["machine"]["address"] = name
                monkeypatch.setattr(module("space"), "etcdctl", etcd.ask(name))
                try:
                    said[name] = module("space").reconcile(run, {"etcd": {"quota": QUOTA}})
                except RuntimeError as error:
                    said[name] = str(error)
        return list(said.values())

    return looks


def test_wasteful_members_are_defragmented_once_one_after_the_other_the_leader_last(
    rounds: Callable[[Etcd], list[Any]],
) -> None:
    etcd = Etcd(c=(400, 150), a=(300, 150), b=(400, 150))
    assert rounds(etcd) == [{"percent": 15}] * 3
    assert etcd.calls == ["b defrag", "c defrag"], "half of a's file is in use"


@pytest.mark.parametrize(
    ("size", "used", "alone"), [(99, 1, False), (300, 160, False), (490, 40, True)], ids=["small", "used", "alone"]
)
def test_a_member_is_not_stopped_for_little_gain(
    rounds: Callable[[Etcd], list[Any]], size: int, used: int, alone: bool
) -> None:
    etcd = Etcd(c=(size, used)) if alone else Etcd(c=(size, used), a=(size, used))
    rounds(etcd)
    assert etcd.calls == []


def test_nobody_defragments_while_another_member_does_not_answer(rounds: Callable[[Etcd], list[Any]]) -> None:
    etcd = Etcd(c=(400, 1), a=(400, 1))
    etcd.answers = False
    rounds(etcd)
    assert etcd.calls == []


def test_a_file_near_the_quota_is_defragmented_for_less_gain(rounds: Callable[[Etcd], list[Any]]) -> None:
    etcd = Etcd(c=(850, 700))
    assert rounds(etcd) == [{"percent": 70}]
    assert etcd.calls == ["c defrag"]


def test_etcd_without_space_is_compacted_and_defragmented_before_the_alarm_ends(
    rounds: Callable[[Etcd], list[Any]],
) -> None:
    etcd = Etcd(c=(1000, 300), a=(1000, 300))
    etcd.full = True
    assert rounds(etcd) == [{"percent": 30}] * 2
    assert etcd.calls[0] == "c compaction --physical 77"
    assert [each for each in etcd.calls if "compaction" not in each] == ["a defrag", "c defrag", "c alarm disarm"]


def test_an_etcd_full_of_objects_keeps_its_alarm_and_says_what_to_do(rounds: Callable[[Etcd], list[Any]]) -> None:
    etcd = Etcd(c=(1000, 990))
    etcd.full = True
    (said,) = rounds(etcd)
    assert said.startswith("etcd uses 99 % of its quota of 1000 MiB and refuses writes (alarm NOSPACE): delete objects")
    assert not [each for each in etcd.calls if "disarm" in each]
