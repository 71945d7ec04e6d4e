"""etcd keeps space for writes: which member is defragmented, and when the alarm ends."""

import json
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

MIB = 1 << 20
QUOTA = 1000 * MIB
Rounds = Callable[..., list[Any]]


class Etcd:
    """Three members as etcdctl shows them to one machine. calls: commands that change something."""

    def __init__(self, **sizes: tuple[int, int]) -> None:
        """sizes: MiB of the file and in use, by the member's letter; c leads."""
        self.sizes, self.calls = dict(sizes), list[str]()
        self.alarms, self.led = list[int](), True
        self.silent, self.slow, self.copying = set[str](), False, False
        self.quota, self.minutes = QUOTA, 0.0
        self.uncounted = dict.fromkeys(sizes, 0)
        """MiB that a member counts as used and a defragmentation frees, by its letter."""

    def ask(self, me: str) -> Callable[..., Any]:
        """Return etcdctl on one machine."""

        def etcdctl(run: Any, config: Any, *words: str, check: bool = True) -> Any:
            line = " ".join(words[1:])
            if line.startswith("endpoint status"):
                shown = [self.shown(name) for name in self.sizes if name not in self.silent]
                return ended(json.dumps(shown), 1 if self.silent else 0)
            if line.startswith("alarm list"):
                return ended(json.dumps({"alarms": [{"memberID": 1, "alarm": each} for each in self.alarms]}))
            self.calls.append(f"{me} {line}")
            if line == "defrag" and self.slow:
                raise RuntimeError("the liveness probe has killed etcd")
            if line == "defrag":
                left = self.sizes[me][1] - self.uncounted[me]
                self.sizes[me] = (left, left)
            if line == "alarm disarm":
                self.alarms.clear()
            return ended("")

        return etcdctl

    def shown(self, name: str) -> dict[str, Any]:
        """Return a member as `endpoint status` shows it."""
        size, used = (each * MIB for each in self.sizes[name])
        status: dict[str, Any] = {"header": {"member_id": ord(name), "revision": 77}}
        status |= {"leader": ord("c")} if self.led else {}  # etcdctl leaves out fields that are 0
        return {"Endpoint": f"https://{name}:2379", "Status": {**status, "dbSize": size, "dbSizeInUse": used}}


def ended(text: str, code: int = 0) -> Any:
    """Return an ended program."""
    return type("Ended", (), {"stdout": text, "returncode": code})()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Return the free MiB of the disk, which a test may change."""
    free = {"MiB": 100_000}
    monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(f_bavail=free["MiB"], f_frsize=MIB))
    return free


@pytest.fixture
def rounds(
    module: Callable[[str], ModuleType], run: Any, disk: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> Rounds:
    """Return a function that runs rounds of all agents whose etcd answers, one a minute, and returns what each said."""
    agents: dict[str, Any] = {}

    def looks(etcd: Etcd, minutes: int = 6) -> list[Any]:
        said: dict[str, Any] = {}
        for _ in range(minutes):
            etcd.minutes += 1
            for name in (name for name in etcd.sizes if name not in etcd.silent):
                agent = agents.setdefault(name, module("space").Space())
                agent.clock = lambda: etcd.minutes * 60
                run.told["machine"]["address"] = name
                monkeypatch.setattr(module("space"), "etcdctl", etcd.ask(name))
                config = {"etcd": {"quota": etcd.quota}, "snapshots": {"file": "/var/lib/etcd/new"}}
                try:
                    said[name] = agent.reconcile(run, config, copying=etcd.copying)
                except RuntimeError as error:
                    said[name] = str(error)
        return list(said.values())

    return looks


def test_wasteful_members_are_defragmented_once_one_after_the_other_the_leader_last(
    rounds: Rounds,
) -> None:
    etcd = Etcd(c=(400, 150), a=(300, 150), b=(400, 150))
    assert rounds(etcd) == [{"percent": 15}] * 3
    assert etcd.calls == ["b defrag", "c defrag"], "half of a's file is in use"


@pytest.mark.parametrize(
    ("size", "used", "alone"), [(99, 1, False), (300, 160, False), (490, 40, True)], ids=["small", "used", "alone"]
)
def test_a_member_is_not_stopped_for_little_gain(rounds: Rounds, size: int, used: int, alone: bool) -> None:
    etcd = Etcd(c=(size, used)) if alone else Etcd(c=(size, used), a=(size, used))
    rounds(etcd)
    assert etcd.calls == []


def test_nothing_but_a_full_etcd_is_defragmented_while_kubeadm_may_copy_its_folder(rounds: Rounds) -> None:
    """Etcd renames a file in the folder then, and kubeadm's `cp` fails at a file that vanishes."""
    etcd = Etcd(c=(400, 150))
    etcd.copying = True
    rounds(etcd)
    assert etcd.calls == []
    etcd.sizes["c"], etcd.alarms = (1000, 300), [1]
    rounds(etcd)
    assert "c defrag" in etcd.calls


def test_nobody_defragments_while_another_member_does_not_answer(rounds: Rounds) -> None:
    etcd = Etcd(c=(400, 1), a=(400, 1))
    etcd.silent = {"a"}
    rounds(etcd)
    assert etcd.calls == []


def test_a_file_near_the_quota_is_defragmented_for_less_gain(rounds: Rounds) -> None:
    etcd = Etcd(c=(850, 700))
    assert rounds(etcd) == [{"percent": 70}]
    assert etcd.calls == ["c defrag"]


def test_etcd_without_space_is_compacted_and_defragmented_before_the_alarm_ends(
    rounds: Rounds,
) -> None:
    etcd = Etcd(c=(1000, 300), a=(1000, 300))
    etcd.alarms = [1]
    assert rounds(etcd) == [{"percent": 30}] * 2
    assert etcd.calls[0] == "c compaction --physical 77"
    assert [each for each in etcd.calls if "compaction" not in each] == ["a defrag", "c defrag", "c alarm disarm"]


def test_members_that_count_freed_pages_as_used_are_defragmented_in_turn_under_the_alarm(rounds: Rounds) -> None:
    """etcd counts them so until a write, and the alarm refuses writes."""
    etcd = Etcd(c=(1000, 1000), a=(1000, 1000))
    etcd.alarms = [1]
    etcd.uncounted = {"c": 700, "a": 700}
    assert rounds(etcd) == [{"percent": 30}] * 2
    assert [each for each in etcd.calls if "compaction" not in each] == ["a defrag", "c defrag", "c alarm disarm"]


def test_an_etcd_full_of_objects_keeps_its_alarm_and_says_what_to_do(rounds: Rounds) -> None:
    etcd = Etcd(c=(1000, 990))
    etcd.alarms = [1]
    (said,) = rounds(etcd)
    assert said.startswith("etcd uses 99 % of its quota of 1000 MiB and refuses writes (alarm NOSPACE): 1. delete")
    assert not [each for each in etcd.calls if "disarm" in each]


def test_without_space_a_member_that_may_be_defragmenting_holds_up_the_others(rounds: Rounds) -> None:
    """A dead one must not keep etcd full, so its silence counts for longer than a defragmentation takes."""
    etcd = Etcd(c=(1000, 300), a=(1000, 300), b=(1000, 300))
    etcd.alarms, etcd.silent = [1], {"a"}
    rounds(etcd, 5)
    assert "b defrag" not in etcd.calls
    etcd.silent = {"b"}
    rounds(etcd, 5)
    assert "a defrag" not in etcd.calls, "another member is silent since"
    rounds(etcd, 3)
    assert [each for each in etcd.calls if "defrag" in each] == ["a defrag", "c defrag"]


def test_nobody_defragments_while_etcd_has_no_leader(rounds: Rounds) -> None:
    etcd = Etcd(c=(400, 1), a=(400, 1))
    etcd.led = False
    rounds(etcd)
    assert etcd.calls == []


def test_a_defragmentation_that_fails_is_tried_again_after_an_hour(rounds: Rounds) -> None:
    """The kubelet kills an etcd that defragments for two minutes: without the pause it would never run for longer."""
    etcd = Etcd(c=(1000, 300))
    etcd.alarms, etcd.slow = [1], True
    (said,) = rounds(etcd, 59)
    assert "the last defragmentation failed" in said
    assert etcd.calls.count("c defrag") == 1
    rounds(etcd, 2)
    assert etcd.calls.count("c defrag") == 2


def test_a_member_is_not_defragmented_without_space_on_its_disk_for_a_second_file(
    rounds: Rounds, disk: dict[str, int]
) -> None:
    etcd = Etcd(c=(600, 100))
    disk["MiB"] = 120 + 1024
    assert rounds(etcd) == ["a defragmentation needs 1144 MiB in /var/lib/etcd, and 1144 MiB are free"]
    disk["MiB"] += 1
    rounds(etcd)
    assert etcd.calls == ["c defrag"]


def test_a_member_with_space_is_defragmented_once_an_hour_at_most(rounds: Rounds) -> None:
    etcd = Etcd(c=(700, 100))
    for _ in range(5):
        rounds(etcd)
        etcd.sizes["c"] = (700, 100)
    assert etcd.calls == ["c defrag"]
    rounds(etcd, 60)
    assert etcd.calls == ["c defrag"] * 2


def test_a_machine_whose_etcd_starts_reports_no_error(
    module: Callable[[str], ModuleType], run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = module("space")

    def etcdctl(*_: Any, **__: Any) -> Any:
        raise space.Failure("command-failed", "no container of etcd runs on this machine")

    monkeypatch.setattr(space, "etcdctl", etcdctl)
    assert space.Space().reconcile(run, {"etcd": {"quota": QUOTA}}) == {}


def test_another_alarm_is_reported_and_never_disarmed(rounds: Rounds) -> None:
    """`etcdctl alarm disarm` ends all alarms, and a corrupt member would serve wrong objects."""
    etcd = Etcd(c=(400, 1))
    etcd.alarms = [1, 2]
    (said,) = rounds(etcd)
    assert said.startswith("etcd has the alarm CORRUPT")
    assert etcd.calls == []


def test_the_alarm_ends_as_soon_as_writes_fit_and_the_error_stays(rounds: Rounds) -> None:
    """Whoever wants to raise the quota has to write."""
    etcd = Etcd(c=(940, 930))
    etcd.alarms = [1]
    assert rounds(etcd) == ["etcd uses 93 % of its quota of 1000 MiB: delete objects, or raise quota-backend-bytes"]
    assert etcd.calls[-1] == "c alarm disarm"


def test_an_etcd_without_a_quota_is_never_near_it(rounds: Rounds) -> None:
    etcd = Etcd(c=(3000, 2500), a=(3000, 2500))
    etcd.quota = 0
    assert rounds(etcd) == [{"percent": 0}] * 2
    assert etcd.calls == []
