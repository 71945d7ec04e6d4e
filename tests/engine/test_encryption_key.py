"""A stack with a key of the user on the real engine: refused without its key, built with it, never given another."""

from typing import Any

import pytest

from operations.clouds import cloud_tables
from sandbox import keys
from sandbox.keys import Key
from tools.golden.cases import KEYS

from . import sampling

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("drawn", sampling.each("ci"))
def test_a_disabled_key_is_refused_and_an_enabled_one_is_used_and_stays(drawn: str, new_stack: Any) -> None:
    name = sampling.stack(drawn, "encryption key")
    options = KEYS[name.partition("-")[0]]
    stack, key, identity = new_stack(name), options["encryption_key"], options.get("encryption_identity")
    stack.edit(encryption_key=key, **({"encryption_identity": identity} if identity else {}))
    keys.put(stack.cloud_state, key, Key(enabled=False, identity=identity or ""))
    with pytest.raises(Exception, match=r"DISABLED|[Dd]isabled|InvalidState|EncryptionFailure"):
        stack.up()
    keys.put(stack.cloud_state, key, Key(identity=identity or ""))
    stack.up()
    assert stack.up().steps == {}
    machines = stack.cloud_state.resources(cloud_tables.CLOUDS[name.partition("-")[0]].machine)
    assert len(machines) > 1
    named = f"{name}-disks" if identity else key
    assert all(named in str(each.inputs) for each in machines)
    if identity:
        another = f"{identity}-2"
        keys.put(stack.cloud_state, key, Key(identity=another))
        stack.edit(encryption_key=key, encryption_identity=another)
        assert {each for step in stack.up().steps.values() for each in step.operations} == {"update"}
        keys.put(stack.cloud_state, key, Key(identity=identity))
        stack.edit(encryption_key=key, encryption_identity=identity)
        stack.up()
    before = [each.inputs for each in stack.cloud_state.resources()]
    for another in (key[:-1] + "0", None):
        stack.edit(encryption_key=another, **({"encryption_identity": another and identity} if identity else {}))
        with pytest.raises(Exception, match="encryption key of a cluster cannot change"):
            stack.up()
        assert [each.inputs for each in stack.cloud_state.resources()] == before
    stack.edit(encryption_key=key, **({"encryption_identity": identity} if identity else {}))
    stack.down()
