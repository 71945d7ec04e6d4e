"""An upgrade while the program cannot read the bundle store, on the real engine: no pool changes."""

from typing import Any

import pytest

from components.rollout.provider_calls import ProviderCalls, ProviderError

from . import sampling
from .test_rolling import NEXT, Rolling

pytestmark = pytest.mark.engine

READS = ("getObject:getObject", "getBucketObjectContent", "listStorageAccountServiceSAS")
"""Functions with which the program reads objects, or gets the signature for it."""
WHY = "the identity may not read objects"


def test_an_upgrade_stops_before_the_pools_while_the_store_refuses_the_program(
    new_stack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rolling = Rolling(new_stack(sampling.stack(f"{sampling.SAMPLED}-dev", "unread store")))
    before, pointer = rolling.stack.machines(), rolling.pointer()
    whole = ProviderCalls.invoke

    async def refused(self: ProviderCalls, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if any(each in token for each in READS):
            raise ProviderError(WHY)
        return await whole(self, token, arguments)

    rolling.edit(kubernetes=NEXT)
    with monkeypatch.context() as closed:
        closed.setattr(ProviderCalls, "invoke", refused)
        rolling.stack.preview()
        assert rolling.said("although the control plane may have an older version") == ["warning"]
        rolling.stopped(rolling.stack.up)
        assert "error" in rolling.said("the bundle store cannot be read, so the control plane's version is unknown")
        assert (rolling.stack.machines(), rolling.pointer()) == (before, pointer)

    rolling.stack.up()
    assert rolling.stack.machines() == before, "the control plane first"
    assert rolling.said("pools stay at Kubernetes 1.32.13 in this run") == ["warning"]
