"""The provider's process: a slow call holds up no other."""

import time

from sandbox.server import Servicer


def test_a_slow_call_lets_others_go_while_it_waits(account, monkeypatch) -> None:
    servicer = Servicer(account.provider, "0.0.0")
    held: list[bool] = []
    monkeypatch.setattr(time, "sleep", lambda seconds: held.append(servicer.lock.locked()))
    account.world.plan_fault("slow", amount=60)
    with servicer.lock:
        account.create("Vpc", "v", cidrBlock="10.0.0.0/16")
        assert servicer.lock.locked(), "and takes its turn again before it acts"
    assert held == [False]
