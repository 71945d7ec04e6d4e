"""From a replayed document: an old, renamed or foreign document that carries a true signature."""

import asyncio
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pulumi
import pytest

from components.rollout.gates import Rollout
from components.rollout.provider_calls import ControlPlaneRecords, ProviderError
from components.rollout.signed_documents import members_document, pointer_document
from tests.agent.conftest import KEY
from tests.components.rollout.test_upgrade import WANTED, upgrade_of, warned

__all__ = ["warned"]
BUNDLE = ("https://store/bundles/control-plane/1.zip", "1" * 64)
OLD = "1.35.8"


class Kept:
    """A stand-in of an Output with a known value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    async def future(self) -> Any:
        """Return the value."""
        return self.value


class WrittenStore:
    """The bundle store as the attacker left it: the pointer, and no status records."""

    def __init__(self, pointer: str) -> None:
        self.pointer = pointer

    async def text(self, key: str) -> str:
        """Return the pointer."""
        if key != "desired-state.json":
            raise ProviderError("not found")
        return self.pointer

    async def record(self, identity: str, instance: str) -> dict[str, Any]:
        """Return no record."""
        return {"state": "absent", "message": "not found"}


def version_of_pools(pointer: str, reported: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the version that `up` gives pools, while one of three control-plane machines does not report."""
    records: Any = ControlPlaneRecords(WrittenStore(pointer), [], Kept(KEY))  # type: ignore[arg-type]

    async def known(_: object) -> list[str]:
        return reported

    monkeypatch.setattr(ControlPlaneRecords, "reported", known)
    decide: Any = upgrade_of(records).version
    return asyncio.run(decide(False))


def test_an_older_pointer_does_not_roll_pools_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the pointer of the last Kubernetes minor back, so that `up` rolls all pools to it.

    Refused by: `up`, which compares it with what machines report.
    Seen in: the standard error of `up`: `desired-state.json ... is refused`, with both versions.
    """
    old, now = (pointer_document(KEY, *BUNDLE, version, 5, version) for version in (OLD, WANTED))
    assert version_of_pools(now, [WANTED, WANTED], monkeypatch) == WANTED
    with pytest.raises(pulumi.RunError, match=r"desired-state\.json .* is refused: it has Kubernetes 1\.35\.8"):
        version_of_pools(old, [WANTED, WANTED], monkeypatch)


@pytest.mark.parametrize("has", ["v1.36.4", "v1.36.5", "v1.36.4+distribution"])
def test_a_replayed_pointer_takes_no_worker_to_an_older_version(has: str) -> None:
    """Put the pointer of the middle of an upgrade back (new control plane, old pools), or an older status record of a
    control plane: both are this cluster's own, and `up` decides the pools' version from them.

    Refused by: the gate before a worker is replaced, by the version of its Node.
    Seen in: the standard error of `up`, with the worker's version and its successor's.
    """
    gate(has, OLD, refused=True)
    gate(has, "1.36.5", refused=False)


def test_a_worker_that_claims_a_version_of_the_future_does_not_stop_its_replacement() -> None:
    """Report v1.99.0 as your kubelet, so that no successor is new enough and your pool cannot be rolled.

    Refused by: `up`, because no kubelet is newer than the API server.
    Seen in: the Node, which has that version until it is replaced.
    """
    gate("v1.99.0", "1.36.4", refused=False)


def gate(has: str, wanted: str, *, refused: bool) -> None:
    """Replace a worker that reports version `has`; the API server has 1.36.5."""

    class Api:
        """The cluster's API, which no writer of the store can change."""

        async def call(self, method: str, path: str) -> Any:
            assert method == "GET"
            node = {"status": {"nodeInfo": {"kubeletVersion": has}}}
            return {"/version": {"gitVersion": "v1.36.5"}, "/api/v1/nodes/web-0": node}[path]

    async def reached() -> Api:
        return Api()

    rollout: Any = SimpleNamespace(version=Kept(wanted), _api=reached)
    judge = Rollout._refuse_older(rollout, "web-0", replaced=True)
    if not refused:
        asyncio.run(judge)
        return
    with pytest.raises(RuntimeError, match=r"and its successor would have 1\.35\.8: desired-state\.json or a control"):
        asyncio.run(judge)


def test_another_signed_document_is_no_pointer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the members list, which has a true signature, in the pointer's place.

    Refused by: `up`.
    Seen in: the standard error of `up`: `it is another signed document`.
    """
    with pytest.raises(pulumi.RunError, match="it is another signed document"):
        version_of_pools(members_document(KEY, [], 9), [WANTED, WANTED], monkeypatch)


def test_the_agent_does_not_follow_an_older_pointer(module: Callable[[str], ModuleType]) -> None:
    """Put an older pointer back, so that the control plane goes back to an older bundle.

    Refused by: the agent, by the serial.
    Seen in: the agent's log and the status record: `its serial 5 is older than 6`.
    """
    documents = module("documents")
    with pytest.raises(documents.Untrusted, match="serial 5 is older than 6"):
        documents.verified(pointer_document(KEY, *BUNDLE, WANTED, 5, WANTED).encode(), KEY, 6, documents.POINTER)


def test_the_agent_takes_no_members_list_as_pointer(module: Callable[[str], ModuleType]) -> None:
    """Put the members list in the pointer's place, and the pointer in its.

    Refused by: the agent, by the fields of each document.
    Seen in: the agent's log and the status record: `the document must have exactly the fields ...`.
    """
    documents = module("documents")
    pointer, members = pointer_document(KEY, *BUNDLE, WANTED, 5, WANTED), members_document(KEY, [], 5)
    for text, fields in ((members, documents.POINTER), (pointer, documents.MEMBERS)):
        with pytest.raises(documents.Untrusted, match="must have exactly the fields"):
            documents.verified(text.encode(), KEY, 0, fields)
