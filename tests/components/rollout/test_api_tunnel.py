"""The way to a private API: which control plane, when directly, and what a drain does without a way."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from components.machine.pki import KeyPair
from components.rollout import api_tunnel, gates, session_commands, traffic
from components.rollout.api_tunnel import ApiTunnel, open_tunnel
from components.rollout.gates import Rollout
from components.rollout.kubernetes_api import Access, Refused, Unreachable
from components.rollout.session_commands import MachinePlace
from components.rollout.tunnel import NoTunnel
from components.spec.options import Rollout as Options
from tests.components.rollout.test_gates import Machines, plan

PRIVATE = "https://api.aws-prod.mullion.internal:6443"
PAIR: KeyPair = {"certificate": "", "key": ""}
ACCESS = Access(PRIVATE, "api.aws-prod.mullion.internal", "", PAIR)


class Tunnels:
    """Tunnels that open to machines, except to those that are not connected; `dead` has no API behind them."""

    def __init__(self, *, not_connected: tuple[str, ...] = (), dead: tuple[str, ...] = ()) -> None:
        self.not_connected, self.dead = not_connected, dead
        self.opened: list[str] = []
        self.closed: list[str] = []

    def open(self, command: Any) -> Any:
        words = command(40000 + len(self.opened))
        instance = words[words.index("--target") + 1]
        if instance in self.not_connected:
            raise NoTunnel("TargetNotConnected")
        self.opened.append(instance)
        close = lambda: self.closed.append(instance)  # noqa: E731
        return SimpleNamespace(url=f"https://{instance}", is_open=True, output=lambda: "", close=close)

    def api(self, access: Access) -> Any:
        def ask(*_: Any) -> None:
            if access.url.removeprefix("https://") in self.dead:
                raise Unreachable("connection reset")
            raise Refused(403, "an API that answers")

        return SimpleNamespace(ask=ask)


@pytest.fixture
def tunnels(monkeypatch: pytest.MonkeyPatch) -> Tunnels:
    made = Tunnels()
    monkeypatch.setattr(api_tunnel, "Tunnel", made.open)
    monkeypatch.setattr(api_tunnel, "KubernetesApi", made.api)
    monkeypatch.setattr(api_tunnel, "answers_directly", lambda url: False)
    monkeypatch.setattr(api_tunnel.session_commands, "missing", lambda cloud: "")
    return made


def places(*instances: str) -> list[MachinePlace]:
    return [MachinePlace("aws", instance, "eu-west-1") for instance in instances]


def test_the_first_control_plane_whose_api_answers_is_used(tunnels: Tunnels) -> None:
    tunnels.not_connected, tunnels.dead = ("i-0",), ("i-1",)
    assert open_tunnel(places("i-0", "i-1", "i-2"), ACCESS).url == "https://i-2"
    assert (tunnels.opened, tunnels.closed) == (["i-1", "i-2"], ["i-1"])


def test_the_reason_of_every_control_plane_is_named(tunnels: Tunnels) -> None:
    tunnels.not_connected, tunnels.dead = ("i-0",), ("i-1",)
    with pytest.raises(NoTunnel, match=r"i-0: TargetNotConnected; i-1: connection reset"):
        open_tunnel(places("i-0", "i-1"), ACCESS)


def test_credentials_that_the_command_does_not_use_are_named_once_no_tunnel_opens(tunnels: Tunnels) -> None:
    hint = session_commands.credentials_hint(["region", "assumeRoles"])
    found = [replace(place, hint=hint) for place in places("i-0", "i-1")]
    tunnels.not_connected = ("i-0", "i-1")
    with pytest.raises(NoTunnel) as failed:
        open_tunnel(found, ACCESS)
    assert str(failed.value).count("sets aws:assumeRoles, which `aws ssm` does not use") == 1
    with pytest.raises(NoTunnel) as in_sandbox:
        open_tunnel(found, ACCESS, before=["sandbox"])
    assert "assumeRoles" not in str(in_sandbox.value)
    tunnels.not_connected = ()
    assert open_tunnel(found, ACCESS).url == "https://i-0", "a command line that reaches the account is used"


def test_a_missing_program_is_named_before_a_command_starts(tunnels: Tunnels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_tunnel.session_commands, "missing", lambda cloud: "aws is not on PATH")
    with pytest.raises(NoTunnel, match="aws is not on PATH"):
        open_tunnel(places("i-0"), ACCESS)
    assert open_tunnel(places("i-0"), ACCESS, before=["sandbox"]).url == "https://i-0"


async def place(machine: Any) -> MachinePlace:
    return places(f"i-{machine.name}")[0]


def test_the_server_name_stays_and_a_dropped_tunnel_is_opened_again(tunnels: Tunnels) -> None:
    way = ApiTunnel(plan(), place, [])

    async def twice() -> list[Access]:
        first = [await way.reached(ACCESS), await way.reached(ACCESS)]
        way.drop()
        return [*first, await way.reached(ACCESS)]

    head = "i-control-plane-0"
    assert asyncio.run(twice()) == [replace(ACCESS, url=f"https://{head}")] * 3
    assert (tunnels.opened, tunnels.closed) == ([head, head], [head])


def test_no_tunnel_is_opened_where_the_api_answers_directly(tunnels: Tunnels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_tunnel, "answers_directly", lambda url: url == PRIVATE)
    assert asyncio.run(ApiTunnel(plan(), place, []).reached(ACCESS)) == ACCESS
    assert not tunnels.opened


def drained(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Drain a worker with a tunnel; return the APIs that the drain used."""
    used: list[Any] = []

    async def drain(api: Any, *_: Any, **__: Any) -> str:
        used.append(api)
        return "3 pods were evicted"

    async def future() -> Access:
        return ACCESS

    monkeypatch.setattr(gates, "drain_or_stop", drain)
    monkeypatch.setattr(gates, "KubernetesApi", lambda access: access.url)
    for module in (gates, traffic):
        monkeypatch.setattr(module, "ResourceHook", lambda name, function: function)
        monkeypatch.setattr(module, "ResourceHookBinding", lambda **bound: bound)
    monkeypatch.setattr(gates.pulumi.log, "info", lambda *_: None)
    machines = Machines(plan())
    given: Any = SimpleNamespace(future=future)
    tunnel = ApiTunnel(machines.plan, place, [])
    rollout = Rollout(machines.plan, machines, given, simulated=False, tunnel=tunnel)  # type: ignore[arg-type]
    asyncio.run(rollout._drain("web-0", Options(), None))
    return used


def test_a_drain_uses_the_tunnel(tunnels: Tunnels, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drained(monkeypatch) == ["https://i-control-plane-0"]


def test_a_worker_stays_if_no_tunnel_opens(tunnels: Tunnels, monkeypatch: pytest.MonkeyPatch) -> None:
    tunnels.not_connected = tuple(f"i-control-plane-{index}" for index in range(3))
    with pytest.raises(RuntimeError, match=r"web-0 cannot be drained.*TargetNotConnected"):
        drained(monkeypatch)
