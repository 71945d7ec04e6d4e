"""Faults on the machine of an agent whose metrics a Prometheus reads: one for each alert of examples/monitoring."""

import importlib
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from components.node.agent import CONFIG
from tests.agent.cluster import KEY, Cluster
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.linux import Programs

OTHERS = """
windows_service_state{{name="kubelet",state="running"}} {running}
windows_logical_disk_free_bytes{{volume="C:"}} {free}
windows_logical_disk_size_bytes{{volume="C:"}} 100
kube_node_role{{node="control-plane-0",role="control-plane"}} 1
{missing}
"""
SECONDS = 60
Mend = Callable[[], None]


class Watched:
    """An agent's machine, whose metrics a Prometheus reads every second."""

    def __init__(self, agent: Any, cluster: Cluster, cloud: FakeCloud, programs: Programs, prometheus: str) -> None:
        self.agent, self.cluster, self.cloud, self.programs = agent, cluster, cloud, programs
        self.prometheus = prometheus
        self.root: Path = agent.root
        self.metrics = self.root / "run/mullion/metrics"

    def round(self) -> None:
        """Run all concerns once."""
        self.agent.next.clear()
        self.agent.round()

    def after(self, mend: Callable[[], object]) -> Callable[[], None]:
        """Return a function that mends something and then runs a round."""

        def mended() -> None:
            mend()
            self.round()

        return mended

    def ran(self, code: int) -> None:
        """Have the executor report a run with this code."""
        state = "failed" if code else "done"
        result = {"bundle": "current", "state": state, "code": code, "seconds": 9}
        importlib.import_module("report").write_result(self.root, result)

    def others(self, running: int = 1, free: int = 50, missing: str = "") -> None:
        """Write what windows_exporter and kube-state-metrics would tell."""
        (self.metrics / "others.prom").write_text(OTHERS.format(running=running, free=free, missing=missing))

    def ask(self, path: str, **query: str) -> Any:
        """Return Prometheus' answer to a request of its API. Raises httpx.HTTPError."""
        answer = httpx.get(f"{self.prometheus}/api/v1/{path}", params=query, timeout=10)
        return answer.raise_for_status().json()["data"]

    def firing(self) -> dict[str, dict[str, str]]:
        """Return the annotations of the firing alerts, by name."""
        alerts = self.ask("alerts")["alerts"]
        return {each["labels"]["alertname"]: each["annotations"] for each in alerts if each["state"] == "firing"}

    def until(self, what: Callable[[], Any], doing: str) -> Any:
        """Return the first true result."""
        end = time.monotonic() + SECONDS
        while not (found := what()):
            assert time.monotonic() < end, f"{doing}: not within {SECONDS} s; firing: {self.firing()}"
            threading.Event().wait(0.3)  # the fixture `run` replaces time.sleep
        return found


Fault = Callable[[Watched], Mend]
"""Makes a fault and returns what mends it."""


def _no_pointer(machine: Watched) -> Mend:
    kept = machine.cloud.objects.pop("/bundles/desired-state.json")
    machine.round()
    return machine.after(lambda: machine.cloud.objects.update({"/bundles/desired-state.json": kept}))


def _old_snapshot(machine: Watched) -> Mend:
    """Leave one snapshot of three hours ago; no newer one is taken."""
    names = importlib.import_module("snapshot_names")
    stored = [key for key in machine.cloud.objects if key.startswith("/snapshots/etcd/")]
    content = machine.cloud.objects[stored[0]]
    for key in stored:
        del machine.cloud.objects[key]
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - 3 * 3600))
    machine.cloud.objects[f"/snapshots/{names.name(KEY, stamp, 'timer', 'a' * 64)}"] = content
    return _untaken(machine)


def _no_snapshot(machine: Watched) -> Mend:
    for key in [key for key in machine.cloud.objects if key.startswith("/snapshots/etcd/")]:
        del machine.cloud.objects[key]
    return _untaken(machine)


def _untaken(machine: Watched) -> Mend:
    """Have the agent take no snapshot."""
    snapshots: Any = importlib.import_module("agent.snapshots")
    make, snapshots.make = snapshots.make, lambda *_: None
    machine.round()
    return machine.after(lambda: setattr(snapshots, "make", make))


def _old_copy(machine: Watched) -> Mend:
    """Have the bucket no copy that is younger than four hours."""
    copies: Any = machine.agent.copies
    names, kept = importlib.import_module("snapshot_names"), copies.reconcile

    def newest(hours: int) -> None:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - hours * 3600))
        said = {"count": 1, "newest": names.name(KEY, stamp, "timer", "a" * 64)}
        copies.reconcile = lambda *given: given[-1].update(copies=said)
        machine.round()
        copies.reconcile = kept

    newest(4)
    return lambda: newest(0)


def _foreign_object(machine: Watched) -> Mend:
    key = "/snapshots/etcd/20260101T000000Z-timer.planted.db"
    machine.cloud.objects[key] = b"planted"
    machine.round()
    return machine.after(lambda: machine.cloud.objects.pop(key))


def _no_lease(machine: Watched) -> Mend:
    lease = machine.agent.lease
    held, lease.hold = lease.hold, lambda api: False
    machine.round()
    return machine.after(lambda: setattr(lease, "hold", held))


def _failed_run(machine: Watched) -> Mend:
    machine.ran(401)
    return lambda: machine.ran(0)


def _aged(file: Path, days: float) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    moment = time.time() - days * 86400
    os.utime(file, (moment, moment))


def _following(machine: Watched, said: str) -> Callable[[], None]:
    """Have the agent wait with a reason, or do nothing; return what ends that."""
    following = machine.agent.following
    step, following.step = following.step, lambda *_: said
    return lambda: setattr(following, "step", step)


def _stopped_turn(machine: Watched) -> Mend:
    turn = machine.root / importlib.import_module("agent.configuration").TURN.lstrip("/")
    go_on = _following(machine, "the executor fails")
    _aged(turn, 0.1)
    machine.round()
    return machine.after(lambda: (turn.unlink(), go_on()))


def _waiting_change(machine: Watched) -> Mend:
    go_on = _following(machine, "another machine has the turn")
    machine.round()
    return machine.after(go_on)


def _no_restart(machine: Watched) -> Mend:
    required = machine.root / importlib.import_module("agent.reboots").REQUIRED.lstrip("/")
    _aged(required, 20)
    machine.round()
    return machine.after(required.unlink)


def _ending(days: int) -> Fault:
    """Return the fault of certificates that end in so many days, and are not renewed."""

    def fault(machine: Watched) -> Mend:
        kept, end = machine.programs.answers["openssl"], time.gmtime(time.time() + days * 86400)
        dates = f"notBefore=Jan  1 00:00:00 2026 GMT\nnotAfter={time.strftime('%b %d %H:%M:%S %Y GMT', end)}\n"
        machine.programs.answers["openssl"] = (0, dates)
        go_on = _following(machine, "")
        machine.round()
        return machine.after(lambda: (machine.programs.answers.update(openssl=kept), go_on()))

    return fault


def _full_etcd(machine: Watched) -> Mend:
    """Have the only member say that it uses nine tenths of its quota."""
    space: Any = importlib.import_module("agent.space")
    config, quota = machine.agent.root / CONFIG.lstrip("/"), 1 << 30
    document = json.loads(config.read_text())
    config.write_text(json.dumps({**document, "etcd": {**document["etcd"], "quota": quota}}))
    real = space.members

    def using(share: float) -> None:
        size = int(quota * share)
        space.members = lambda *_: ([space.Member(1, "10.20.64.10", size, size, True)], 1, True)
        machine.round()
        space.members = real

    using(0.9)
    return lambda: using(0.1)


def _no_agent(machine: Watched) -> Mend:
    """Have the cluster a second control plane, whose agent tells nothing."""
    machine.others(missing='kube_node_role{node="control-plane-1",role="control-plane"} 1')
    return machine.others


def _hung_agent(machine: Watched) -> Mend:
    _aged(machine.metrics / "agent.prom", 0.1)
    return machine.round


def _no_metrics(machine: Watched) -> Mend:
    (machine.metrics / "agent.prom").unlink()
    return machine.round


def _stopped_kubelet(machine: Watched) -> Mend:
    machine.others(running=0)
    return machine.others


def _full_disk(machine: Watched) -> Mend:
    machine.others(free=14)
    return machine.others


FAULTS: dict[str, Fault] = {
    "MullionMetricsMissing": _no_metrics,
    "MullionAgentMissing": _no_agent,
    "MullionAgentStopped": _hung_agent,
    "MullionNoActiveAgent": _no_lease,
    "MullionConcernFailed": _no_pointer,
    "MullionChangeWaits": _waiting_change,
    "MullionTurnStopped": _stopped_turn,
    "MullionSnapshotOld": _old_snapshot,
    "MullionSnapshotUnknown": _no_snapshot,
    "MullionCopyOld": _old_copy,
    "MullionSnapshotsForeign": _foreign_object,
    "MullionEtcdNearlyFull": _full_etcd,
    "MullionCertificateNotRenewed": _ending(29),
    "MullionCertificateEnds": _ending(6),
    "MullionRestartOverdue": _no_restart,
    "MullionRunFailed": _failed_run,
    "MullionWindowsServiceStopped": _stopped_kubelet,
    "MullionWindowsDiskFull": _full_disk,
}
"""By alert."""
