"""Key rotation: no machine encrypts with a new key before all can read it; then every object is rewritten."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from components.node import api_server, kubeadm
from tests.agent.cluster import Cluster
from tests.agent.machines import CONFIG, ControlPlanes, Machine
from tests.cloud_init.cloud import FakeCloud

MEMORY = "/api/v1/namespaces/kube-system/configmaps/mullion-agent"
SECRETS = "/api/v1/namespaces/default/secrets"
PODS = ("kube-apiserver", "kube-controller-manager")
FIRST, SECOND, THIRD = "Zmlyc3Q=", "c2Vjb25k", "dGhpcmQ="

CASES: dict[str, tuple[int, tuple[int, int], bool, list[tuple[int, int]], int | None]] = {
    "one machine as it shall be": (1, (1, 1), True, [], None),
    "one machine writes with a new key at once": (2, (1, 1), True, [], 2),
    "one machine that was cut off after it wrote its file": (2, (2, 2), False, [], 2),
    "the first of three learns the key, and writes with the old one": (2, (1, 1), True, [(1, 1), (1, 1)], 1),
    "it has learned it, and waits for the others": (2, (2, 1), True, [(1, 1), (2, 1)], None),
    "its file has the key, and its API server began before": (2, (2, 1), False, [(1, 1), (2, 1)], 1),
    "the last to learn it writes with it": (2, (1, 1), True, [(2, 1), (2, 1)], 2),
    "all have learned it": (2, (2, 1), True, [(2, 1), (2, 2)], 2),
    "all is done": (2, (2, 2), True, [(2, 2), (2, 2)], None),
    "one who has not said anything reads nothing": (2, (2, 1), True, [(2, 1), (0, 0)], None),
    "two keys at once": (3, (1, 1), True, [(1, 1), (1, 1)], 1),
    "a new machine, which nobody has to wait for": (2, (2, 1), True, [(2, 2), (2, 2)], 2),
}


@pytest.mark.parametrize(("newest", "own", "loaded", "others", "wanted"), CASES.values(), ids=CASES)
def test_a_machine_decides_which_key_to_use(
    module: Callable[[str], ModuleType],
    newest: int,
    own: tuple[int, int],
    loaded: bool,
    others: list[tuple[int, int]],
    wanted: int | None,
) -> None:
    keys = module("keys")
    held = keys.Held(newest, keys.Keys(*own), loaded)
    assert keys.decide(held, [keys.Keys(*each) for each in others]) == wanted


def effects(count: int) -> list[Any]:
    """Return numbers of effects after which the power is lost; a sample in most runs."""
    return [each if each % 5 == 2 else pytest.param(each, marks=pytest.mark.soak) for each in range(1, count + 1)]


def serving(planes: ControlPlanes) -> list[Machine]:
    """Return the machines whose API server runs."""
    return [each for each in planes.machines.values() if each.reads]


@pytest.fixture
def planes(control_planes: ControlPlanes, monkeypatch: pytest.MonkeyPatch) -> ControlPlanes:
    """Return three control planes with one key; at every effect, each must be able to read what the others write."""
    control_planes.add_key(FIRST)
    control_planes.add_signer(1)
    for machine in control_planes.machines.values():
        machine.file(api_server.ENCRYPTION).write_text(json.dumps({"name": "key1", "secret": FIRST}))
        for place, what in ((kubeadm.SIGNING_KEY, "private 1\n"), (kubeadm.VERIFYING_KEYS, "public 1\n")):
            machine.file(place).write_text(what)
        for component in PODS:
            machine.serve(component)
    did = control_planes.did

    def watched(what: str) -> None:
        for one in serving(control_planes):
            assert all(one.reads[0] in other.reads for other in serving(control_planes)), (
                "somebody cannot read what it writes"
            )
            tokens = {each.replace("private", "public") for each in one.signs.values()}
            assert all(each in other.takes for each in tokens for other in serving(control_planes)), (
                "a token of its is refused"
            )
        did(what)

    monkeypatch.setattr(control_planes, "did", watched)
    control_planes.rounds(2)
    assert control_planes.log == []
    return control_planes


def test_all_machines_read_a_new_key_before_any_encrypts_with_it(planes: ControlPlanes) -> None:
    """SEC: one machine at a time, each after a snapshot; the last one to learn the key uses it at once."""
    planes.add_key(SECOND)
    planes.rounds(40)
    assert [line for line in planes.log if "serves" in line] == [
        "control-plane-0 serves with [1, 2]",
        "control-plane-1 serves with [1, 2]",
        "control-plane-2 serves with [2, 1]",
        "control-plane-0 serves with [2, 1]",
        "control-plane-1 serves with [2, 1]",
    ]
    assert planes.cluster.objects[MEMORY]["data"] == {
        "applied": "first",
        "pointer": "1",
        "turn": "",
        **{f"key.{name}": "2 2" for name in planes.machines},
        **{f"signer.{name}": "1 1" for name in planes.machines},
    }
    assert len([line for line in planes.log if "snapshot" in line]) == 5
    planes.add_key(THIRD)
    planes.rounds(40)
    assert [each.reads for each in serving(planes)] == [[3, 2, 1]] * 3, "older keys stay: snapshots need them"


@pytest.mark.parametrize("effect", effects(15))
def test_a_rotation_continues_after_a_power_loss_and_all_machines_stay_able_to_read(
    planes: ControlPlanes, effect: int
) -> None:
    planes.add_key(SECOND)
    planes.cut_at = effect
    planes.rounds(60)
    assert planes.cut_at == -1, "it was cut"
    assert [each.reads for each in serving(planes)] == [[2, 1]] * 3, planes.log


def test_all_machines_accept_a_new_signing_key_before_any_signs_with_it(planes: ControlPlanes) -> None:
    """SEC: tokens of the previous key stay valid until the next rotation."""
    planes.add_signer(2)
    planes.rounds(40)
    for each in planes.machines.values():
        assert each.signs == dict.fromkeys(PODS, "private 2\n")
        assert each.takes == "public 2\npublic 1\n"
    assert {planes.cluster.objects[MEMORY]["data"][f"signer.{name}"] for name in planes.machines} == {"2 2"}
    assert len([line for line in planes.log if "snapshot" in line]) == 5, "the last to learn it need not wait"
    planes.add_signer(3)
    planes.rounds(40)
    assert {each.takes for each in planes.machines.values()} == {"public 3\npublic 2\n"}, "the first is gone"


def test_both_kinds_of_keys_are_rotated_at_once(planes: ControlPlanes) -> None:
    planes.add_key(SECOND)
    planes.add_signer(2)
    planes.rounds(40)
    assert [(each.reads, each.signs[PODS[0]]) for each in serving(planes)] == [([2, 1], "private 2\n")] * 3
    assert len([line for line in planes.log if "serves" in line]) == 5, "with the same starts"


@pytest.mark.parametrize("effect", effects(20))
def test_a_power_loss_while_signing_keys_rotate_invalidates_no_token(planes: ControlPlanes, effect: int) -> None:
    planes.add_signer(2)
    planes.cut_at = effect
    planes.rounds(60)
    assert planes.cut_at == -1, "it was cut"
    assert {each.signs[pod] for each in serving(planes) for pod in PODS} == {"private 2\n"}, planes.log


def test_the_executor_adds_a_key_behind_the_one_in_use(
    module: Callable[[str], ModuleType], run: Any, cloud: FakeCloud
) -> None:
    from kinds import keys as key_files  # type: ignore[import-not-found]

    module("keys")
    step = {"secret": "pki", "member": "keys", "path": "/etc/e.json", "resources": ["secrets"]}
    (run.root / "etc").mkdir(parents=True, exist_ok=True)
    for keys, first, order in (
        ([FIRST], 0, [1]),
        ([SECOND, FIRST], 0, [1, 2]),
        ([SECOND, FIRST], 2, [2, 1]),
        ([THIRD, SECOND, FIRST], 0, [2, 3, 1]),
    ):
        cloud.secrets["pki"] = json.dumps({"keys": keys})
        run.stored.clear()
        content = key_files.encryption(run, step, first)
        run.path(step["path"]).write_bytes(content)
        assert key_files.numbers(run.path(step["path"])) == order
        assert [each in content.decode() for each in (FIRST, SECOND, THIRD)] == [n < len(keys) for n in range(3)]


def test_every_object_is_rewritten_once_when_all_machines_encrypt_with_the_new_key(
    module: Callable[[str], ModuleType], cluster: Cluster
) -> None:
    rewrite, names = module("keys").rewrite, ["a", "b"]
    for name in ("one", "two"):
        cluster.add(SECRETS, name, metadata={"namespace": "default"}, data={"x": "eA=="})
    cluster.add("/api/v1/namespaces/kube-system/configmaps", "mullion-agent", data={"key.a": "2 2", "key.b": "2 1"})
    rewrite(cluster, CONFIG, names)
    assert cluster.asked == [], "one writes with the old key still"
    cluster.objects[MEMORY]["data"]["key.b"] = "2 2"
    rewrite(cluster, CONFIG, names)
    assert cluster.asked == [f"PUT {SECRETS}/one", f"PUT {SECRETS}/two", f"PUT {MEMORY}"]
    assert cluster.objects[MEMORY]["data"]["rewritten"] == "2"
    cluster.asked.clear()
    rewrite(cluster, CONFIG, names)
    assert cluster.asked == [], "once"
