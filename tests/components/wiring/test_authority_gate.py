"""Rotation of authorities on the real engine: number by number, and only when every machine has followed."""

import os
from pathlib import Path
from typing import Any

import pytest
from pulumi import automation as auto

from components.machine import pki
from components.rollout.authority_gate import Follower, fingerprint, not_followed, trusts
from tests.components.wiring.generated_lab import Lab, Run, stashes

pytestmark = [
    pytest.mark.engine,
    # After a refused run the SDK skips closing its event loop, because a task of its server raises during clean-up.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

HEAD, WORKER = "10.0.0.4", "10.0.0.8"
FOLLOWERS = (Follower("control-plane-0", HEAD, "control-plane", True), Follower("linux-0", WORKER, "workers", False))


@pytest.fixture
def lab(engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("PATH", f"{engine.path.parent}{os.pathsep}{os.environ['PATH']}")
    return Lab(tmp_path)


class Machines:
    """A control plane and a worker that report what they trust."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.cloud = lab, lab.cloud
        lab.followers = FOLLOWERS
        self.cloud.running = {HEAD: "i-head", WORKER: "i-worker"}

    def trust(self, machine: str, *certificates: str, **record: Any) -> None:
        """Write a machine's record."""
        prints = {"authorities": ",".join(map(fingerprint, certificates))} if certificates else {}
        self.cloud.records[machine] = {"state": "ready", **prints, **record}

    def refused(self, number: int, match: str) -> None:
        """Check that preview and up refuse a number, and that nothing has changed."""
        before = {name: each["id"] for name, each in stashes(self.lab.state()).items()}
        for attempt in (self.lab.preview, self.lab.up):
            with pytest.raises(auto.CommandError, match=rf"(?s)certificate_authorities: {number} is refused.*{match}"):
                attempt(certificate_authorities=number)
        after = stashes(self.lab.state())
        assert {name: after[name]["id"] for name in before} == before
        assert after["ci-authorities"]["inputs"]["input"] != number


def test_a_number_is_refused_until_every_machine_has_followed_the_one_before(lab: Lab) -> None:
    machines, old = Machines(lab), lab.up().outputs["ca_certificate"]
    machines.trust("i-head", old)
    machines.trust("i-worker")
    machines.refused(1, r"not every machine has followed 0 \(linux-0: it runs scripts from before.*mullion roll")
    machines.refused(2, "from 0 to 2 is more than one step; write 1")
    lab.cloud.running, lab.cloud.stopped = {HEAD: "i-head"}, {WORKER: "i-worker"}
    machines.refused(1, "linux-0: its instance i-worker does not run; start or replace it")
    lab.cloud.stopped = {}
    new = lab.up(certificate_authorities=1).outputs["ca_certificate"].removeprefix(old)
    lab.cloud.running = {HEAD: "i-head", WORKER: "i-worker"}
    machines.refused(2, "followed 1 .control-plane-0: it does not trust.*; linux-0: it runs")
    machines.trust("i-head", old, new)
    machines.trust("i-worker", new, old)
    assert lab.up(certificate_authorities=2).outputs["ca_certificate"] == new + old
    machines.trust("i-head", new, old, state="failed")
    machines.refused(3, "control-plane-0: it reports failed")
    assert lab.up(certificate_authorities=1).outputs["ca_certificate"] == old + new, "a failed machine may go back"
    machines.trust("i-head", old, new)
    lab.up(certificate_authorities=2)
    machines.trust("i-head", new, old)
    machines.trust("i-worker", new, old, kubelet_signers="kubernetes-1,kubernetes")
    machines.refused(
        3, "followed 2 .linux-0: its kubelet still has a certificate of the old authority; .* within a day"
    )
    machines.trust("i-worker", new, old, kubelet_signers="kubernetes-1,kubernetes-1")
    assert lab.up(certificate_authorities=3).outputs["ca_certificate"] == new
    machines.refused(2, "3 has no way back: write 3, or go on to 4")


GENERATIONS = {0: "a", 1: "b"}
BOTH, OLD_KUBELET = {"authorities": "b,a"}, {"authorities": "b,a", "kubelet_signers": "kubernetes,kubernetes"}
RECORDS: list[tuple[str, dict[str, str], tuple[int, int], bool, str]] = [
    ("a worker of number 0", {"authorities": "a"}, (0, 1), False, ""),
    ("a worker trusts both", {"authorities": "a,b"}, (1, 2), False, ""),
    ("a worker in the order of number 1", {"authorities": "a,b"}, (2, 3), False, ""),
    ("a worker without the successor", {"authorities": "a"}, (1, 2), False, "does not trust"),
    ("a worker with another authority", {"authorities": "a,c"}, (1, 2), False, "does not trust"),
    ("a worker that never joined", {"authorities": ""}, (0, 1), False, "does not trust"),
    ("a worker from before", {}, (0, 1), False, "replace it"),
    ("a control plane from before", {}, (0, 1), True, "has not reported"),
    ("a control plane that signs by the old one", {"authorities": "a,b"}, (2, 3), True, "does not trust"),
    ("a control plane that signs by the new one", BOTH, (2, 3), True, ""),
    ("a control plane whose run failed", {**BOTH, "state": "failed"}, (2, 3), True, "reports failed"),
    ("a worker whose run failed", {**BOTH, "state": "failed"}, (2, 3), False, ""),
    ("no record", {"state": "absent", "message": "none"}, (0, 1), False, "no status record"),
    ("a way back, not begun", BOTH, (2, 1), True, ""),
    ("a way back, done", {"authorities": "a,b"}, (2, 1), True, ""),
    ("a way back from a failed run", {**BOTH, "state": "failed"}, (2, 1), True, ""),
    ("a way back with another authority", {"authorities": "a"}, (2, 1), True, "does not trust"),
    ("a worker with an old client certificate", {**BOTH, "kubelet_signers": "kubernetes,"}, (2, 3), False, "old"),
    ("a worker with an old serving certificate", {**BOTH, "kubelet_signers": ",kubernetes"}, (2, 3), False, "old"),
    ("a worker with new ones", {**BOTH, "kubelet_signers": "kubernetes-1,kubernetes-1"}, (2, 3), False, ""),
    ("old ones as the successor begins to sign", {**OLD_KUBELET, "authorities": "a,b"}, (1, 2), False, ""),
    ("old ones on the way back", OLD_KUBELET, (2, 1), False, ""),
    ("the founder's client certificate", {**BOTH, "kubelet_signers": "kubernetes,kubernetes-1"}, (2, 3), True, ""),
    ("a control plane's serving certificate", OLD_KUBELET, (2, 3), True, "old"),
]


@pytest.mark.parametrize(
    ("record", "numbers", "head", "why"), [each[1:] for each in RECORDS], ids=[e[0] for e in RECORDS]
)
def test_a_status_record_says_whether_a_machine_follows(
    record: dict[str, str], numbers: tuple[int, int], head: bool, why: str
) -> None:
    found = not_followed({"state": "ready", **record}, *numbers, GENERATIONS, control_plane=head)
    assert why in found
    assert bool(found) == bool(why)


def test_a_generation_whose_certificate_is_unknown_is_any_but_the_known_ones() -> None:
    for found, same in ((["a", "x"], True), (["a", "a"], False), (["x", "a"], False), (["a"], False)):
        assert trusts(found, 1, {0: "a"}, ordered=True) == same


def test_authorities_are_rotated_number_by_number_with_a_way_back_from_the_second(lab: Lab) -> None:
    settled, by_number = {"service_account": 2, "encryption": 1}, dict[int, Run]()
    first = by_number[0] = lab.up(**settled)
    for number in (1, 2, 1, 2, 3):
        run = lab.up(**settled, certificate_authorities=number)
        if number in by_number:
            same = {name: value for name, value in run.outputs.items() if name not in ("administrator", "kubeconfig")}
            assert same.items() <= by_number[number].outputs.items()
        by_number[number] = run
        assert len(run.outputs["control_plane_secret"]) < 25_600, "the limit is 25 KiB in Key Vault"
    old = first.files["ca.crt"]
    new = by_number[3].outputs["ca_certificate"]
    bundles = [by_number[number].outputs["ca_certificate"] for number in range(4)]
    assert bundles == [old, old + new, new + old, new], "the signing authority is first"
    assert [by_number[number].outputs["ca_hash"] for number in range(4)] == [pki.ca_hash(old)] * 3 + [pki.ca_hash(new)]
    for number, run in by_number.items():
        signer = new if number > 1 else old
        pki.verify(run.outputs["administrator"]["certificate"], signer)
        files = run.files
        for beside in {max(number - 1, 0), number}:
            prefix = f"{beside}/" if beside else ""
            assert files[f"{prefix}ca.crt"] == bundles[beside], "a machine may run the plan of the number before"
            assert files[f"{prefix}ca.key"] == by_number[beside].files[f"{prefix}ca.key"]
        if number > 1:
            pki.verify(files[f"{number}/cross.crt"], old)
            assert pki.ca_hash(files[f"{number}/cross.crt"]) == pki.ca_hash(new)
